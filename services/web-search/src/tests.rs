//! The service over real sockets, through the generated client.

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use emend_chassis::ServeError;
use emend_core::Scope;
use emend_proto::v1::web_search_service_client::WebSearchServiceClient;
use emend_proto::v1::{Origin, SearchRequest};
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
use crate::backend::{Search, SearchResults};

/// A hang, not a slow machine.
const HANG: Duration = Duration::from_secs(60);

struct Running {
    client: WebSearchServiceClient<Channel>,
    service: InProcess,
}

impl Running {
    async fn start<F>(serve: impl FnOnce(TcpListener, CancellationToken) -> F) -> Self
    where
        F: Future<Output = Result<(), ServeError>> + Send + 'static,
    {
        let service = InProcess::start(serve).await;
        Self {
            client: WebSearchServiceClient::new(service.channel.clone()),
            service,
        }
    }

    async fn with(arguments: &[&str]) -> Self {
        let options = Options::parse_from([&["emend-web-search"], arguments].concat());
        Self::start(|listener, shutdown| serve(options, listener, shutdown).boxed()).await
    }

    async fn stop(self) {
        drop(self.client);
        self.service.stop().await;
    }
}

fn request(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        ..SearchRequest::default()
    }
}

#[tokio::test]
async fn saved_pages_are_found_over_the_wire() {
    let saved = tempfile::tempdir().unwrap();
    std::fs::write(
        saved.path().join("a.md"),
        "---\nurl: https://a.example/k\n---\n# Kettles\n\nKettles boil water.",
    )
    .unwrap();
    std::fs::write(saved.path().join("ko.txt"), "주전자는 물을 끓이는 그릇이다.").unwrap();
    let running = Running::with(&["--folder", saved.path().to_str().unwrap()]).await;
    let response = running
        .client
        .clone()
        .search(request("kettle"))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(response.provider, "folder");
    assert_eq!(response.passages.len(), 1);
    assert_eq!(response.passages[0].source, "https://a.example/k");
    assert_eq!(response.passages[0].origin(), Origin::Web);
    let response = running
        .client
        .clone()
        .search(request("물을 끓이는 것은 무엇인가요?"))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(response.passages[0].title, "ko");
    let response = running
        .client
        .clone()
        .search(request("violin"))
        .await
        .unwrap()
        .into_inner();
    assert!(response.passages.is_empty());
    running.stop().await;
}

#[tokio::test]
async fn without_a_provider_the_error_says_how_to_have_one() {
    let running = Running::with(&["--web-provider", "none"]).await;
    let status = running.client.clone().search(request("kettle")).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(
        status.message().contains("--folder") && status.message().contains("EMEND_WEB_FOLDER"),
        "{}",
        status.message()
    );
    running.stop().await;
}

#[tokio::test]
async fn every_bad_field_is_named_in_one_answer() {
    let running = Running::with(&["--web-provider", "none"]).await;
    let bad = SearchRequest {
        query: String::new(),
        max_results: Some(51),
        allowed_domains: vec!["https://a.example".to_owned()],
        blocked_domains: vec![],
    };
    let status = running.client.clone().search(bad).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let details = status.get_error_details();
    let fields: Vec<_> = details
        .bad_request()
        .unwrap()
        .field_violations
        .iter()
        .map(|v| v.field.as_str())
        .collect();
    assert_eq!(fields, ["query", "max_results", "allowed_domains[0]"]);
    running.stop().await;
}

#[tokio::test]
async fn a_service_whose_folder_is_missing_does_not_start() {
    for (arguments, named) in [
        (vec!["--folder", "/nowhere/pages"], "/nowhere/pages"),
        (vec!["--web-provider", "folder"], "EMEND_WEB_FOLDER"),
    ] {
        let options = Options::parse_from([vec!["emend-web-search"], arguments].concat());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let error = serve(options, listener, CancellationToken::new()).await.unwrap_err();
        assert!(emend_core::error_chain(&error).contains(named), "{error}");
    }
}

#[tokio::test]
async fn a_service_that_is_told_to_stop_does_not_read_its_folder_first() {
    // Reading it would be an error.
    let options = Options::parse_from(["emend-web-search", "--folder", "/nowhere/pages"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let shutdown = CancellationToken::new();
    shutdown.cancel();
    tokio::time::timeout(HANG, serve(options, listener, shutdown))
        .await
        .unwrap()
        .unwrap();
}

/// Answers when it is let, and says when it has been asked.
struct Held {
    asked: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
}

impl Provider for Held {
    fn name(&self) -> &'static str {
        "held"
    }

    fn search(&self, _search: Search, _scope: Scope) -> BoxFuture<'_, Result<SearchResults, SearchError>> {
        async move {
            self.asked.add_permits(1);
            self.let_go.acquire().await.unwrap().forget();
            Ok(SearchResults {
                provider: self.name(),
                ..SearchResults::default()
            })
        }
        .boxed()
    }
}

#[tokio::test]
async fn one_search_too_many_is_told_to_come_back() {
    let (asked, let_go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let provider = Arc::new(Held {
        asked: Arc::clone(&asked),
        let_go: Arc::clone(&let_go),
    });
    let options = ServiceOptions {
        max_in_flight: 1,
        ..ServiceOptions::default()
    };
    let running = Running::start(|listener, shutdown| {
        async move { serve_provider(provider, &options, listener, shutdown).await }.boxed()
    })
    .await;
    let mut client = running.client.clone();
    let first = tokio::spawn(async move { client.search(request("kettle")).await });
    tokio::time::timeout(HANG, asked.acquire())
        .await
        .unwrap()
        .unwrap()
        .forget();
    let status = running.client.clone().search(request("kettle")).await.unwrap_err();
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
            .provider,
        "held"
    );
    running.stop().await;
}
