//! A scripted language model.

use emend_models::chat::{
    Chat, ChatDelta, ChatError, ChatReply, ChatRequest, FinishReason as ModelFinish, Role, Usage,
};
use emend_proto::v1::chat_message::Role as Speaker;
use emend_proto::v1::{ChatMessage, FinishReason};
use emend_testkit::scripted_chat::Scripted;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tonic::Code;
use tonic_types::StatusExt;

use super::{Streamed, ask, openai};

const TEXTS: [&str; 2] = ["The tower is red.", "The tower was built in 1871."];

#[tokio::test]
async fn marks_become_citations_and_never_reach_the_text() {
    let chat = Streamed::saying(&[
        "<think>[1]?",
        "</think>The tower",
        " is red [",
        "1]. It was built",
        " in 1871.",
        " [1",
        "][2",
        "]",
    ]);
    let generator = openai(chat, &[]).await;
    let (deltas, finished) = generator.answer(ask("What is the tower like?", &TEXTS)).await.unwrap();
    assert_eq!(finished.answer, "The tower is red. It was built in 1871.");
    assert!(deltas.len() > 2, "it is streamed as it comes: {deltas:?}");
    let cited: Vec<Vec<(u32, &str)>> = finished
        .sentences
        .iter()
        .map(|sentence| {
            sentence
                .citations
                .iter()
                .map(|c| (c.number, c.passage_id.as_str()))
                .collect()
        })
        .collect();
    assert_eq!(cited, [vec![(1, "p0")], vec![(1, "p0"), (2, "p1")]]);
    assert_eq!(finished.finish_reason(), FinishReason::Stop);
    let usage = finished.usage.unwrap();
    assert_eq!((usage.model_calls, usage.input_tokens, usage.output_tokens), (1, 70, 9));
    assert_eq!((finished.model.as_str(), finished.abstained), ("streamed", false));
}

/// A model that another stands in for.
struct StoodInFor(Streamed);

impl Chat for StoodInFor {
    fn model(&self) -> &str {
        "first"
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>> {
        self.0.complete(request)
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>> {
        request.receipt.called();
        request.receipt.called();
        request.receipt.answered("second");
        self.0.stream(request)
    }
}

#[tokio::test]
async fn every_call_counts_and_the_model_that_answered_is_named() {
    let generator = openai(StoodInFor(Streamed::saying(&["Red [1]."])), &[]).await;
    let (_, finished) = generator.answer(ask("What is the tower like?", &TEXTS)).await.unwrap();
    assert_eq!(
        (finished.usage.unwrap().model_calls, finished.model.as_str()),
        (2, "second")
    );
}

#[tokio::test]
async fn the_model_sees_everything_that_the_request_holds() {
    let chat = Streamed::saying(&["Red."]);
    let generator = openai(chat.clone(), &[]).await;
    let mut request = ask("탑은 무슨 색입니까?", &TEXTS);
    request.passages[1].title = "Handbook".to_owned();
    request.passages[1].headings = vec!["Page 3".to_owned(), "Towers".to_owned()];
    request.unsupported = vec!["The tower is blue.".to_owned()];
    request.temperature = Some(0.25);
    request.max_tokens = Some(77);
    request.seed = Some(5);
    request.history = vec![
        ChatMessage {
            role: Speaker::User.into(),
            content: "Hello there".to_owned(),
        },
        ChatMessage {
            role: Speaker::Assistant.into(),
            content: "Good day".to_owned(),
        },
    ];
    generator.answer(request.clone()).await.unwrap();
    let asked = chat.last_request();
    let roles: Vec<Role> = asked.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::User]);
    assert_eq!(asked.messages[1].content, "Hello there");
    let (system, user) = (&asked.messages[0].content, &asked.messages[3].content);
    assert!(
        user.contains("Handbook › Page 3 › Towers\nThe tower was built"),
        "{user}"
    );
    assert!(
        system.contains("한국어로") && system.contains("문서에는 이 질문에 대한 답이 없습니다."),
        "{system}"
    );
    for part in ["탑은 무슨 색입니까?", TEXTS[0], TEXTS[1], "The tower is blue."] {
        assert!(user.contains(part), "{part} is not in {user}");
    }
    assert_eq!(
        (asked.temperature, asked.max_tokens, asked.seed),
        (Some(0.25), Some(77), Some(5))
    );
    // Another attempt is another sample, warmer than the first was asked to be.
    request.attempt = 3;
    generator.answer(request.clone()).await.unwrap();
    assert!((chat.last_request().temperature.unwrap() - 0.85).abs() < 1e-6);
    request.temperature = None;
    generator.answer(request).await.unwrap();
    let again = chat.last_request();
    assert!(again.temperature > Some(0.5) && again.seed == Some(7), "{again:?}");
}

#[tokio::test]
async fn saying_that_the_documents_do_not_answer_is_abstaining() {
    let generator = openai(Streamed::saying(&["문서에는 이 질문에 ", "대한 답이 없습니다."]), &[]).await;
    let (_, finished) = generator.answer(ask("탑은 무슨 색입니까?", &TEXTS)).await.unwrap();
    assert!(finished.abstained);
}

#[tokio::test]
async fn the_models_end_is_told() {
    let usage = Usage::default();
    let text = || Ok(ChatDelta::Text("The tower".to_owned()));
    for (end, reason) in [
        (
            Ok(ChatDelta::Finished {
                finish_reason: ModelFinish::Length,
                usage,
            }),
            FinishReason::Length,
        ),
        (
            Ok(ChatDelta::Finished {
                finish_reason: ModelFinish::ContentFilter,
                usage,
            }),
            FinishReason::ContentFilter,
        ),
        (
            Err(ChatError::Refused {
                model: "m".to_owned(),
                reason: "no".to_owned(),
            }),
            FinishReason::ContentFilter,
        ),
        (
            Err(ChatError::Timeout { model: "m".to_owned() }),
            FinishReason::Deadline,
        ),
    ] {
        let generator = openai(Streamed::items(vec![text(), end]), &[]).await;
        let (_, finished) = generator.answer(ask("Which?", &TEXTS)).await.unwrap();
        assert_eq!(
            (finished.finish_reason(), finished.answer.as_str()),
            (reason, "The tower")
        );
    }
}

#[tokio::test]
async fn a_failure_of_the_model_is_the_last_item_with_what_to_do() {
    let (model, reason) = ("m".to_owned(), "why".to_owned());
    let retry_after = Some(std::time::Duration::from_secs(7));
    for (error, code) in [
        (
            ChatError::Unavailable {
                model: model.clone(),
                reason: reason.clone(),
            },
            Code::Unavailable,
        ),
        (
            ChatError::RateLimited {
                model: model.clone(),
                reason: reason.clone(),
                retry_after,
            },
            Code::ResourceExhausted,
        ),
        (
            ChatError::Rejected {
                model: model.clone(),
                status: 400,
                reason: reason.clone(),
            },
            Code::FailedPrecondition,
        ),
        (ChatError::Timeout { model: model.clone() }, Code::Unavailable),
    ] {
        let generator = openai(Streamed::items(vec![Err(error)]), &[]).await;
        let status = generator.answer(ask("Which?", &TEXTS)).await.unwrap_err();
        assert_eq!(status.code(), code, "{status:?}");
        let delay = status
            .get_error_details()
            .retry_info()
            .and_then(|info| info.retry_delay);
        assert_eq!(delay, retry_after.filter(|_| code == Code::ResourceExhausted));
    }
}

#[tokio::test]
async fn tokens_of_what_was_no_reply_are_counted() {
    let waste = Usage {
        input_tokens: 30,
        output_tokens: 4,
    };
    let chat = Scripted::answering(move |request| {
        request.receipt.wasted(waste);
        if request
            .messages
            .iter()
            .any(|message| message.content.contains("secret"))
        {
            return Err(ChatError::Refused {
                model: "m".to_owned(),
                reason: "no".to_owned(),
            });
        }
        Ok("It is red.".to_owned())
    });
    let generator = openai(chat, &[]).await;
    let refused = generator
        .answer(ask("Which secret?", &TEXTS))
        .await
        .unwrap()
        .1
        .usage
        .unwrap();
    assert_eq!((refused.input_tokens, refused.output_tokens), (30, 4));
    let usage = generator.answer(ask("Which?", &TEXTS)).await.unwrap().1.usage.unwrap();
    assert_eq!(usage.output_tokens, 4 + 3);
    assert!(usage.input_tokens > 30);
}
