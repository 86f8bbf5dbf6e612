//! TLS of the gateway, and keys at its edge.

use std::fs;

use emend_chassis::ServerTlsOptions;
use emend_chassis::keys::{KeyEntry, KeysFile, new_key};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::Value;

use crate::standin::Fixture;

#[tokio::test]
async fn a_request_needs_a_key_that_is_known_and_takes_it_along() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    let (key, sha256) = new_key().unwrap();
    let mut keys = KeysFile::default();
    let entry = KeyEntry {
        sha256,
        allow: vec![],
        collections: vec![],
        graphs: vec![],
        rate: None,
        model_calls_per_day: None,
        tokens_per_day: None,
    };
    keys.add("app", entry).unwrap();
    keys.write(&path).unwrap();
    let fixture = Fixture::start_with(|options| options.service.keys_file = Some(path)).await;
    for authorization in [None, Some("Bearer emend_guess"), Some("Basic YTpi")] {
        let request = fixture.get("/v1/collections");
        let request = match authorization {
            Some(value) => request.header("authorization", value),
            None => request,
        };
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 401);
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["code"], "UNAUTHENTICATED");
        assert!(
            problem["detail"].as_str().unwrap().contains("emend keys add"),
            "{problem}"
        );
    }
    assert_eq!(
        fixture.sent.last("authorization"),
        None,
        "it went further than the edge"
    );
    // What it may do is for the services to say.
    let bearer = format!("Bearer {}", key.reveal());
    let known = fixture.get("/v1/collections").header("authorization", &bearer);
    assert_eq!(known.send().await.unwrap().status(), 200);
    assert_eq!(fixture.sent.last("authorization"), Some(bearer));
    for open in ["/livez", "/readyz", "/openapi.json", "/"] {
        assert_eq!(fixture.get(open).send().await.unwrap().status(), 200, "{open}");
    }
}

#[tokio::test]
async fn with_a_certificate_it_speaks_tls_by_http_1_and_2() {
    let folder = tempfile::tempdir().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let (cert_file, key_file) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    fs::write(&cert_file, certificate.pem()).unwrap();
    fs::write(&key_file, key.serialize_pem()).unwrap();
    let fixture = Fixture::start_with(|options| {
        options.service.tls = ServerTlsOptions {
            tls_cert: Some(cert_file),
            tls_key: Some(key_file),
            tls_client_ca: None,
        };
    })
    .await;
    let url = format!("{}/v1/collections", fixture.url.replace("http:", "https:"));
    let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let client = |only_1: bool| {
        let builder = emend_core::http::builder().tls_certs_only([root.clone()]);
        let builder = if only_1 { builder.http1_only() } else { builder };
        builder.build().unwrap()
    };
    for (only_1, version) in [(true, reqwest::Version::HTTP_11), (false, reqwest::Version::HTTP_2)] {
        let response = client(only_1).get(&url).send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (200, version));
    }
    assert!(
        fixture.get("/v1/collections").send().await.is_err(),
        "it answers without TLS"
    );
}
