use emend_core::{Code, ServiceError};
use emend_models::prompt::PromptOptions;
use emend_proto::v1::ChatMessage;
use emend_testkit::scripted_chat::Scripted;

use super::*;

fn backend(chat: &Scripted) -> LlmBackend {
    LlmBackend::new(
        Arc::new(chat.clone()),
        Prompts::load(&PromptOptions::default()).unwrap(),
        0.8,
    )
}

fn request(purpose: RewritePurpose, failed: &[&str]) -> RewriteRequest {
    RewriteRequest {
        question: "When was the boiler in the old mill installed?".to_owned(),
        failed_queries: failed.iter().map(|query| (*query).to_owned()).collect(),
        purpose: purpose.into(),
        ..RewriteRequest::default()
    }
}

async fn rewrite(chat: &Scripted, request: RewriteRequest) -> Rewritten {
    backend(chat).rewrite(request, emend_testkit::scope()).await.unwrap()
}

#[tokio::test]
async fn the_models_query_is_cleaned_and_the_prompt_holds_question_and_failures() {
    let chat = Scripted::replies(["Rewritten query: \"mill boiler installation year\""]);
    let rewritten = rewrite(&chat, request(RewritePurpose::Retrieval, &["old mill heating"])).await;
    assert_eq!(rewritten.query, "mill boiler installation year");
    assert_eq!((rewritten.usage.model_calls, rewritten.fallback), (1, None));
    let asked = &chat.requests()[0];
    let said: String = asked.messages.iter().map(|message| message.content.as_str()).collect();
    assert!(said.contains("When was the boiler in the old mill installed?") && said.contains("old mill heating"));
    assert!(asked.deadline.is_some() && asked.max_tokens.is_some());
    let reads = |text: &str, finish_reason| {
        asked.accepts.reads(&ChatReply {
            text: text.to_owned(),
            model: "m".to_owned(),
            usage: emend_models::chat::Usage::default(),
            finish_reason,
            logprobs: Vec::new(),
        })
    };
    assert!(reads("{\"query\": \"mill\"}", FinishReason::Stop));
    assert!(!reads("{\"query\": \"mill\"", FinishReason::Length) && !reads("{}", FinishReason::Stop));
}

#[tokio::test]
async fn a_repetition_is_retried_at_a_higher_temperature() {
    let chat = Scripted::replies(["{\"query\": \"Old  MILL heating\"}", "{\"query\": \"mill boiler age\"}"]);
    let rewritten = rewrite(&chat, request(RewritePurpose::WebSearch, &["old mill heating"])).await;
    assert_eq!(
        (rewritten.query.as_str(), rewritten.usage.model_calls),
        ("mill boiler age", 2)
    );
    let temperatures: Vec<_> = chat.requests().iter().map(|request| request.temperature).collect();
    assert_eq!(temperatures, [None, Some(0.8)]);
}

#[tokio::test]
async fn a_model_without_a_new_query_falls_back_to_keywords() {
    for (replies, reason) in [
        (
            ["{\"query\": \"old mill heating\"}", "old mill heating?"],
            "the model repeated a failed query",
        ),
        (["", "?"], "the model's reply held no query"),
    ] {
        let chat = Scripted::replies(replies);
        let rewritten = rewrite(&chat, request(RewritePurpose::Retrieval, &["old mill heating"])).await;
        assert_eq!(rewritten.query, "boiler old mill installed");
        assert_eq!((rewritten.usage.model_calls, rewritten.fallback), (2, Some(reason)));
    }
}

#[tokio::test]
async fn an_unreachable_model_is_an_error_at_first_and_a_fallback_on_retry() {
    let gone = Scripted::replies(Vec::<String>::new());
    let error = backend(&gone)
        .rewrite(request(RewritePurpose::Retrieval, &[]), emend_testkit::scope())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    let going = Scripted::replies(["{\"query\": \"old mill heating\"}"]);
    let rewritten = rewrite(&going, request(RewritePurpose::Retrieval, &["old mill heating"])).await;
    assert_eq!(rewritten.fallback, Some("the model could not be asked again"));
    let refusing = Scripted::answering(|request| {
        request.receipt.wasted(emend_models::chat::Usage {
            input_tokens: 30,
            output_tokens: 4,
        });
        Err(ChatError::Refused {
            model: "m".to_owned(),
            reason: "no".to_owned(),
        })
    });
    let rewritten = rewrite(&refusing, request(RewritePurpose::Retrieval, &[])).await;
    assert_eq!(
        (rewritten.query.as_str(), rewritten.fallback),
        ("boiler old mill installed", Some("the model refused"))
    );
    let usage = rewritten.usage;
    assert_eq!((usage.model_calls, usage.input_tokens, usage.output_tokens), (1, 30, 4));
}

#[tokio::test]
async fn condensing_sends_the_conversation_and_no_call_without_one() {
    let chat = Scripted::replies(["{\"query\": \"Who built the old mill?\"}"]);
    let follow_up = RewriteRequest {
        question: "Who built it?".to_owned(),
        ..request(RewritePurpose::Condense, &[])
    };
    let rewritten = rewrite(&chat, follow_up.clone()).await;
    assert_eq!(
        (rewritten.query.as_str(), rewritten.usage.model_calls),
        ("Who built it?", 0)
    );
    let turn = |role: Role, content: &str| ChatMessage {
        role: role.into(),
        content: content.to_owned(),
    };
    let history = vec![
        turn(Role::User, "Where is the old mill?"),
        turn(Role::Assistant, "By the river."),
    ];
    let rewritten = rewrite(&chat, RewriteRequest { history, ..follow_up }).await;
    assert_eq!(rewritten.query, "Who built the old mill?");
    let said: String = chat.requests()[0]
        .messages
        .iter()
        .map(|message| message.content.clone())
        .collect();
    assert!(said.contains("By the river.") && said.contains("Where is the old mill?"));
}
