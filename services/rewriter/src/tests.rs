//! The service over real sockets, through the generated client.

mod condense;

use std::time::Duration;

use clap::Parser;
use emend_chassis::ServeError;
use emend_core::Scope;
use emend_proto::v1::rewriter_service_client::RewriterServiceClient;
use emend_proto::v1::{RewritePurpose, RewriteRequest};
use emend_testkit::in_process::InProcess;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic::transport::Channel;
use tonic_types::StatusExt;

use super::*;
use crate::backend::Rewritten;

/// A hang, not a slow machine.
const HANG: Duration = Duration::from_secs(60);

struct Running {
    client: RewriterServiceClient<Channel>,
    service: InProcess,
}

impl Running {
    async fn start<F>(serve: impl FnOnce(TcpListener, CancellationToken) -> F) -> Self
    where
        F: Future<Output = Result<(), ServeError>> + Send + 'static,
    {
        let service = InProcess::start(serve).await;
        Self {
            client: RewriterServiceClient::new(service.channel.clone()),
            service,
        }
    }

    async fn stop(self) {
        drop(self.client);
        self.service.stop().await;
    }
}

fn request(question: &str) -> RewriteRequest {
    RewriteRequest {
        question: question.to_owned(),
        purpose: RewritePurpose::Retrieval.into(),
        ..RewriteRequest::default()
    }
}

#[tokio::test]
async fn queries_change_until_there_is_no_other() {
    let running = Running::start(|listener, shutdown| serve(Options::default(), listener, shutdown).boxed()).await;
    let mut request = request("Boiler of the mill?");
    let mut client = running.client.clone();
    loop {
        let response = client.rewrite(request.clone()).await.unwrap().into_inner();
        assert_eq!(response.usage.map(|usage| usage.model_calls), Some(0));
        if response.query.is_empty() {
            break;
        }
        assert!(!request.failed_queries.contains(&response.query));
        request.failed_queries.push(response.query);
    }
    assert!(request.failed_queries.len() > 2, "{:?}", request.failed_queries);
    running.stop().await;
}

#[tokio::test]
async fn every_bad_field_is_named_in_one_answer() {
    let running = Running::start(|listener, shutdown| serve(Options::default(), listener, shutdown).boxed()).await;
    let said = emend_proto::v1::ChatMessage {
        role: emend_proto::v1::chat_message::Role::User.into(),
        ..emend_proto::v1::ChatMessage::default()
    };
    let nobody = emend_proto::v1::ChatMessage::default();
    let bad = RewriteRequest {
        failed_queries: vec![String::new(); 51],
        history: [vec![nobody], vec![said; 50]].concat(),
        passages: vec![emend_proto::v1::Passage::default(); 21],
        max_tokens: Some(0),
        ..RewriteRequest::default()
    };
    let status = running.client.clone().rewrite(bad).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let details = status.get_error_details();
    let fields: Vec<_> = details
        .bad_request()
        .unwrap()
        .field_violations
        .iter()
        .map(|v| v.field.as_str())
        .collect();
    let expected = [
        "question",
        "failed_queries",
        "purpose",
        "history",
        "history[0].role",
        "passages",
        "max_tokens",
    ];
    assert_eq!(fields, expected);
    running.stop().await;
}

#[tokio::test]
async fn a_backend_without_a_model_does_not_start() {
    let fallback = ["--llm-fallback", "http://a#b"];
    for (backend, flags, words) in [
        ("llm", &[][..], "give --llm-url"),
        ("llm", &fallback, "`http://a#b` would never be called"),
        ("keywords", &fallback, "`http://a#b` would never be called"),
    ] {
        let options = Options::parse_from([&["emend-rewriter", "--backend", backend], flags].concat());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let error = serve(options, listener, CancellationToken::new()).await.unwrap_err();
        let error = emend_core::error_chain(&error);
        assert!(error.contains(words), "{backend}: {error}");
    }
}

/// Answers when it is let, says when it has been asked, and when it was dropped.
struct Held {
    asked: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
    dropped: CancellationToken,
}

impl Backend for Held {
    fn name(&self) -> &'static str {
        "held"
    }

    fn rewrite(&self, _request: RewriteRequest, _scope: Scope) -> BoxFuture<'_, Result<Rewritten, RewriteError>> {
        async move {
            let _gone = self.dropped.clone().drop_guard();
            self.asked.add_permits(1);
            self.let_go.acquire().await.unwrap().forget();
            Ok(Rewritten {
                query: "q".to_owned(),
                ..Rewritten::default()
            })
        }
        .boxed()
    }
}

async fn held(max_in_flight: usize) -> (Running, Arc<Semaphore>, Arc<Semaphore>, CancellationToken) {
    let (asked, let_go, dropped) = (
        Arc::new(Semaphore::new(0)),
        Arc::new(Semaphore::new(0)),
        CancellationToken::new(),
    );
    let backend = Arc::new(Held {
        asked: Arc::clone(&asked),
        let_go: Arc::clone(&let_go),
        dropped: dropped.clone(),
    });
    let options = ServiceOptions {
        max_in_flight,
        ..ServiceOptions::default()
    };
    let running = Running::start(move |listener, shutdown| {
        async move { serve_backend(backend, &options, listener, shutdown).await }.boxed()
    })
    .await;
    (running, asked, let_go, dropped)
}

#[tokio::test]
async fn one_rewrite_too_many_is_told_to_come_back() {
    let (running, asked, let_go, _) = held(1).await;
    let mut client = running.client.clone();
    let first = tokio::spawn(async move { client.rewrite(request("first")).await });
    tokio::time::timeout(HANG, asked.acquire())
        .await
        .unwrap()
        .unwrap()
        .forget();
    let status = running.client.clone().rewrite(request("second")).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.get_error_details().retry_info().is_some());
    let_go.add_permits(1);
    assert_eq!(
        tokio::time::timeout(HANG, first)
            .await
            .unwrap()
            .unwrap()
            .unwrap()
            .into_inner()
            .query,
        "q"
    );
    running.stop().await;
}

#[tokio::test]
async fn work_stops_when_the_caller_is_gone() {
    let (running, asked, _let_go, dropped) = held(1).await;
    let mut client = running.client.clone();
    let call = tokio::spawn(async move { client.rewrite(request("first")).await });
    tokio::time::timeout(HANG, asked.acquire())
        .await
        .unwrap()
        .unwrap()
        .forget();
    call.abort();
    tokio::time::timeout(HANG, dropped.cancelled()).await.unwrap();
    running.stop().await;
}
