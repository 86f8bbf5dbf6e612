use super::*;

#[test]
fn a_probability_at_the_threshold_is_not_above_it() {
    let of = |yes, continues| decision(Retrieval { yes, continues }, THRESHOLD, true);
    assert_eq!(of(0.2, 0.1), RetrievalDecision::No);
    assert_eq!(of(0.2, 0.5), RetrievalDecision::Continue);
    assert_eq!(of(0.2000001, 0.5), RetrievalDecision::Yes);
}

#[test]
fn without_evidence_there_is_nothing_to_continue_with() {
    let of = |yes, continues, threshold| decision(Retrieval { yes, continues }, threshold, false);
    assert_eq!(of(0.0, 1.0, 0.2), RetrievalDecision::No);
    assert_eq!(of(1.0, 0.0, 1.0), RetrievalDecision::No);
    let yes = Retrieval {
        yes: 1.0,
        continues: 0.0,
    };
    assert_eq!(decision(yes, 1.0, true), RetrievalDecision::Continue);
}
