//! What a question can contain: its own graph, a conversation, a budget. And graphs that are
//! reloaded meanwhile.

use std::{fs, time::Duration};

use emend_proto::v1::{Limit, WalkStatus, chat_message::Role};
use tonic::Code;
use tonic_types::StatusExt as _;

use super::{QUESTION, Running, question, v1};
use crate::{
    catalog::builtin,
    walk::{
        Dependency,
        scripted::{Scripted, useful},
    },
};

fn fields(status: &tonic::Status) -> Vec<String> {
    let details = status.get_details_bad_request().unwrap();
    details
        .field_violations
        .into_iter()
        .map(|violation| violation.field)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_can_bring_its_own_graph() {
    let mut running = Running::with(Scripted::default(), &[]).await;
    let own = builtin("plain-rag").source().replace("name: plain-rag", "name: mine");
    let asked = v1::Question {
        graph_yaml: own.clone(),
        ..question(QUESTION)
    };
    let result = running.ask(asked.clone()).await.unwrap();
    assert_eq!((result.graph.as_str(), result.steps.len()), ("mine", 2));

    let both = v1::Question {
        graph: "self-rag".to_owned(),
        ..asked.clone()
    };
    let status = running.ask(both).await.unwrap_err();
    assert_eq!(fields(&status), ["question.graph"]);

    let wrong = v1::Question {
        graph_yaml: own.replace("action: generate}", "action: genrate}"),
        ..asked.clone()
    };
    let status = running.ask(wrong).await.unwrap_err();
    assert_eq!(fields(&status), ["question.graph_yaml"]);
    assert!(
        status.message().contains("did you mean `generate`?"),
        "{}",
        status.message()
    );

    let long = v1::Question {
        graph_yaml: format!("{own}\n# {}", "x".repeat(256 * 1024)),
        ..asked
    };
    assert_eq!(fields(&running.ask(long).await.unwrap_err()), ["question.graph_yaml"]);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r15_a_wrong_conversation_and_a_wrong_budget_are_named_field_by_field() {
    let mut running = Running::with(Scripted::default(), &[]).await;
    let message = |role: Role, content: &str| v1::ChatMessage {
        role: role.into(),
        content: content.to_owned(),
    };
    let asked = v1::Question {
        history: vec![
            message(Role::User, "Where is it?"),
            message(Role::Unspecified, "On Pladda."),
            message(Role::Assistant, " "),
        ],
        budget: Some(v1::Budget {
            steps: Some(0),
            time: Some(Duration::ZERO.try_into().unwrap()),
            ..v1::Budget::default()
        }),
        ..question(QUESTION)
    };
    let status = running.ask(asked).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(
        fields(&status),
        [
            "question.history[1].role",
            "question.history[2].content",
            "question.budget.steps",
            "question.budget.time"
        ]
    );
    let long = v1::Question {
        history: vec![message(Role::User, "Where?"); 51],
        ..question(QUESTION)
    };
    assert_eq!(fields(&running.ask(long).await.unwrap_err()), ["question.history"]);
    let unknown = v1::Question {
        search: 9,
        ..question(QUESTION)
    };
    assert_eq!(fields(&running.ask(unknown).await.unwrap_err()), ["question.search"]);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_comes_over_the_wire() {
    let services = Scripted::default().grade_usefulness(|_| Ok(useful(false)));
    let mut running = Running::with(services, &[]).await;
    let asked = v1::Question {
        graph: "self-rag".to_owned(),
        budget: Some(v1::Budget {
            model_calls: Some(9),
            ..v1::Budget::default()
        }),
        ..question(QUESTION)
    };
    let result = running.ask(asked).await.unwrap();
    assert_eq!(
        (result.status(), result.exhausted()),
        (WalkStatus::Unverified, Limit::ModelCalls)
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn graphs_are_read_again_without_dropping_walks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.yaml");
    let own = builtin("plain-rag").source().replace("name: plain-rag", "name: mine");
    fs::write(&file, &own).unwrap();
    // A walk that is under way while its graph is replaced.
    let services = Scripted::default().takes(Dependency::Generator, Duration::from_millis(2500));
    let running = Running::with(services, &["--graphs-dir", folder.path().to_str().unwrap()]).await;
    let asked = v1::Question {
        graph: "mine".to_owned(),
        ..question(QUESTION)
    };
    let mut client = running.client.clone();
    let request = v1::AskRequest { question: Some(asked) };
    let walking = tokio::spawn(async move { client.ask(request).await });

    let described = |name: &'static str| {
        let mut client = running.client.clone();
        async move {
            let name = name.to_owned();
            client
                .get_graph(v1::GetGraphRequest { name })
                .await
                .map(|graph| graph.into_inner())
        }
    };
    assert!(described("mine").await.is_ok());
    fs::write(&file, own.replace("name: mine", "name: renamed")).unwrap();
    let began = std::time::Instant::now();
    while described("renamed").await.is_err() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "the graph was not read again"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(described("mine").await.unwrap_err().code(), Code::NotFound);

    let result = walking.await.unwrap().unwrap().into_inner().result.unwrap();
    assert_eq!((result.graph.as_str(), result.steps.len()), ("mine", 2));
    running.stop().await;
}
