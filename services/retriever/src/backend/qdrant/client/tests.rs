use super::*;

fn settings(url: &str) -> QdrantSettings {
    QdrantSettings {
        url: url.to_owned(),
        api_key: None,
        certificates: None,
        timeout: Duration::from_secs(2),
        prefix: String::new(),
        layout: Default::default(),
        timing: Default::default(),
    }
}

#[test]
fn versions_are_compared_as_numbers() {
    for (version, enough) in [
        ("1.17.0", true),
        ("v1.17.1", true),
        ("1.100.0-dev", true),
        ("2.0.0", true),
        ("1.16.9", false),
        ("1.9.0", false),
        ("0.99.0", false),
        ("", false),
        ("unknown", false),
    ] {
        assert_eq!(new_enough(version), enough, "{version:?}");
    }
}

#[tokio::test]
async fn what_is_no_address_is_refused_without_its_secrets() {
    for url in ["", "qdrant:6334", "ftp://qdrant", "http://", "http://me:secret@"] {
        let error = Client::new(&settings(url)).unwrap_err().to_string();
        assert!(error.contains("--qdrant-url") && !error.contains("secret"), "{error}");
    }
    let key = Secret::from("line\nbreak".to_owned());
    let refused = Client::new(&QdrantSettings {
        api_key: Some(key),
        ..settings("http://qdrant:6334")
    });
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("API key") && !error.contains("break"), "{error}");
    assert!(Client::new(&settings("https://qdrant:6334")).is_ok());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_what_to_do() {
    // A port that nobody listens on.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://user:secret@{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::new(&settings(&url)).unwrap();
    let error = client.check().await.unwrap_err();
    assert_eq!(emend_core::ServiceError::code(&error), emend_core::Code::Unavailable);
    let error = error.to_string();
    for part in ["Qdrant at http://127.0.0.1:", "does not answer", "--qdrant-url"] {
        assert!(error.contains(part), "{error}");
    }
    assert!(!error.contains("secret"), "{error}");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_left_after_the_time_limit() {
    // The operating system accepts; nobody answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let client = Client::new(&QdrantSettings {
        timeout: Duration::from_millis(50),
        ..settings(&url)
    })
    .unwrap();
    let error = client.check().await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
}

#[test]
fn debug_shows_no_key() {
    let key = Secret::from("top-secret".to_owned());
    let shown = format!(
        "{:?} {:?}",
        header(&key).unwrap(),
        QdrantSettings {
            api_key: Some(key),
            ..settings("http://qdrant:6334")
        }
    );
    assert!(!shown.contains("top-secret"), "{shown}");
}
