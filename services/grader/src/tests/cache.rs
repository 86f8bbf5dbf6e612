//! Grades that were given before.

use emend_proto::v1::Relevance::{Irrelevant, Relevant, Ungraded};
use emend_proto::v1::{
    DecideRetrievalRequest, GradeGroundednessRequest, GradeUsefulnessRequest, RefineKnowledgeRequest,
};
use emend_testkit::scripted_chat::Scripted;

use super::llm::by_word;
use super::{documents, llm, passage, relevances};

#[tokio::test]
async fn a_grade_is_not_paid_for_twice_and_a_missing_one_is_asked_for_again() {
    let chat = by_word(&[("alpha", "yes"), ("beta", "no"), ("gamma", "perhaps")]);
    let mut grader = llm(chat.clone(), &[]).await;
    let request = || documents("Which?", &["alpha", "beta", "gamma", "delta"]);
    let grades = vec![Relevant, Irrelevant, Ungraded, Ungraded];
    assert_eq!(relevances(&mut grader, request()).await, (grades.clone(), 4));
    assert_eq!(
        relevances(&mut grader, request()).await,
        (grades, 2),
        "one is no verdict, one failed"
    );
    // Another question, another title, other headings, another passage: another grade.
    assert_eq!(relevances(&mut grader, documents("Where?", &["alpha"])).await.1, 1);
    let mut titled = documents("Which?", &["alpha"]);
    titled.passages[0].title = "A title".to_owned();
    assert_eq!(relevances(&mut grader, titled.clone()).await.1, 1);
    titled.passages[0].headings = vec!["A heading".to_owned()];
    assert_eq!(relevances(&mut grader, titled).await.1, 1);
    assert_eq!(relevances(&mut grader, documents("Which?", &["alphas"])).await.1, 1);
    // The place in the request and the passage's name do not matter.
    assert_eq!(
        relevances(&mut grader, documents("Which?", &["beta", "alpha"])).await,
        (vec![Irrelevant, Relevant], 0)
    );
    assert_eq!(chat.requests().len(), 10);
}

#[tokio::test]
async fn nothing_is_kept_where_it_is_switched_off() {
    let mut grader = llm(by_word(&[("alpha", "yes")]), &["--grade-cache-entries", "0"]).await;
    for _ in 0..2 {
        assert_eq!(
            relevances(&mut grader, documents("Which?", &["alpha"])).await,
            (vec![Relevant], 1)
        );
    }
}

#[tokio::test]
async fn every_kind_of_grade_is_kept() {
    let chat = Scripted::answering(|request| {
        let schema = request.response_schema.as_ref().map(|schema| schema.name);
        Ok(match schema {
            Some("GradeGroundedness") => "partially",
            Some("GradeUsefulness") => "4",
            Some("RefineKnowledge") => "1. yes\n2. no",
            _ => "no",
        }
        .to_owned())
    });
    let mut grader = llm(chat.clone(), &[]).await;
    let mut seen = Vec::new();
    for round in 0..2 {
        let request = GradeGroundednessRequest {
            question: "Which?".to_owned(),
            passages: vec![passage("a", "evidence")],
            answer: "The tower is red.".to_owned(),
            sentences: vec![],
        };
        let groundedness = grader.client.grade_groundedness(request).await.unwrap().into_inner();
        let request = GradeUsefulnessRequest {
            question: "Which?".to_owned(),
            answer: "This.".to_owned(),
            ..GradeUsefulnessRequest::default()
        };
        let usefulness = grader.client.grade_usefulness(request).await.unwrap().into_inner();
        let request = RefineKnowledgeRequest {
            question: "Which?".to_owned(),
            passages: vec![passage(
                "a",
                "One is here. Two is here. Three is here. Four is here. Five is here.",
            )],
            ..RefineKnowledgeRequest::default()
        };
        let refined = grader.client.refine_knowledge(request).await.unwrap().into_inner();
        let request = DecideRetrievalRequest {
            question: "Which?".to_owned(),
            ..DecideRetrievalRequest::default()
        };
        let retrieval = grader.client.decide_retrieval(request).await.unwrap().into_inner();
        let calls = [groundedness.usage, usefulness.usage, refined.usage, retrieval.usage]
            .map(|usage| usage.unwrap().model_calls);
        assert_eq!(calls, if round == 0 { [1; 4] } else { [0; 4] });
        seen.push((
            groundedness.score,
            usefulness.score,
            refined.strips,
            retrieval.probability,
        ));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(chat.requests().len(), 4);
}
