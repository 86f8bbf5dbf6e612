use crate::{catalog::builtin, graph::Graph};

fn defaults(graph: &Graph) -> super::Options {
    super::Options::defaults(graph.options())
}

#[test]
fn r1_the_worst_case_of_self_rag_is_the_formula() {
    let graph = builtin("self-rag");
    for c in 0..=5u32 {
        for r in 0..=5u32 {
            for k in [1u32, 4] {
                let options = defaults(&graph)
                    .with(&graph, "max_count", c.into())
                    .with(&graph, "max_retries", r.into())
                    .with(&graph, "top_k", k.into());
                let worst = graph.worst_case(&options).unwrap();
                let (c, r, k) = (u64::from(c), u64::from(r), u64::from(k));
                assert_eq!(worst.steps, 3 * c + 5 * r + 4, "C={c} R={r}");
                assert_eq!(
                    worst.model_calls,
                    k * (1 + c + r) + (c + r) + 3 * (r + 1),
                    "C={c} R={r} k={k}"
                );
                assert_eq!(worst.web_searches, 0);
            }
        }
    }
}

#[test]
fn r1_the_recursion_limit_caps_the_worst_case() {
    let graph = builtin("self-rag");
    let options = defaults(&graph).with(&graph, "recursion_limit", 10.0);
    assert_eq!(graph.worst_case(&options).unwrap().steps, 10);
}

#[test]
fn the_defaults_of_self_rag_cost_28_steps_and_46_model_calls() {
    let graph = builtin("self-rag");
    let worst = graph.worst_case(&defaults(&graph)).unwrap();
    assert_eq!((worst.steps, worst.model_calls), (28, 46));
}

#[test]
fn plain_rag_costs_two_steps_and_one_model_call() {
    let graph = builtin("plain-rag");
    let worst = graph.worst_case(&defaults(&graph)).unwrap();
    assert_eq!((worst.steps, worst.model_calls), (2, 1));
}

#[test]
fn web_results_are_graded_once_and_local_passages_are_not_graded_again() {
    let graph = builtin("corrective-rag-binary");
    let options = defaults(&graph).with(&graph, "top_k", 4.0);
    let worst = graph.worst_case(&options).unwrap();
    // 4 local grades, 1 rewrite, 4 web grades, 1 generation, 2 grades of the answer.
    assert_eq!((worst.model_calls, worst.web_searches), (12, 1));
}

#[test]
fn the_web_is_searched_at_most_as_often_as_the_option_says() {
    let graph = builtin("self-corrective-rag");
    for searches in [0.0, 1.0] {
        let options = defaults(&graph).with(&graph, "web_fallback", searches);
        let worst = graph.worst_case(&options).unwrap();
        assert_eq!(worst.web_searches, searches as u64);
    }
}
