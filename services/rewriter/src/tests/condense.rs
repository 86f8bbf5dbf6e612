//! Follow-up questions made to stand alone, and the limit in tokens.

use emend_models::prompt::{PromptOptions, Prompts};
use emend_proto::v1::chat_message::Role;
use emend_proto::v1::{ChatMessage, RewriteResponse};
use emend_testkit::scripted_chat::Scripted;

use super::*;
use crate::backend::LlmBackend;

async fn keywords() -> Running {
    Running::start(|listener, shutdown| serve(Options::default(), listener, shutdown).boxed()).await
}

async fn llm(chat: &Scripted) -> Running {
    let prompts = Prompts::load(&PromptOptions::default()).unwrap();
    let backend = Arc::new(LlmBackend::new(Arc::new(chat.clone()), prompts, 0.8));
    Running::start(move |listener, shutdown| {
        async move { serve_backend(backend, &ServiceOptions::default(), listener, shutdown).await }.boxed()
    })
    .await
}

/// `question` after this conversation, which the user began.
fn after(history: &[&str], question: &str) -> RewriteRequest {
    let roles = [Role::User, Role::Assistant].into_iter().cycle();
    let message = |(content, role): (&&str, Role)| ChatMessage {
        role: role.into(),
        content: (*content).to_owned(),
    };
    RewriteRequest {
        purpose: RewritePurpose::Condense.into(),
        history: history.iter().zip(roles).map(message).collect(),
        ..request(question)
    }
}

async fn ask(running: &Running, request: RewriteRequest) -> RewriteResponse {
    running.client.clone().rewrite(request).await.unwrap().into_inner()
}

fn calls(response: &RewriteResponse) -> u64 {
    response.usage.map_or(u64::MAX, |usage| usage.model_calls.into())
}

#[tokio::test]
async fn a_question_that_stands_alone_comes_back_as_it_is() {
    let running = keywords().await;
    for (history, question) in [
        (&["Where is the old mill?", "By the river."][..], "Who wrote Dustland?"),
        (
            &["Where is the old mill?", "By the river."],
            " How tall is Mount Kenya? ",
        ),
        (
            &["한라산은 어디에 있나요?", "제주도에 있습니다."],
            "서울의 인구는 얼마인가요?",
        ),
        (
            &["東京タワーはどこにありますか", "港区です。"],
            "京都の人口はどのくらいですか",
        ),
        (&["埃菲尔铁塔在哪里？", "在巴黎。"], "长城有多长？"),
        // Nothing is known that it could lean on.
        (&[], "When was it built?"),
        (&["Why?", "Because."], "When was it built?"),
    ] {
        let mut request = after(history, question);
        // No query that failed forbids a question.
        request.failed_queries = vec![question.to_owned()];
        let response = ask(&running, request).await;
        assert_eq!((response.query.as_str(), calls(&response)), (question, 0));
    }
    running.stop().await;
}

#[tokio::test]
async fn a_follow_up_carries_the_topic_over_without_a_model() {
    let running = keywords().await;
    for (history, question, topic) in [
        (
            ["Where is the lighthouse of Cape Orna?", "In Velland."],
            "When was it built?",
            "Cape Orna",
        ),
        (["Where is the old mill?", "By the river."], "Opening hours?", "mill"),
        (
            ["한라산은 어디에 있나요?", "제주도에 있습니다."],
            "높이가 얼마인가요?",
            "한라산",
        ),
        (
            ["한라산은 어디에 있나요?", "제주도에 있습니다."],
            "그것은 언제 생겼나요?",
            "한라산",
        ),
        (
            ["東京タワーはどこにありますか", "港区です。"],
            "いつ建てられましたか",
            "東京タワー",
        ),
        (
            ["東京タワーはどこにありますか", "港区です。"],
            "それは誰が設計しましたか",
            "東京タワー",
        ),
        (["埃菲尔铁塔在哪里？", "在巴黎。"], "它是什么时候建成的？", "埃菲尔铁塔"),
        (["臺北車站在哪裡？", "在中正區。"], "誰設計的？", "臺北車站"),
    ] {
        let response = ask(&running, after(&history, question)).await;
        // The user's own words are left alone.
        assert!(
            response.query.starts_with(question) && response.query.contains(topic),
            "{question}: {}",
            response.query
        );
        assert_eq!(calls(&response), 0);
    }
    running.stop().await;
}

#[tokio::test]
async fn a_model_condenses_and_is_not_asked_where_nothing_was_said_before() {
    let said = "Who built the old mill?";
    let chat = Scripted::answering(move |_| Ok(format!("{{\"query\": \"{said}\"}}")));
    let running = llm(&chat).await;
    let response = ask(&running, after(&[], "Who built it?")).await;
    assert_eq!((response.query.as_str(), calls(&response)), ("Who built it?", 0));
    assert!(chat.requests().is_empty());
    let mut request = after(&["Where is the old mill?", "By the river."], "Who built it?");
    request.failed_queries = vec![said.to_owned()];
    let response = ask(&running, request).await;
    assert_eq!((response.query.as_str(), calls(&response)), (said, 1));
    let asked = &chat.requests()[0];
    let user = &asked.messages[asked.messages.len() - 1].content;
    for part in [
        "user: Where is the old mill?",
        "assistant: By the river.",
        "Last question: Who built it?",
    ] {
        assert!(user.contains(part), "{part} is not in {user}");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_model_without_a_question_to_offer_gives_way_to_the_rules() {
    let chat = Scripted::replies(["", "?"]);
    let running = llm(&chat).await;
    let request = after(
        &["Where is the lighthouse of Cape Orna?", "There."],
        "When was it built?",
    );
    let response = ask(&running, request).await;
    assert_eq!(
        (response.query.as_str(), calls(&response)),
        ("When was it built? (Cape Orna, lighthouse)", 2)
    );
    running.stop().await;
}

#[tokio::test]
async fn the_limit_in_tokens_reaches_the_model_and_cuts_its_query() {
    let long = "boiler ".repeat(400);
    let chat = Scripted::answering(move |_| Ok(format!("{{\"query\": \"{long}\"}}")));
    let running = llm(&chat).await;
    let mut lengths = Vec::new();
    for max_tokens in [Some(8), None, Some(500)] {
        let request = RewriteRequest {
            max_tokens,
            ..request("Boiler of the mill?")
        };
        lengths.push(ask(&running, request).await.query.split(' ').count());
    }
    let asked: Vec<u32> = chat.requests().iter().map(|asked| asked.max_tokens.unwrap()).collect();
    // The JSON around the query has to fit too.
    assert_eq!(asked, [8 + 32, 128 + 32, 500 + 32]);
    assert!(
        lengths[0] <= 8 && lengths[0] < lengths[1] && lengths[1] < lengths[2],
        "{lengths:?}"
    );
    running.stop().await;
}
