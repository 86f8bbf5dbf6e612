use super::*;

fn rejecting(dependency: Dependency, fields: &[&str]) -> Failure {
    Failure {
        violations: fields
            .iter()
            .map(|field| FieldViolation {
                field: (*field).to_owned(),
                description: "is wrong".to_owned(),
            })
            .collect(),
        ..Failure::new(dependency, Code::InvalidArgument, "invalid request")
    }
}

#[test]
fn a_refusal_is_about_what_the_caller_asked_for() {
    let others = [
        Dependency::Grader,
        Dependency::Generator,
        Dependency::Rewriter,
        Dependency::WebSearch,
    ];
    for dependency in others {
        assert!(rejecting(dependency, &["question", "history[2].content"]).is_refusal());
        assert!(rejecting(dependency, &["lower_threshold"]).is_refusal());
        // The walk found that passage, and another one may do.
        assert!(!rejecting(dependency, &["question", "passages[3].text"]).is_refusal());
        assert!(!rejecting(dependency, &[]).is_refusal());
        for code in [
            Code::NotFound,
            Code::FailedPrecondition,
            Code::Unavailable,
            Code::Internal,
        ] {
            assert!(
                !Failure::new(dependency, code, "").is_refusal(),
                "{dependency} {code:?}"
            );
        }
    }
    for (code, refused) in [
        (Code::InvalidArgument, true),
        (Code::NotFound, true),
        (Code::FailedPrecondition, true),
        (Code::ResourceExhausted, false),
        (Code::DeadlineExceeded, false),
        (Code::Cancelled, false),
        (Code::Unavailable, false),
        (Code::Unimplemented, false),
        (Code::Internal, false),
    ] {
        assert_eq!(
            Failure::new(Dependency::Retriever, code, "").is_refusal(),
            refused,
            "{code:?}"
        );
    }
}

#[test]
fn a_rejected_field_is_named_as_the_caller_knows_it() {
    for (field, place) in [
        ("query", "question.question"),
        ("mode", "question.search"),
        ("top_k", "question.options"),
        ("filter[\"lang\"]", "question.filter[\"lang\"]"),
        ("collection", "question.collection"),
        ("history[2].content", "question.history[2].content"),
    ] {
        assert_eq!(place_in_question(field), place);
    }
}
