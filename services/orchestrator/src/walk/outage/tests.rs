use super::*;

fn failure(dependency: Dependency, code: Code) -> Failure {
    Failure::new(dependency, code, "gone")
}

fn cause(outages: &Outages, searched_evidence: bool) -> Option<Dependency> {
    outages.cause(searched_evidence).map(|failure| failure.dependency)
}

#[test]
fn a_retriever_or_generator_counts_until_it_answers() {
    for dependency in [Dependency::Retriever, Dependency::Generator] {
        let mut outages = Outages::default();
        outages.failed(&failure(dependency, Code::Unavailable));
        outages.decided(None);
        assert_eq!(cause(&outages, true), Some(dependency));
        outages.answered(dependency);
        assert_eq!(cause(&outages, true), None);
    }
}

#[test]
fn a_grader_or_rewriter_counts_only_where_it_ended_the_walk() {
    for dependency in [Dependency::Grader, Dependency::Rewriter] {
        let mut outages = Outages::default();
        let failure = failure(dependency, Code::Internal);
        outages.failed(&failure);
        outages.decided(Some(&failure));
        assert_eq!(cause(&outages, true), Some(dependency));
        outages.decided(None);
        assert_eq!(cause(&outages, true), None);
    }
}

#[test]
fn a_web_search_counts_only_where_nothing_else_was_searched() {
    let mut outages = Outages::default();
    let failure = failure(Dependency::WebSearch, Code::FailedPrecondition);
    outages.failed(&failure);
    outages.decided(Some(&failure));
    assert_eq!(cause(&outages, true), None);
    assert_eq!(cause(&outages, false), Some(Dependency::WebSearch));
}

#[test]
fn a_cause_is_cut_between_characters() {
    let long = Failure::new(Dependency::Generator, Code::Internal, "등대".repeat(1000));
    let message = message(&long);
    assert!(message.cause.len() <= MAX_CAUSE_BYTES && message.cause.len() > MAX_CAUSE_BYTES - 4);
    assert_eq!(message.advice, "see the log of the generator");
}
