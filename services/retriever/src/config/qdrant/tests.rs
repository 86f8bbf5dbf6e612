use clap::Parser;

use super::*;
use crate::config::Options;

fn with(arguments: &[&str]) -> Result<QdrantOptions, clap::Error> {
    Options::try_parse_from([&["emend-retriever"], arguments].concat()).map(|options| options.qdrant)
}

#[test]
fn settings_are_those_of_the_options() {
    let settings = with(&[]).unwrap().settings().unwrap();
    assert_eq!(
        (settings.url.as_str(), settings.prefix.as_str()),
        ("http://127.0.0.1:6334", "emend-")
    );
    assert_eq!(
        (settings.timeout, settings.layout),
        (Duration::from_secs(10), Layout::default())
    );
    assert_eq!(Options::default().store, StoreChoice::Edge);
    let arguments = [
        "--qdrant-shards=3",
        "--qdrant-replication-factor=2",
        "--qdrant-write-consistency-factor=1",
        "--qdrant-on-disk",
        "--qdrant-scalar-quantization",
        "--qdrant-hnsw-m=32",
        "--qdrant-hnsw-ef-construct=200",
    ];
    let expected = Layout {
        shards: Some(3),
        replicas: Some(2),
        write_consistency: Some(1),
        on_disk: true,
        scalar_quantization: true,
        m: Some(32),
        ef_construct: Some(200),
    };
    assert_eq!(with(&arguments).unwrap().settings().unwrap().layout, expected);
}

#[test]
fn what_does_not_go_is_refused() {
    for argument in [
        "--qdrant-timeout=0",
        "--qdrant-timeout=31",
        "--qdrant-prefix=a/b",
        "--qdrant-hnsw-m=0",
        "--qdrant-shards=0",
    ] {
        assert!(with(&[argument]).is_err(), "{argument}");
    }
    let more = ["--qdrant-replication-factor=2", "--qdrant-write-consistency-factor=3"];
    let error = with(&more).unwrap().settings().unwrap_err().to_string();
    assert!(
        error.contains("3 is more than --qdrant-replication-factor 2"),
        "{error}"
    );
}

#[test]
fn keys_and_certificates_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let key = file("key", "top-secret\n");
    let options = with(&["--qdrant-api-key-file", &key]).unwrap();
    let settings = options.settings().unwrap();
    assert_eq!(settings.api_key.as_ref().map(Secret::reveal), Some("top-secret"));
    assert!(!format!("{options:?} {settings:?}").contains("top-secret"));
    for (option, text) in [("--qdrant-api-key-file", ""), ("--qdrant-ca-file", "no certificate")] {
        let wrong = file("wrong", text);
        let error = with(&[option, &wrong]).unwrap().settings().unwrap_err().to_string();
        assert!(error.contains(option) && error.contains("wrong"), "{error}");
    }
    let pem = file("ca", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    assert!(
        with(&["--qdrant-ca-file", &pem])
            .unwrap()
            .settings()
            .unwrap()
            .certificates
            .is_some()
    );
}
