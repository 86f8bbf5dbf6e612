//! Several passages in one call.

use emend_models::chat::ChatError;
use emend_proto::v1::Relevance::{self, Irrelevant, Relevant, Ungraded};
use emend_testkit::scripted_chat::Scripted;

use super::{Likely, documents, llm, relevances, said};

const BATCHES: [&str; 2] = ["--llm-batch-grading", "3"];

/// Answers with the first of these whose word the prompt has.
fn by_word(replies: &'static [(&'static str, &'static str)]) -> Scripted {
    Scripted::answering(move |request| {
        let said = said(request);
        let reply = replies.iter().find(|(word, _)| said.contains(word));
        reply
            .map(|(_, reply)| (*reply).to_owned())
            .ok_or_else(|| ChatError::Unavailable {
                model: "scripted".to_owned(),
                reason: "down".to_owned(),
            })
    })
}

#[tokio::test]
async fn passages_share_calls_and_keep_their_order() {
    let chat = by_word(&[
        ("alpha", "{\"1\": \"no\", \"2\": \"yes\", \"3\": \"no\"}"),
        ("epsilon", "1. yes\n2. perhaps"),
    ]);
    let mut grader = llm(chat.clone(), &BATCHES).await;
    let texts = ["alpha", "beta", " ", "gamma", "epsilon", "zeta"];
    let found = relevances(&mut grader, documents("Which?", &texts)).await;
    assert_eq!(
        found,
        (vec![Irrelevant, Relevant, Ungraded, Irrelevant, Relevant, Ungraded], 2)
    );
    let requests = chat.requests();
    let first = requests.iter().find(|request| said(request).contains("alpha")).unwrap();
    assert!(said(first).contains("gamma") && !said(first).contains("epsilon"));
    assert!(said(first).contains("There are 3 passages"), "{}", said(first));
    let schema = first.response_schema.as_ref().unwrap();
    assert_eq!(schema.name, "GradeDocumentsBatch");
    let numbers: Vec<&str> = schema.schema["required"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|n| n.as_str())
        .collect();
    assert_eq!(numbers, ["1", "2", "3"]);
    assert_eq!(
        (first.temperature, first.prompt.as_deref()),
        (Some(0.0), Some("grade_documents_batch.en@2"))
    );
}

#[tokio::test]
async fn a_list_that_does_not_fit_says_nothing_about_any_of_its_passages() {
    let wrong: [&'static str; 6] = [
        "1. yes\n2. no",
        "1. yes\n2. no\n3. yes\n4. no",
        "2. yes\n1. no\n3. no",
        "{\"verdicts\": [{\"passage\": 3, \"verdict\": \"yes\"}, {\"passage\": 2, \"verdict\": \"no\"}, {\"passage\": 1, \"verdict\": \"no\"}]}",
        "yes",
        "",
    ];
    for reply in wrong {
        let chat = Scripted::answering(move |_| Ok(reply.to_owned()));
        let mut grader = llm(chat, &BATCHES).await;
        let found = relevances(&mut grader, documents("Which?", &["a", "b", "c"])).await;
        assert_eq!(found, (vec![Ungraded; 3], 1), "{reply}");
    }
    let mut grader = llm(by_word(&[("alpha", "1. yes\n2. yes\n3. yes")]), &BATCHES).await;
    let found = relevances(&mut grader, documents("Which?", &["alpha", "b", "c", "d", "e"])).await;
    let expected: Vec<Relevance> = [Relevant; 3].into_iter().chain([Ungraded; 2]).collect();
    assert_eq!(found, (expected, 2), "a call that fails costs the others nothing");
}

#[tokio::test]
async fn a_passage_that_was_graded_in_one_batch_is_left_out_of_the_next() {
    let chat = by_word(&[("delta", "1. yes"), ("alpha", "1. yes\n2. no\n3. hm")]);
    let mut grader = llm(chat.clone(), &BATCHES).await;
    let found = relevances(&mut grader, documents("Which?", &["alpha", "beta", "gamma"])).await;
    assert_eq!(found, (vec![Relevant, Irrelevant, Ungraded], 1));
    let found = relevances(&mut grader, documents("Which?", &["beta", "delta", "alpha"])).await;
    assert_eq!(found, (vec![Irrelevant, Relevant, Relevant], 1));
    assert!(!said(&chat.requests()[1]).contains("beta"));
    // What was ungraded is asked for again.
    assert_eq!(relevances(&mut grader, documents("Which?", &["gamma"])).await.1, 1);
    // Under another heading it is another passage.
    let mut under = documents("Which?", &["alpha"]);
    under.passages[0].headings = vec!["Page 3".to_owned()];
    assert_eq!(relevances(&mut grader, under.clone()).await.1, 1);
    assert!(said(chat.requests().last().unwrap()).contains("Page 3"));
}

#[tokio::test]
async fn log_probabilities_make_the_scores_of_a_list_finer() {
    let tokens = vec![
        ("1. ", vec![]),
        ("yes", vec![("yes", 0.9), ("no", 0.1)]),
        ("\n2. ", vec![]),
        ("no", vec![("yes", 0.2), ("no", 0.8)]),
    ];
    let mut grader = llm(Likely(tokens), &BATCHES).await;
    let response = grader
        .client
        .grade_documents(documents("Which?", &["a", "b"]))
        .await
        .unwrap();
    let scores: Vec<f64> = response
        .into_inner()
        .grades
        .iter()
        .filter_map(|grade| grade.score)
        .collect();
    assert!(
        (scores[0] - 0.9).abs() < 1e-9 && (scores[1] - 0.2).abs() < 1e-9,
        "{scores:?}"
    );
}
