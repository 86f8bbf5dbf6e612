//! The evaluator in process, on the hashed embedder.

use std::sync::Arc;

use emend_evaluator::{Coefficients, Evaluator};
use emend_models::embed::HashedEmbedder;
use emend_proto::v1::{
    GradeGroundednessRequest, GradeUsefulnessRequest, RefineKnowledgeRequest, Relevance, Sentence, Support,
};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::{documents, embedded, options, passage, serve};
use crate::backend::EmbeddedBackend;

const QUESTION: &str = "How tall is the lighthouse of Corran Point?";
const TALL: &str = "The lighthouse of Corran Point is 31 metres tall and was painted red in 1904.";
const BREAD: &str = "Knead the dough for ten minutes, then let it rest under a damp cloth.";

#[tokio::test]
async fn a_passage_that_answers_scores_above_one_that_does_not_and_the_order_is_kept() {
    let mut grader = embedded().await;
    let texts = [BREAD, TALL, " ", BREAD];
    let response = grader
        .client
        .grade_documents(documents(QUESTION, &texts))
        .await
        .unwrap()
        .into_inner();
    let ids: Vec<&str> = response.grades.iter().map(|grade| grade.passage_id.as_str()).collect();
    assert_eq!(ids, ["p0", "p1", "p2", "p3"]);
    let scores: Vec<Option<f64>> = response.grades.iter().map(|grade| grade.score).collect();
    assert!(scores[1] > scores[0], "{scores:?}");
    assert_eq!(scores[0], scores[3]);
    assert_eq!(response.grades[0].relevance(), Relevance::Irrelevant, "{scores:?}");
    assert_eq!((response.grades[2].relevance(), scores[2]), (Relevance::Ungraded, None));
    assert!(!response.grades[2].error.is_empty());
    assert_eq!(response.usage.unwrap().model_calls, 0);
}

#[tokio::test]
async fn headings_count_as_the_title_does() {
    // The coefficients of the hashed embedder pass over titles.
    let coefficients = Coefficients::builtin("multilingual-e5-small").unwrap();
    let evaluator = Evaluator::new(Arc::new(HashedEmbedder), coefficients);
    let mut grader = serve(Arc::new(EmbeddedBackend::new(evaluator)), options(&[])).await;
    let under = |title: &str, headings: &[&str]| {
        let mut under = passage("p", "It is 31 metres tall and was painted red in 1904.");
        title.clone_into(&mut under.title);
        under.headings = headings.iter().map(|&heading| heading.to_owned()).collect();
        vec![under]
    };
    let mut all = Vec::new();
    for passages in [
        under("", &[]),
        under("Towers › The lighthouse of Corran Point", &[]),
        under("Towers", &["The lighthouse of Corran Point"]),
    ] {
        let mut request = documents(QUESTION, &[]);
        request.passages = passages.clone();
        let graded = grader.client.grade_documents(request).await.unwrap().into_inner();
        let request = GradeUsefulnessRequest {
            question: QUESTION.to_owned(),
            answer: "It is 31 metres tall.".to_owned(),
            passages: passages.clone(),
        };
        let useful = grader.client.grade_usefulness(request).await.unwrap().into_inner();
        let request = RefineKnowledgeRequest {
            question: QUESTION.to_owned(),
            passages,
            ..RefineKnowledgeRequest::default()
        };
        let refined = grader.client.refine_knowledge(request).await.unwrap().into_inner();
        all.push((graded.grades[0].score, useful.score, refined.strips[0].score));
    }
    assert_eq!(all[1], all[2]);
    assert!(all[2].0 > all[0].0 && all[2].2 > all[0].2, "{all:?}");
}

#[tokio::test]
async fn thresholds_of_the_request_decide() {
    let mut grader = embedded().await;
    let mut request = documents(QUESTION, &[TALL]);
    for (threshold, relevance) in [(0.0, Relevance::Relevant), (1.0, Relevance::Irrelevant)] {
        request.relevance_threshold = Some(threshold);
        let response = grader
            .client
            .grade_documents(request.clone())
            .await
            .unwrap()
            .into_inner();
        assert_eq!(response.grades[0].relevance(), relevance);
    }
}

#[tokio::test]
async fn an_answer_is_cut_into_sentences_and_its_weakest_decides() {
    let mut grader = embedded().await;
    let request = GradeGroundednessRequest {
        question: QUESTION.to_owned(),
        passages: vec![passage("a", BREAD), passage("b", TALL)],
        answer: "The lighthouse of Corran Point is 31 metres tall. Seven whales sang to Napoleon in 1650.".to_owned(),
        sentences: vec![],
    };
    let response = grader
        .client
        .grade_groundedness(request.clone())
        .await
        .unwrap()
        .into_inner();
    let chars: Vec<char> = request.answer.chars().collect();
    assert_eq!(response.sentences.len(), 2);
    for sentence in &response.sentences {
        let span = sentence.span.unwrap();
        assert_eq!(
            sentence.text,
            chars[span.start as usize..span.end as usize].iter().collect::<String>()
        );
    }
    let scores: Vec<f64> = response
        .sentences
        .iter()
        .map(|sentence| sentence.support_score.unwrap())
        .collect();
    assert!(scores[0] > scores[1], "{scores:?}");
    assert_eq!(response.sentences[1].support(), Support::NotSupported);
    assert_eq!(response.support(), Support::NotSupported);
    assert_eq!(response.score, Some(scores[1]));
    // All are true at most as probably as the weakest, some at least as probably as the strongest.
    assert_eq!(response.fully_supported, Some(scores[1]));
    assert_eq!(response.partially_supported, Some(scores[0] - scores[1]));
}

#[tokio::test]
async fn given_sentences_come_back_as_they_are_and_abstaining_is_no_claim() {
    let mut grader = embedded().await;
    let abstention = "The documents do not answer this question.";
    let given = Sentence {
        text: abstention.to_owned(),
        citations: vec![emend_proto::v1::Citation {
            number: 1,
            passage_id: "a".to_owned(),
            span: Some(emend_proto::v1::Span { start: 0, end: 9 }),
            document_span: Some(emend_proto::v1::Span { start: 40, end: 49 }),
        }],
        ..Sentence::default()
    };
    let request = GradeGroundednessRequest {
        question: QUESTION.to_owned(),
        passages: vec![passage("a", TALL)],
        answer: abstention.to_owned(),
        sentences: vec![given.clone()],
    };
    let response = grader.client.grade_groundedness(request).await.unwrap().into_inner();
    assert_eq!(response.sentences, [given]);
    assert_eq!((response.support(), response.score), (Support::Unspecified, None));
    assert_eq!((response.fully_supported, response.partially_supported), (None, None));
}

#[tokio::test]
async fn an_answer_to_the_question_is_more_useful_than_one_to_another() {
    let mut grader = embedded().await;
    let mut grade = async |answer: &str| {
        let request = GradeUsefulnessRequest {
            question: QUESTION.to_owned(),
            answer: answer.to_owned(),
            ..GradeUsefulnessRequest::default()
        };
        let response = grader.client.grade_usefulness(request).await.unwrap().into_inner();
        assert!((1..=5).contains(&response.utility.unwrap()), "{response:?}");
        assert!(response.useful.is_some() && response.error.is_empty());
        assert_eq!(response.expected_utility, response.score.map(|score| 1.0 + 4.0 * score));
        response.score.unwrap()
    };
    assert!(grade("The lighthouse of Corran Point is 31 metres tall.").await > grade("Let the dough rest.").await);
}

#[tokio::test]
async fn a_quotation_is_graded_by_where_it_stands() {
    let mut grader = embedded().await;
    let mut grade = async |passages: &[&str]| {
        let request = GradeUsefulnessRequest {
            question: QUESTION.to_owned(),
            answer: "It is 31 metres tall.".to_owned(),
            passages: passages.iter().map(|text| passage("p", text)).collect(),
        };
        let response = grader.client.grade_usefulness(request).await.unwrap().into_inner();
        response.score.unwrap()
    };
    let lighthouse = "The lighthouse of Corran Point was painted red. It is 31 metres tall.";
    let mast = "The mast was painted red. It is 31 metres tall.";
    let (right, wrong) = (grade(&[lighthouse]).await, grade(&[mast]).await);
    assert!(right > wrong, "{right} {wrong}");
}

#[tokio::test]
async fn the_service_is_healthy_by_name() {
    let grader = embedded().await;
    let request = HealthCheckRequest {
        service: crate::SERVICE_NAME.to_owned(),
    };
    let response = HealthClient::new(grader.service.channel.clone())
        .check(request)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        response.status(),
        tonic_health::pb::health_check_response::ServingStatus::Serving
    );
}
