//! Who may use a server, and which server is trusted: API keys and TLS.

use std::error::Error;

use emend_core::{Code, Secret, ServiceError, error_chain};
use emend_retriever::backend::qdrant::{QdrantSettings, QdrantStore};
use emend_retriever::backend::{StoreError, Unit, VectorStore};
use emend_test_qdrant::{Access, Authority, Server};

use crate::subject::{Qdrant, dense, document, embedder, places};

const KEY: &str = "pl4nted-k3y";
const GUESS: &str = "pl4nted-gu3ss";

/// A store on a stand-in at `url`.
fn store(url: &str, key: Option<&str>, certificates: Option<String>) -> QdrantStore {
    let settings = QdrantSettings {
        url: url.to_owned(),
        api_key: key.map(|key| Secret::from(key.to_owned())),
        certificates: certificates.map(String::into_bytes),
        ..Qdrant::settings()
    };
    QdrantStore::new(settings).unwrap()
}

/// Everything that can be read of an error.
fn told(error: &(impl Error + 'static)) -> String {
    format!("{error} {error:?} {error:#?} {}", error_chain(error))
}

/// What each kind of operation ends with.
async fn errors(store: &QdrantStore) -> Vec<StoreError> {
    let new = document("a", 1, &[("words", 1)]);
    vec![
        store.probe().await.unwrap_err(),
        store.collections().await.unwrap_err(),
        store.embedder("notes").await.unwrap_err(),
        store.stored("notes", "a").await.unwrap_err(),
        store.put("notes", &embedder(), new).await.unwrap_err(),
        store.delete("notes", vec!["a".to_owned()]).await.unwrap_err(),
        store.search("notes", dense(1, 1, Unit::Chunk)).await.unwrap_err(),
        store.delete_collection("notes").await.unwrap_err(),
        store.draft("notes").await.unwrap_err(),
        store.repair("notes").await.unwrap_err(),
    ]
}

async fn works(store: &QdrantStore) {
    store.probe().await.unwrap();
    let new = document("a", 1, &[("words", 1)]);
    store.put("notes", &embedder(), new).await.unwrap();
    let hits = store.search("notes", dense(1, 1, Unit::Chunk)).await.unwrap();
    assert_eq!(places(&hits), [("a", 0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_key_every_operation_is_refused_and_no_error_tells_it() {
    let access = Access {
        key: Some(KEY.to_owned()),
        ..Access::default()
    };
    let (_server, url) = Server::start_for(access).await;
    works(&store(&url, Some(KEY), None)).await;
    for key in [None, Some(""), Some(GUESS)] {
        for error in errors(&store(&url, key, None)).await {
            let told = told(&error);
            assert!(matches!(error, StoreError::Refused { .. }), "{key:?}: {told}");
            assert_eq!(error.code(), Code::FailedPrecondition);
            for part in [&url, "refuses this service", "EMEND_QDRANT_API_KEY"] {
                assert!(told.contains(part), "{told}");
            }
            assert!(!told.contains(GUESS) && !told.contains(KEY), "{told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_certificate_is_used_where_its_authority_is_trusted() {
    let (authority, stranger) = (Authority::new("ours"), Authority::new("theirs"));
    let access = Access {
        key: Some(KEY.to_owned()),
        identity: Some(authority.sign("127.0.0.1")),
    };
    let (_server, url) = Server::start_for(access).await;
    assert!(url.starts_with("https://"), "{url}");
    works(&store(&url, Some(KEY), Some(authority.pem()))).await;
    let refused = store(&url, Some(GUESS), Some(authority.pem()))
        .probe()
        .await
        .unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused}");

    for certificates in [None, Some(stranger.pem())] {
        for error in errors(&store(&url, Some(KEY), certificates)).await {
            let told = told(&error);
            assert!(matches!(error, StoreError::Untrusted { .. }), "{told}");
            assert_eq!(error.code(), Code::FailedPrecondition);
            for part in [&url, "certificate", "UnknownIssuer", "--qdrant-ca-file"] {
                assert!(told.contains(part), "{told}");
            }
            assert!(!told.contains(KEY), "{told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_for_another_name_and_a_server_without_one_are_not_trusted() {
    let authority = Authority::new("ours");
    let access = Access {
        identity: Some(authority.sign("qdrant.example")),
        ..Access::default()
    };
    let (_named, elsewhere) = Server::start_for(access).await;
    let (_plain, plain) = Server::start().await;
    for url in [elsewhere, plain.replace("http://", "https://")] {
        let error = store(&url, Some(KEY), Some(authority.pem())).probe().await.unwrap_err();
        assert!(matches!(error, StoreError::Untrusted { .. }), "{error:?}");
        assert!(!told(&error).contains(KEY), "{error:?}");
    }
    // In plain text towards a server that expects TLS: it closes the connection, or says so in TLS.
    let access = Access {
        identity: Some(authority.sign("127.0.0.1")),
        ..Access::default()
    };
    let (_server, url) = Server::start_for(access).await;
    let url = url.replace("https://", "http://");
    let error = store(&url, Some(KEY), None).probe().await.unwrap_err();
    assert!(
        matches!(error, StoreError::Unreachable { .. }) && error.to_string().contains("--qdrant-url"),
        "{error:?}"
    );
    assert!(!told(&error).contains(KEY), "{error:?}");
}
