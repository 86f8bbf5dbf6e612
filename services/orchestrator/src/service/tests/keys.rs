//! What keys allow at the orchestrator.

use std::path::PathBuf;

use emend_chassis::Permission;
use emend_chassis::keys::{KeyEntry, KeysFile, new_key};
use emend_core::Secret;
use tempfile::TempDir;

use super::*;
use crate::walk::scripted::{answer, useful};

/// A file of keys, and an orchestrator behind it.
struct Guarded {
    folder: TempDir,
    file: KeysFile,
}

impl Guarded {
    fn new() -> Guarded {
        Guarded {
            folder: tempfile::tempdir().unwrap(),
            file: KeysFile::default(),
        }
    }

    /// A key that may ask of `handbook` and `team-…`, by two graphs.
    fn key(&mut self, name: &str, change: impl FnOnce(&mut KeyEntry)) -> Secret {
        let (key, sha256) = new_key().unwrap();
        let names = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
        let mut entry = KeyEntry {
            sha256,
            allow: vec![Permission::Ask],
            collections: names(&["handbook", "team-*"]),
            graphs: names(&["plain-rag", "self-rag"]),
            rate: None,
            model_calls_per_day: None,
            tokens_per_day: None,
        };
        change(&mut entry);
        self.file.add(name, entry).unwrap();
        key
    }

    async fn start(&self, services: Scripted, flags: &[&str]) -> Running {
        let path: PathBuf = self.folder.path().join("keys.toml");
        self.file.write(&path).unwrap();
        let flags = [&["--keys-file", path.to_str().unwrap()], flags].concat();
        Running::with(services, &flags).await
    }
}

fn with<T>(key: &Secret, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let value = format!("Bearer {}", key.reveal()).parse().unwrap();
    request.metadata_mut().insert("authorization", value);
    request
}

async fn ask(running: &mut Running, key: &Secret, question: v1::Question) -> Result<v1::WalkResult, Status> {
    let request = v1::AskRequest {
        question: Some(question),
    };
    let answer = running.client.ask(with(key, request)).await?;
    Ok(answer.into_inner().result.unwrap())
}

fn of(collection: &str, graph: &str) -> v1::Question {
    v1::Question {
        collection: collection.to_owned(),
        graph: graph.to_owned(),
        ..question(QUESTION)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_asks_of_its_collections_by_its_graphs_and_of_no_others() {
    let mut guarded = Guarded::new();
    let app = guarded.key("app", |_| {});
    let mut running = guarded.start(Scripted::default(), &[]).await;
    for collection in ["handbook", "team-a"] {
        let result = ask(&mut running, &app, of(collection, "plain-rag")).await.unwrap();
        assert!(result.answer.starts_with("Answer"), "{}", result.answer);
    }
    // The default ones are names like any other.
    for (collection, graph, denied) in [
        ("payroll", "plain-rag", "collection \"payroll\""),
        ("", "plain-rag", "collection \"default\""),
        ("handbook", "corrective-rag", "graph \"corrective-rag\""),
        ("handbook", "", "graph \"self-corrective-rag\""),
        ("handbook", "no-such-graph", "graph \"no-such-graph\""),
    ] {
        let status = ask(&mut running, &app, of(collection, graph)).await.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
        let expected = format!("key \"app\" may not use {denied}");
        assert!(status.message().starts_with(&expected), "{status:?}");
    }
    let status = running.ask(of("handbook", "plain-rag")).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);

    let listed = running
        .client
        .list_graphs(with(&app, v1::ListGraphsRequest {}))
        .await
        .unwrap();
    let names: Vec<_> = listed.into_inner().graphs.into_iter().map(|graph| graph.name).collect();
    assert_eq!(names, ["plain-rag", "self-rag"]);
    let name = "corrective-rag".to_owned();
    let status = running
        .client
        .get_graph(with(&app, v1::GetGraphRequest { name }))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_is_replayed_over_the_wire_on_graphs_that_the_key_is_for() {
    let mut guarded = Guarded::new();
    let app = guarded.key("app", |_| {});
    let mut running = guarded.start(Scripted::default(), &[]).await;
    let plain = ask(&mut running, &app, of("handbook", "plain-rag")).await.unwrap();
    assert!(plain.record.is_none(), "nobody asked for a record");
    let recorded = v1::Question {
        record: true,
        ..of("handbook", "plain-rag")
    };
    let walk = ask(&mut running, &app, recorded).await.unwrap();
    let mut replay = async |graph: &str| {
        let request = v1::ReplayWalkRequest {
            walk: Some(walk.clone()),
            graph: graph.to_owned(),
            ..v1::ReplayWalkRequest::default()
        };
        running.client.replay_walk(with(&app, request)).await
    };
    let replayed = replay("").await.unwrap().into_inner();
    assert_eq!((&replayed.turn, &replayed.end), (&None, &None));
    assert_eq!(replay("self-rag").await.unwrap().into_inner().turn.unwrap().step, 1);
    let status = replay("corrective-rag").await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_see_all_collections_learns_the_names_of_none() {
    let mut guarded = Guarded::new();
    let app = guarded.key("app", |_| {});
    let all = guarded.key("all", |entry| {
        entry.collections = vec!["*".parse().unwrap()];
        entry.graphs = vec!["*".parse().unwrap()];
    });
    let unknown = Scripted::default().retrieve(|request| {
        let message = format!("unknown collection {:?}: known are payroll", request.collection);
        Err(Failure::new(Dependency::Retriever, emend_core::Code::NotFound, message))
    });
    let mut running = guarded.start(unknown, &[]).await;
    let asked = || of("team-b", "plain-rag");
    let status = ask(&mut running, &all, asked()).await.unwrap_err();
    assert!(status.message().contains("payroll"), "{status:?}");
    let status = ask(&mut running, &app, asked()).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert!(!format!("{status:?}").contains("payroll"), "{status:?}");
    let request = v1::AskStreamRequest {
        question: Some(asked()),
    };
    let mut events = running
        .client
        .ask_stream(with(&app, request))
        .await
        .unwrap()
        .into_inner();
    let status = loop {
        match events.message().await {
            Ok(event) => assert!(event.is_some(), "it ended well"),
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::NotFound);
    assert!(!format!("{status:?}").contains("payroll"), "{status:?}");
    // Graphs too.
    let wide = ask(&mut running, &all, of("x", "no-such-graph")).await.unwrap_err();
    assert!(wide.message().contains("corrective-rag"), "{wide:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_of_ones_own_takes_a_permission_and_a_switch() {
    let mut guarded = Guarded::new();
    let app = guarded.key("app", |_| {});
    let author = guarded.key("author", |entry| entry.allow.push(Permission::GraphYaml));
    let own = || {
        let yaml = include_str!("../../../graphs/plain-rag.yaml");
        v1::Question {
            graph_yaml: yaml.to_owned(),
            ..of("handbook", "")
        }
    };
    let mut running = guarded.start(Scripted::default(), &[]).await;
    let status = ask(&mut running, &app, own()).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    assert!(status.message().contains("graph-yaml"), "{status:?}");
    ask(&mut running, &author, own()).await.unwrap();
    running.stop().await;

    let mut running = guarded.start(Scripted::default(), &["--graph-yaml", "false"]).await;
    let status = ask(&mut running, &author, own()).await.unwrap_err();
    assert!(status.message().contains("--graph-yaml true"), "{status:?}");
    let check = v1::ValidateGraphRequest {
        yaml: "nodes: {}".to_owned(),
        ..v1::ValidateGraphRequest::default()
    };
    let status = running.client.validate_graph(with(&author, check)).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_day_may_cost_ends_walks_and_then_refuses_them() {
    let mut guarded = Guarded::new();
    let calls = guarded.key("calls", |entry| entry.model_calls_per_day = Some(6));
    let tokens = guarded.key("tokens", |entry| entry.tokens_per_day = Some(1));
    let free = guarded.key("free", |_| {});
    let services = Scripted::default()
        .grade_usefulness(|_| Ok(useful(false)))
        .generate_nth(|number| v1::GenerateFinished {
            usage: Some(v1::Usage {
                model_calls: 1,
                input_tokens: 50,
                output_tokens: 10,
            }),
            ..answer(&format!("Answer {number}."))
        });
    let mut running = guarded.start(services, &[]).await;
    let asked = || of("handbook", "self-rag");
    // Of the calls a step may need more than is left, while something is; then the walk ends with what it has.
    let result = ask(&mut running, &calls, asked()).await.unwrap();
    assert_eq!(result.exhausted(), v1::Limit::ModelCalls, "{}", result.reason);
    assert!(
        result.reason.contains("the budget of the day leaves"),
        "{}",
        result.reason
    );
    let spent = u64::from(result.usage.unwrap().model_calls);
    assert!((1..=6).contains(&spent), "{spent}");

    let result = ask(&mut running, &tokens, asked()).await.unwrap();
    assert_eq!(result.exhausted(), v1::Limit::Tokens);
    assert!(result.reason.contains("tokens of the day"), "{}", result.reason);
    let refused = ask(&mut running, &tokens, asked()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert!(
        refused
            .message()
            .contains("key \"tokens\" has used its 1 tokens of the day"),
        "{refused:?}"
    );
    assert!(refused.get_details_retry_info().unwrap().retry_delay.is_some());
    ask(&mut running, &free, asked()).await.unwrap();
    running.stop().await;
}
