//! Keys in front of a real server.

use std::time::Duration;

use emend_core::{Deadline, Reason, Secret};
use emend_proto::v1::SearchRequest;
use emend_proto::v1::web_search_service_client::WebSearchServiceClient;
use tempfile::TempDir;
use tonic::transport::Channel;
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_types::StatusExt as _;

use super::*;
use crate::client::{ApiKey, Upstream, UpstreamOptions};
use crate::config::ServiceOptions;
use crate::keys::{KeyEntry, KeysFile, Pattern, new_key};
use crate::tests::fixture::{Running, search};

/// A server with one key, which may do this at this rate.
async fn server(allow: Vec<Permission>, rate: Option<&str>, reflection: bool) -> (Running, Secret, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    let (key, sha256) = new_key().unwrap();
    let mut file = KeysFile::default();
    let entry = KeyEntry {
        sha256,
        allow,
        collections: vec![Pattern::all()],
        graphs: vec![Pattern::all()],
        rate: rate.map(|rate| rate.parse().unwrap()),
        model_calls_per_day: None,
        tokens_per_day: None,
    };
    file.add("app", entry).unwrap();
    file.write(&path).unwrap();
    let options = ServiceOptions {
        keys_file: Some(path),
        reflection,
        ..ServiceOptions::default()
    };
    (Running::start("one", options).await, key, folder)
}

fn with(authorization: &str) -> Request<SearchRequest> {
    let mut request = Request::new(search("who"));
    request
        .metadata_mut()
        .insert("authorization", authorization.parse().unwrap());
    request
}

async fn refused(client: &mut WebSearchServiceClient<Channel>, request: Request<SearchRequest>) -> Status {
    client.search(request).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_needs_a_key_that_is_known() {
    let (server, key, _folder) = server(vec![Permission::Ask], None, true).await;
    let mut client = server.client().await;
    let key = key.reveal();
    for request in [
        Request::new(search("who")),
        with("Basic YTpi"),
        with("Bearer"),
        with("Bearer "),
        with("Bearer emend_guess"),
        with(key),
        with(&format!("Bearer {key}x")),
        with(&format!("Bearer {}", &key[..key.len() - 1])),
    ] {
        let status = refused(&mut client, request).await;
        assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
        assert!(status.message().contains("EMEND_API_KEY"), "{status:?}");
        assert!(!format!("{status:?}").contains(&key[..20]), "{status:?}");
        let known = status.message().contains("not known");
        let reason = if known { Reason::KeyUnknown } else { Reason::KeyMissing };
        assert_eq!(crate::reason_of(&status), reason);
    }
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let answer = client.search(with(&format!("{scheme} {key}"))).await.unwrap();
        assert_eq!(answer.into_inner().provider, "one");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn our_client_sends_its_key_with_every_call_that_has_none() {
    let (server, key, _folder) = server(vec![Permission::Ask], None, true).await;
    let options = UpstreamOptions {
        api_key: Some(ApiKey::fixed(&key).unwrap()),
        ..UpstreamOptions::default()
    };
    let upstream = Upstream::with_options(&format!("http://{}", server.address), options).unwrap();
    let mut client = WebSearchServiceClient::new(upstream.channel());
    let request = crate::client::request(search("who"), Deadline::after(Duration::from_secs(60)));
    assert_eq!(client.search(request).await.unwrap().into_inner().provider, "one");
    // One that forwards the key of somebody else is that somebody.
    let status = client.search(with("Bearer emend_other")).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_without_the_permission_is_denied_by_its_name() {
    let (server, key, _folder) = server(vec![Permission::Ingest], None, true).await;
    let request = with(&format!("Bearer {}", key.reveal()));
    let status = refused(&mut server.client().await, request).await;
    assert_eq!(status.code(), Code::PermissionDenied);
    assert!(status.message().contains("key \"app\" may not ask"), "{status:?}");
    assert_eq!(crate::reason_of(&status), Reason::KeyNotAllowed);
    assert_eq!(status.get_details_error_info().unwrap().metadata["key"], "app");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_above_the_rate_are_refused_with_the_time_to_come_back() {
    let (server, key, _folder) = server(vec![Permission::Ask], Some("2/h"), true).await;
    let mut client = server.client().await;
    let request = || with(&format!("Bearer {}", key.reveal()));
    for _ in 0..2 {
        client.search(request()).await.unwrap();
    }
    let status = refused(&mut client, request()).await;
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert_eq!(crate::reason_of(&status), Reason::KeyRateExceeded);
    let delay = status.get_details_retry_info().unwrap().retry_delay.unwrap();
    assert!(delay > Duration::from_secs(60), "{delay:?}");
}

async fn reflects(server: &Running, key: Option<&Secret>) -> Result<(), Status> {
    let mut reflection = ServerReflectionClient::new(server.connect().await);
    let mut request = Request::new(futures::stream::iter([ServerReflectionRequest::default()]));
    if let Some(key) = key {
        let value = format!("Bearer {}", key.reveal()).parse().unwrap();
        request.metadata_mut().insert("authorization", value);
    }
    let mut answers = reflection.server_reflection_info(request).await?.into_inner();
    answers.message().await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_open_and_reflection_takes_any_key_and_can_be_switched_off() {
    let (server_of_all, key, _folder) = server(vec![], None, true).await;
    let mut health = HealthClient::new(server_of_all.connect().await);
    health.check(HealthCheckRequest::default()).await.unwrap();
    let status = reflects(&server_of_all, None).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    // What is asked is no question that reflection answers, and so it is asked.
    let known = reflects(&server_of_all, Some(&key)).await;
    assert_ne!(known.err().map(|status| status.code()), Some(Code::Unauthenticated));

    let (without, key, _folder) = server(vec![], None, false).await;
    let status = reflects(&without, Some(&key)).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented, "{status:?}");
}
