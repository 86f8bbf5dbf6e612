use emend_proto::v1::{Limit, Step, WalkStatus};

use super::{path::CONDENSE, *};
use crate::catalog::{Catalog, builtin};

/// A walk of `self-rag` whose first step is the second: one that made a follow-up stand on its own came before.
fn walk(path: &[(&str, &str)]) -> WalkResult {
    let step = |(index, (node, outcome)): (usize, &(&str, &str))| Step {
        number: u32::try_from(index).unwrap() + 2,
        node: (*node).to_owned(),
        action: (*node).to_owned(),
        outcome: (*outcome).to_owned(),
        ..Step::default()
    };
    let condense = Step {
        number: 1,
        node: CONDENSE.to_owned(),
        action: CONDENSE.to_owned(),
        outcome: "rewritten".to_owned(),
        ..Step::default()
    };
    WalkResult {
        graph: "self-rag".to_owned(),
        status: WalkStatus::Answered.into(),
        steps: [condense]
            .into_iter()
            .chain(path.iter().enumerate().map(step))
            .collect(),
        ..WalkResult::default()
    }
}

const CORRECTED: [(&str, &str); 7] = [
    ("retrieve", "passages"),
    ("grade_documents", "none_relevant"),
    ("rewrite", "rewritten"),
    ("retrieve", "passages"),
    ("grade_documents", "some_relevant"),
    ("generate", "generated"),
    ("grade_generation", "useful"),
];

#[test]
fn flowcharts_of_the_built_in_graphs() {
    for graph in Catalog::load(None).unwrap().iter() {
        insta::assert_snapshot!(graph.name(), flowchart(graph));
    }
}

#[test]
fn outcomes_with_one_target_share_an_arrow() {
    let chart = flowchart(&builtin("self-rag"));
    assert!(
        chart.contains("grade_documents -- \"all_relevant, some_relevant, unavailable\" --> generate\n"),
        "{chart}"
    );
    assert!(
        chart.contains("none_relevant<br/>visits(grade_documents) ≤ max_count"),
        "{chart}"
    );
}

#[test]
fn a_walk_is_drawn_on_its_graph() {
    insta::assert_snapshot!(
        "self-rag_walked",
        walked(&builtin("self-rag"), &walk(&CORRECTED)).unwrap()
    );
}

#[test]
fn a_walk_that_ran_out_of_something_ends_in_a_box_of_its_own() {
    let mut result = walk(&CORRECTED[..3]);
    result.status = WalkStatus::Abstained.into();
    result.exhausted = Limit::Steps.into();
    insta::assert_snapshot!(
        "self-rag_walked_to_a_limit",
        walked(&builtin("self-rag"), &result).unwrap()
    );
    let chart = walked(
        &builtin("self-rag"),
        &WalkResult {
            steps: Vec::new(),
            ..result
        },
    )
    .unwrap();
    assert!(
        chart.contains("retrieve -. \"ends before it\" .-> finish_early"),
        "{chart}"
    );
}

#[test]
fn a_closed_condition_is_seen_in_the_arrow_that_was_taken() {
    let mut result = walk(&[
        ("retrieve", "passages"),
        ("grade_documents", "none_relevant"),
        ("generate_without_documents", "generated"),
    ]);
    result.status = WalkStatus::Ungrounded.into();
    result.options.insert("max_count".to_owned(), 0.0);
    let chart = walked(&builtin("self-rag"), &result).unwrap();
    assert!(
        chart.contains("-- \"step 3: none_relevant, stalled\" --> generate_without_documents"),
        "{chart}"
    );
    result.options.clear();
    let error = walked(&builtin("self-rag"), &result).unwrap_err().to_string();
    assert!(
        error.contains("step 4 is `generate_without_documents` where the graph leads to `rewrite`"),
        "{error}"
    );
}

#[test]
fn an_end_that_the_evidence_did_not_bear_out_is_shown() {
    let mut result = walk(&CORRECTED);
    result.status = WalkStatus::Unverified.into();
    let chart = walked(&builtin("self-rag"), &result).unwrap();
    assert!(chart.contains("finish: answered<br/>ended unverified"), "{chart}");
}

#[test]
fn a_walk_of_another_graph_is_refused_with_both_names() {
    let error = walked(&builtin("plain-rag"), &walk(&CORRECTED)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "this is a walk of graph `self-rag` and not of graph `plain-rag`; show it on `self-rag`"
    );
    let unknown = walk(&[("retreive", "passages")]);
    let error = walked(&builtin("self-rag"), &unknown).unwrap_err().to_string();
    assert!(
        error.contains("step 2 visits `retreive`, which is no node of it"),
        "{error}"
    );
    let unknown = walk(&[("retrieve", "useful")]);
    let error = walked(&builtin("self-rag"), &unknown).unwrap_err().to_string();
    assert!(
        error.contains("step 2 ended in `useful`, which is no outcome"),
        "{error}"
    );
}
