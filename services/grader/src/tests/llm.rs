//! A scripted language model.

use emend_models::chat::ChatError;
use emend_proto::v1::{
    DecideRetrievalRequest, Evaluation, GradeGroundednessRequest, GradeUsefulnessRequest, RefineKnowledgeRequest,
    Relevance, Support,
};
use emend_testkit::scripted_chat::Scripted;

use super::{Gated, Likely, documents, llm, passage, said};

/// Answers by the first of the words that the user's turn holds.
pub(super) fn by_word(replies: &'static [(&'static str, &'static str)]) -> Scripted {
    Scripted::answering(move |request| {
        let asked = request
            .messages
            .last()
            .map(|message| message.content.clone())
            .unwrap_or_default();
        let reply = replies
            .iter()
            .find(|(word, _)| asked.contains(word))
            .map(|(_, reply)| (*reply).to_owned());
        reply.ok_or_else(|| ChatError::Unavailable {
            model: "scripted".to_owned(),
            reason: "down".to_owned(),
        })
    })
}

#[tokio::test]
async fn the_model_is_told_what_a_passage_stands_under() {
    let mut under = passage("p", "It is red.");
    under.title = "Towers".to_owned();
    under.headings = vec!["Page 3".to_owned(), "Corran Point".to_owned()];
    let passages = vec![under.clone(), passage("q", "It is blue.")];
    let question = || "Which?".to_owned();
    for flags in [&[][..], &["--llm-batch-grading", "2"]] {
        let chat = Scripted::answering(|_| Ok("no".to_owned()));
        let mut grader = llm(chat.clone(), flags).await;
        let mut request = documents("Which?", &[]);
        request.passages = passages.clone();
        grader.client.grade_documents(request).await.unwrap();
        let request = GradeGroundednessRequest {
            question: question(),
            answer: "It is red.".to_owned(),
            passages: passages.clone(),
            sentences: vec![],
        };
        grader.client.grade_groundedness(request).await.unwrap();
        let request = DecideRetrievalRequest {
            question: question(),
            passages: passages.clone(),
            ..DecideRetrievalRequest::default()
        };
        grader.client.decide_retrieval(request).await.unwrap();
        let request = RefineKnowledgeRequest {
            question: question(),
            passages: passages.clone(),
            ..RefineKnowledgeRequest::default()
        };
        grader.client.refine_knowledge(request).await.unwrap();
        let mut told = 0;
        for request in chat.requests() {
            let said = said(&request);
            assert_eq!(
                said.contains("Towers › Page 3 › Corran Point"),
                said.contains("It is red."),
                "{said}"
            );
            told += usize::from(said.contains("Corran Point"));
        }
        // Relevance, groundedness, retrieval and strips.
        assert_eq!(told, 4);
    }
}

#[tokio::test]
async fn every_dress_of_a_verdict_is_read_and_what_is_none_is_ungraded() {
    let chat = by_word(&[
        ("alpha", "{\"binary_score\": \"no\"}"),
        ("beta", "예."),
        ("gamma", "perhaps"),
    ]);
    let mut grader = llm(chat.clone(), &[]).await;
    let texts = ["alpha", "beta", "gamma", "delta", ""];
    let response = grader
        .client
        .grade_documents(documents("Which?", &texts))
        .await
        .unwrap()
        .into_inner();
    let grades: Vec<_> = response
        .grades
        .iter()
        .map(|g| (g.passage_id.as_str(), g.relevance(), g.score))
        .collect();
    assert_eq!(
        grades,
        [
            ("p0", Relevance::Irrelevant, Some(0.0)),
            ("p1", Relevance::Relevant, Some(1.0)),
            ("p2", Relevance::Ungraded, None),
            ("p3", Relevance::Ungraded, None),
            ("p4", Relevance::Ungraded, None),
        ]
    );
    assert!(response.grades[2].error.contains("perhaps"), "{:?}", response.grades[2]);
    assert!(response.grades[3].error.contains("down"), "{:?}", response.grades[3]);
    assert_eq!(response.evaluation(), Evaluation::Correct);
    let usage = response.usage.unwrap();
    assert_eq!(usage.model_calls, 4, "a passage without text costs nothing");
    assert!(usage.input_tokens > 0 && usage.output_tokens > 0);
    for request in chat.requests() {
        assert!(said(&request).contains("Which?"));
        assert_eq!(request.response_schema.unwrap().name, "GradeDocuments");
        assert_eq!(request.temperature, Some(0.0));
    }
}

#[tokio::test]
async fn a_model_that_is_down_leaves_everything_ungraded_and_fails_no_call() {
    let mut grader = llm(by_word(&[]), &[]).await;
    let response = grader
        .client
        .grade_documents(documents("Which?", &["a", "b"]))
        .await
        .unwrap()
        .into_inner();
    assert!(
        response
            .grades
            .iter()
            .all(|grade| grade.relevance() == Relevance::Ungraded)
    );
    assert_eq!(response.evaluation(), Evaluation::Ambiguous);
    let request = GradeUsefulnessRequest {
        question: "Which?".to_owned(),
        answer: "This.".to_owned(),
        ..GradeUsefulnessRequest::default()
    };
    let response = grader.client.grade_usefulness(request).await.unwrap().into_inner();
    assert_eq!((response.utility, response.score, response.useful), (None, None, None));
    assert!(response.error.contains("down"));
}

#[tokio::test]
async fn each_claim_is_graded_against_all_evidence_and_an_abstention_is_not() {
    let chat = by_word(&[
        ("The tower is red.", "{\"support\": \"fully\"}"),
        ("The tower is old.", "partially"),
        ("The tower is tall.", "no support"),
        ("The tower is wide.", "hm"),
    ]);
    let mut grader = llm(chat.clone(), &[]).await;
    let mut grade = async |answer: &str| {
        let request = GradeGroundednessRequest {
            question: "What is the tower like?".to_owned(),
            passages: vec![passage("a", "evidence one"), passage("b", "evidence two")],
            answer: answer.to_owned(),
            sentences: vec![],
        };
        grader.client.grade_groundedness(request).await.unwrap().into_inner()
    };
    let response = grade("The tower is red. The tower is old. The documents do not answer this question.").await;
    let levels: Vec<Support> = response.sentences.iter().map(|sentence| sentence.support()).collect();
    assert_eq!(
        levels,
        [
            Support::FullySupported,
            Support::PartiallySupported,
            Support::Unspecified
        ]
    );
    assert_eq!(
        (response.support(), response.score),
        (Support::PartiallySupported, Some(0.5))
    );
    assert_eq!(
        (response.fully_supported, response.partially_supported),
        (Some(0.0), Some(1.0))
    );
    assert_eq!(response.usage.unwrap().model_calls, 2);
    let response = grade("The tower is red. The tower is wide.").await;
    assert_eq!((response.support(), response.score), (Support::Ungraded, None));
    assert_eq!((response.fully_supported, response.partially_supported), (None, None));
    let response = grade("The tower is wide. The tower is tall.").await;
    assert_eq!((response.support(), response.score), (Support::NotSupported, Some(0.0)));
    assert_eq!(
        (response.fully_supported, response.partially_supported),
        (Some(0.0), Some(0.0))
    );
    let response = grade("The tower is red.").await;
    assert_eq!(
        (response.fully_supported, response.partially_supported),
        (Some(1.0), Some(0.0))
    );
    for request in chat.requests() {
        assert!(said(&request).contains("evidence one") && said(&request).contains("evidence two"));
    }
}

#[tokio::test]
async fn a_utility_becomes_a_score_and_a_verdict() {
    for (reply, utility, score, useful) in [
        ("4", 4, 0.75, true),
        ("{\"utility\": 3}", 3, 0.5, false),
        ("5/5", 5, 1.0, true),
    ] {
        let mut grader = llm(Scripted::replies([reply]), &[]).await;
        let request = GradeUsefulnessRequest {
            question: "Which?".to_owned(),
            answer: "This.".to_owned(),
            ..GradeUsefulnessRequest::default()
        };
        let response = grader.client.grade_usefulness(request).await.unwrap().into_inner();
        assert_eq!(
            (response.utility, response.score, response.useful),
            (Some(utility), Some(score), Some(useful))
        );
        assert_eq!(response.expected_utility, Some(f64::from(utility)));
    }
}

#[tokio::test]
async fn log_probabilities_make_levels_and_utilities_finer() {
    let near = |found: Option<f64>, expected: f64| assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?}");
    let mut grader = llm(Likely(vec![("4", vec![("4", 0.6), ("5", 0.3), ("1", 0.1)])]), &[]).await;
    let request = GradeUsefulnessRequest {
        question: "Which?".to_owned(),
        answer: "This.".to_owned(),
        ..GradeUsefulnessRequest::default()
    };
    let response = grader.client.grade_usefulness(request).await.unwrap().into_inner();
    assert_eq!(response.utility, Some(4));
    near(response.expected_utility, 4.0);
    let tokens = vec![("fully", vec![("fully", 0.5), ("partially", 0.3), ("no", 0.2)])];
    let mut grader = llm(Likely(tokens), &[]).await;
    let request = GradeGroundednessRequest {
        question: "Which?".to_owned(),
        passages: vec![passage("a", "evidence")],
        answer: "The tower is red.".to_owned(),
        sentences: vec![],
    };
    let response = grader.client.grade_groundedness(request).await.unwrap().into_inner();
    assert_eq!(response.support(), Support::FullySupported);
    near(response.score, 0.65);
    near(response.fully_supported, 0.5);
    near(response.partially_supported, 0.3);
}

#[tokio::test]
async fn passages_are_graded_at_the_same_time() {
    let chat = Gated::shut();
    let grader = llm(chat.clone(), &[]).await;
    let mut client = grader.client.clone();
    let texts = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let call = tokio::spawn(async move { client.grade_documents(documents("Which?", &texts)).await });
    // All calls wait in the model at once, and none of them has been answered.
    chat.wait_for(8).await;
    chat.open();
    let response = super::soon(call).await.unwrap().unwrap().into_inner();
    assert_eq!(response.usage.unwrap().model_calls, 8);
    assert!(
        response
            .grades
            .iter()
            .all(|grade| grade.relevance() == Relevance::Relevant)
    );
}

#[tokio::test]
async fn the_question_chooses_the_language_of_the_prompt() {
    let chat = Scripted::answering(|_| Ok("no".to_owned()));
    let mut grader = llm(chat.clone(), &[]).await;
    for question in ["What is it?", "그것은 무엇인가요?", "それは何ですか？", "這是什麼？"] {
        let request = GradeGroundednessRequest {
            question: question.to_owned(),
            passages: vec![passage("a", "evidence")],
            answer: "It is a mill.".to_owned(),
            sentences: vec![],
        };
        grader.client.grade_groundedness(request).await.unwrap();
        grader
            .client
            .grade_documents(documents(question, &["It is a mill."]))
            .await
            .unwrap();
    }
    let prompts: Vec<String> = chat
        .requests()
        .into_iter()
        .filter_map(|request| request.prompt)
        .collect();
    let expected = ["en", "ko", "ja", "zh"]
        .map(|code| {
            [
                format!("grade_groundedness.{code}@1"),
                format!("grade_documents.{code}@1"),
            ]
        })
        .concat();
    assert_eq!(prompts, expected);
}
