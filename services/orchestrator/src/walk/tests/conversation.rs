//! Questions that come with a conversation.

use std::time::Duration;

use emend_core::Deadline;
use emend_proto::v1::{ChatMessage, RewritePurpose, RewriteResponse, WalkResult, WalkStatus, chat_message::Role};

use super::{
    super::{
        Events, Question, WalkMetrics, WalkRequest,
        scripted::{Call, Scripted, down},
        services::Dependency,
        walk,
    },
    path, status, walk_request,
};

fn message(role: Role, content: &str) -> ChatMessage {
    ChatMessage {
        role: role.into(),
        content: content.to_owned(),
    }
}

async fn ask_on(services: &Scripted) -> WalkResult {
    let question = Question::new(emend_proto::v1::Question {
        question: "And who built it?".to_owned(),
        history: vec![
            message(Role::User, "Where is the lighthouse of Arran?"),
            message(Role::Assistant, "On Pladda."),
        ],
        ..emend_proto::v1::Question::default()
    });
    let walk_request = WalkRequest {
        question,
        ..walk_request("self-rag", &[])
    };
    let deadline = Deadline::after(Duration::from_secs(60));
    walk(
        walk_request,
        services,
        deadline,
        &Events::none(),
        &WalkMetrics::default(),
    )
    .await
    .unwrap()
}

fn condensing() -> Scripted {
    Scripted::default().rewrite(|request| {
        assert_eq!(request.purpose(), RewritePurpose::Condense);
        assert_eq!(
            (request.question.as_str(), request.history.len()),
            ("And who built it?", 2)
        );
        Ok(RewriteResponse {
            query: "Who built the lighthouse of Arran?".to_owned(),
            usage: super::super::scripted::calls(1),
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_is_made_to_stand_on_its_own_before_anything_is_searched() {
    let services = condensing();
    let result = ask_on(&services).await;
    assert_eq!(
        path(&result),
        [
            "condense",
            "retrieve",
            "grade_documents",
            "generate",
            "grade_generation"
        ]
    );
    let step = &result.steps[0];
    assert_eq!((step.number, step.outcome.as_str()), (1, "rewritten"));
    assert_eq!(
        (step.previous_query.as_str(), step.query.as_str()),
        ("And who built it?", "Who built the lighthouse of Arran?")
    );
    assert_eq!(result.standalone_question, "Who built the lighthouse of Arran?");
    for call in services.calls() {
        match call {
            Call::Retrieve(request) => assert_eq!(request.query, result.standalone_question),
            Call::GradeDocuments(request) => assert_eq!(request.question, result.standalone_question),
            Call::Generate(request) => {
                assert_eq!(request.question, result.standalone_question);
                assert_eq!(request.history.len(), 2);
            }
            Call::GradeUsefulness(request) => assert_eq!(request.question, result.standalone_question),
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_answer_comes_back_as_the_next_turn() {
    let result = ask_on(&condensing()).await;
    let message = result.message.unwrap();
    assert_eq!(message.role(), Role::Assistant);
    assert_eq!(message.content, result.answer);
}

#[tokio::test(start_paused = true)]
async fn without_a_rewriter_the_follow_up_is_taken_as_it_is() {
    let services = Scripted::default().rewrite(|_| down(Dependency::Rewriter));
    let result = ask_on(&services).await;
    assert_eq!(
        (path(&result)[0], result.steps[0].outcome.as_str()),
        ("condense", "unavailable")
    );
    assert!(
        result.steps[0].error.starts_with("rewriter: "),
        "{}",
        result.steps[0].error
    );
    assert_eq!(result.standalone_question, "");
    assert_eq!(status(&result), WalkStatus::Answered);
}

#[tokio::test(start_paused = true)]
async fn a_question_without_a_conversation_is_not_condensed() {
    let services = Scripted::default();
    let result = super::ask("self-rag", &services).await;
    assert_eq!(path(&result)[0], "retrieve");
    assert!(!services.calls().iter().any(|call| matches!(call, Call::Rewrite(_))));
}
