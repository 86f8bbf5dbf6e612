//! Strips: cut, graded, the best kept in the order of the text.

use std::time::Duration;

use emend_models::chat::{ChatError, ChatRequest};
use emend_proto::v1::{RefineKnowledgeRequest, Strip, StripUnit};
use emend_testkit::scripted_chat::Scripted;
use tonic::{Code, Request};

use super::llm::by_word;
use super::{Gated, Likely, assert_verbatim, bad_fields, embedded, llm, passage, said, soon};

const QUESTION: &str = "How tall is the lighthouse of Corran Point?";

fn refinement(question: &str, texts: &[&str]) -> RefineKnowledgeRequest {
    RefineKnowledgeRequest {
        question: question.to_owned(),
        passages: texts
            .iter()
            .enumerate()
            .map(|(index, text)| passage(&format!("p{index}"), text))
            .collect(),
        ..RefineKnowledgeRequest::default()
    }
}

fn kept(strips: &[Strip]) -> Vec<&str> {
    let kept = strips.iter().filter(|strip| strip.kept);
    kept.map(|strip| strip.text.as_str()).collect()
}

#[tokio::test]
async fn the_best_strips_are_kept_in_the_order_of_passages_and_text() {
    let mut grader = embedded().await;
    let mut request = refinement(
        QUESTION,
        &[
            "Knead the dough well. The lighthouse of Corran is tall. Let it rest under a cloth.",
            "  ",
            "The lighthouse of Corran Point is 31 metres tall. Bread needs salt. How the lighthouse stands there!",
        ],
    );
    request.size = Some(1);
    request.max_strips = Some(2);
    request.threshold = Some(0.0);
    let response = grader
        .client
        .refine_knowledge(request.clone())
        .await
        .unwrap()
        .into_inner();
    let ids: Vec<&str> = response.strips.iter().map(|strip| strip.passage_id.as_str()).collect();
    assert_eq!(ids, ["p0", "p0", "p0", "p2", "p2", "p2"]);
    assert_verbatim(&request.passages, &response.strips);
    assert!(
        response.strips[3].score > response.strips[1].score,
        "the second passage has the better one"
    );
    assert_eq!(
        kept(&response.strips),
        [
            "The lighthouse of Corran is tall.",
            "The lighthouse of Corran Point is 31 metres tall."
        ]
    );
    assert_eq!(response.usage.unwrap().model_calls, 0);

    request.threshold = response.strips[3].score;
    let response = grader
        .client
        .refine_knowledge(request.clone())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        kept(&response.strips),
        ["The lighthouse of Corran Point is 31 metres tall."]
    );
    assert_eq!(response.strips.len(), 6, "what is dropped is told");
    request.threshold = Some(1.0);
    let response = grader.client.refine_knowledge(request).await.unwrap().into_inner();
    assert_eq!(kept(&response.strips), [""; 0]);
}

#[tokio::test]
async fn unset_fields_mean_three_sentences_five_strips_and_the_calibrated_threshold() {
    let mut grader = embedded().await;
    let text =
        "The lighthouse of Corran Point is 31 metres tall. It is red. It is old. ".repeat(6) + "Bread needs salt.";
    let response = grader
        .client
        .refine_knowledge(refinement(QUESTION, &[&text]))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(response.strips.len(), 7);
    assert_eq!(
        response.strips[0].text,
        "The lighthouse of Corran Point is 31 metres tall. It is red. It is old."
    );
    let kept: Vec<bool> = response.strips.iter().map(|strip| strip.kept).collect();
    assert_eq!(
        kept,
        [true, true, true, true, true, false, false],
        "{:?}",
        response.strips
    );
    assert!(response.strips[6].score.unwrap() < 0.3);
}

#[tokio::test]
async fn strips_are_verbatim_in_every_script_and_unit() {
    let mut grader = embedded().await;
    let texts = [
        "등대의 높이는 31미터이다. 1904년에 빨갛게 칠했다! 😀 누가 지었는가?",
        "灯台の高さは31メートルです。1904年に「赤く」塗られました。",
        "灯塔高31米。它是红色的！",
        "Der Leuchtturm ist 31 m hoch. Er ist schön.",
    ];
    let mut request = refinement("등대의 높이는 얼마인가?", &texts);
    let mut strips = async |unit: StripUnit, size| {
        request.set_unit(unit);
        request.size = size;
        let response = grader
            .client
            .refine_knowledge(request.clone())
            .await
            .unwrap()
            .into_inner();
        assert_verbatim(&request.passages, &response.strips);
        let strips = response.strips.into_iter();
        strips.map(|strip| (strip.passage_id, strip.text)).collect::<Vec<_>>()
    };
    let of = |strips: &[(String, String)], passage: &str| -> Vec<String> {
        let strips = strips.iter().filter(|(id, _)| id == passage);
        strips.map(|(_, text)| text.clone()).collect()
    };
    let sentences = strips(StripUnit::Sentences, Some(1)).await;
    assert_eq!(
        of(&sentences, "p0"),
        [
            "등대의 높이는 31미터이다.",
            "1904년에 빨갛게 칠했다!",
            "😀 누가 지었는가?"
        ]
    );
    assert_eq!(of(&sentences, "p2"), ["灯塔高31米。", "它是红色的！"]);
    let words = strips(StripUnit::Words, Some(5)).await;
    let japanese = of(&words, "p1");
    assert_eq!(japanese[0], "灯台の高さ");
    assert_eq!(japanese.concat(), texts[1]);
    assert_eq!(of(&words, "p3"), ["Der Leuchtturm ist 31 m", "hoch. Er ist schön."]);
    let whole = strips(StripUnit::Passage, Some(0)).await;
    assert_eq!(whole.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), texts);
}

#[tokio::test]
async fn a_model_grades_the_strips_of_a_passage_in_one_call() {
    let chat = by_word(&[
        ("alpha", "{\"1\": \"no\", \"2\": \"yes\"}"),
        ("gamma", "1. 예\n2. 아니오"),
    ]);
    let mut grader = llm(chat.clone(), &[]).await;
    let mut request = refinement(
        "Which?",
        &["It is alpha. It is beta.", " ", "It is gamma. It is delta."],
    );
    request.passages[2].title = "The title".to_owned();
    request.size = Some(1);
    let response = grader.client.refine_knowledge(request).await.unwrap().into_inner();
    let scores: Vec<Option<f64>> = response.strips.iter().map(|strip| strip.score).collect();
    assert_eq!(scores, [Some(0.0), Some(1.0), Some(1.0), Some(0.0)]);
    assert_eq!(kept(&response.strips), ["It is beta.", "It is gamma."]);
    let usage = response.usage.unwrap();
    assert_eq!(usage.model_calls, 2, "a call a passage, and none for one without text");
    assert!(usage.input_tokens > 0 && usage.output_tokens > 0);
    for request in chat.requests() {
        assert!(said(&request).contains("Which?"));
        assert_eq!(
            said(&request).contains("It is beta."),
            said(&request).contains("It is alpha.")
        );
        assert_eq!(
            said(&request).contains("The title"),
            said(&request).contains("It is gamma.")
        );
        assert_eq!(request.response_schema.unwrap().name, "RefineKnowledge");
        assert_eq!(request.temperature, Some(0.0));
    }
}

#[tokio::test]
async fn verdicts_in_another_number_or_order_are_nobodys() {
    for reply in [
        "[\"yes\"]",
        "[\"yes\", \"no\", \"no\"]",
        "2. yes\n1. no",
        "{\"verdicts\": [{\"strip\": 2, \"verdict\": \"yes\"}, {\"strip\": 1, \"verdict\": \"no\"}]}",
        "perhaps",
    ] {
        let mut grader = llm(Scripted::replies([reply]), &[]).await;
        let mut request = refinement("Which?", &["It is alpha. It is beta."]);
        request.size = Some(1);
        let response = grader.client.refine_knowledge(request).await.unwrap().into_inner();
        assert_eq!(response.strips.len(), 2);
        for strip in response.strips {
            assert!(
                strip.score.is_none() && strip.kept && !strip.error.is_empty(),
                "{reply}: {strip:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_strip_without_a_grade_is_kept_after_those_that_have_one() {
    let chat = by_word(&[("alpha", "[\"hm\", \"yes\", \"no\"]")]);
    let grader = llm(chat, &[]).await;
    let mut request = refinement("Which?", &["It is down.", "It is alpha. It is beta. It is red."]);
    request.size = Some(1);
    let strips = async |most, request: &mut RefineKnowledgeRequest| {
        request.max_strips = most;
        let mut client = grader.client.clone();
        client
            .refine_knowledge(request.clone())
            .await
            .unwrap()
            .into_inner()
            .strips
    };
    let all = strips(None, &mut request).await;
    assert_eq!(kept(&all), ["It is down.", "It is alpha.", "It is beta."]);
    assert_eq!((all[0].score, all[1].score), (None, None));
    assert!(all[0].error.contains("down") && all[1].error.contains("hm"), "{all:?}");
    assert_eq!(
        kept(&strips(Some(2), &mut request).await),
        ["It is down.", "It is beta."]
    );
    assert_eq!(kept(&strips(Some(1), &mut request).await), ["It is beta."]);
}

#[tokio::test]
async fn log_probabilities_make_the_scores_of_strips_finer() {
    let tokens = vec![
        ("[\"", vec![("[\"", 1.0)]),
        ("yes", vec![("yes", 0.75), ("no", 0.25)]),
        ("\",\"", vec![("\",\"", 1.0)]),
        ("no", vec![("no", 0.9), ("yes", 0.1)]),
        ("\"]", vec![("\"]", 1.0)]),
    ];
    let mut grader = llm(Likely(tokens), &[]).await;
    let mut request = refinement("Which?", &["It is alpha. It is beta."]);
    request.size = Some(1);
    let response = grader.client.refine_knowledge(request).await.unwrap().into_inner();
    let scores: Vec<f64> = response.strips.iter().map(|strip| strip.score.unwrap()).collect();
    assert!(
        (scores[0] - 0.75).abs() < 1e-9 && (scores[1] - 0.1).abs() < 1e-9,
        "{scores:?}"
    );
}

#[tokio::test]
async fn bad_input_names_every_field() {
    let mut grader = embedded().await;
    let mut request = RefineKnowledgeRequest {
        size: Some(101),
        max_strips: Some(0),
        threshold: Some(1.5),
        ..RefineKnowledgeRequest::default()
    };
    let status = grader.client.refine_knowledge(request.clone()).await.unwrap_err();
    assert_eq!(
        bad_fields(&status),
        ["question", "passages", "size", "max_strips", "threshold"]
    );
    request.unit = 9;
    let status = grader.client.refine_knowledge(request).await.unwrap_err();
    assert_eq!(
        bad_fields(&status),
        ["question", "passages", "unit", "max_strips", "threshold"]
    );
    assert!(
        status.message().contains("STRIP_UNIT_WORDS (2)"),
        "{}",
        status.message()
    );
}

#[tokio::test]
async fn too_many_strips_are_refused_and_a_larger_size_helps() {
    let chat = by_word(&[("word", "perhaps")]);
    let mut grader = llm(chat.clone(), &[]).await;
    let mut request = refinement("Which?", &[&"word ".repeat(1000), &"word ".repeat(1001)]);
    request.set_unit(StripUnit::Words);
    request.size = Some(1);
    let status = grader.client.refine_knowledge(request.clone()).await.unwrap_err();
    assert_eq!(bad_fields(&status), ["size"]);
    assert!(
        status.message().contains("2000") && chat.requests().is_empty(),
        "{status:?}"
    );
    request.size = Some(2);
    let response = grader.client.refine_knowledge(request).await.unwrap().into_inner();
    assert_eq!(response.strips.len(), 1001);
    // A list of hundreds of verdicts does not fit into a limit that is meant for one.
    let requests = chat.requests();
    let limit = |request: &ChatRequest| request.response_schema.as_ref().unwrap().max_tokens;
    assert!(requests.iter().all(|request| limit(request) >= 500 * 24));
}

#[tokio::test]
async fn passages_are_refined_at_the_same_time_and_work_stops_when_the_caller_leaves() {
    let chat = Gated::shut();
    let grader = llm(chat.clone(), &[]).await;
    let mut client = grader.client.clone();
    let texts = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    let call = tokio::spawn(async move { client.refine_knowledge(refinement("Which?", &texts)).await });
    chat.wait_for(8).await;
    call.abort();
    chat.wait_for(0).await;
}

#[tokio::test]
async fn what_was_graded_in_time_arrives_before_the_deadline() {
    let chat = Gated::shut();
    chat.open();
    let mut grader = llm(chat, &[]).await;
    let mut request = Request::new(refinement("Which?", &["stuck", "text"]));
    request.set_timeout(Duration::from_secs(3));
    let strips = soon(grader.client.refine_knowledge(request))
        .await
        .unwrap()
        .into_inner()
        .strips;
    assert!(strips[0].error.contains("time ran out") && strips[0].kept, "{strips:?}");
    assert_eq!((strips[1].score, strips[1].kept), (Some(1.0), true));
    let mut request = Request::new(refinement("Which?", &["stuck"]));
    request.set_timeout(Duration::from_secs(1));
    let status = soon(grader.client.refine_knowledge(request)).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
}

#[tokio::test]
async fn a_model_that_is_down_leaves_every_strip_ungraded() {
    let chat = Scripted::answering(|_| {
        Err(ChatError::Unavailable {
            model: "scripted".to_owned(),
            reason: "down".to_owned(),
        })
    });
    let mut grader = llm(chat, &[]).await;
    let response = grader
        .client
        .refine_knowledge(refinement("Which?", &["text"]))
        .await
        .unwrap()
        .into_inner();
    assert!(response.strips[0].kept && response.strips[0].error.contains("down"));
}
