use crate::catalog::builtin;

#[test]
fn r1_the_worst_case_of_self_rag_is_found_as_the_formula() {
    let graph = builtin("self-rag");
    let formulas = graph.formulas();
    assert_eq!(formulas.steps, "3·max_count + 5·max_retries + 4");
    // k(1+C+R) + (C+R) + 3(R+1), multiplied out.
    assert_eq!(
        formulas.model_calls,
        "top_k·max_count + top_k·max_retries + top_k + max_count + 4·max_retries + 3"
    );
    assert_eq!(formulas.web_searches, "0");
}

#[test]
fn what_only_the_recursion_limit_bounds_has_no_formula() {
    assert_eq!(*builtin("self-rag-tutorial").formulas(), super::Formulas::default());
}
