use super::*;
use crate::tls::ServerTlsOptions;

#[test]
fn beyond_this_machine_a_service_needs_both_or_the_word_of_its_user() {
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 50051));
    let here = SocketAddr::from(([127, 0, 0, 1], 50051));
    let open = ServiceOptions::default();
    refuse_exposed(&open, here).unwrap();
    let error = refuse_exposed(&open, everywhere).unwrap_err().to_string();
    for part in [
        "0.0.0.0:50051",
        "--tls-cert",
        "--keys-file",
        "--insecure",
        "EMEND_INSECURE",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let insecure = ServiceOptions {
        insecure: true,
        ..open.clone()
    };
    refuse_exposed(&insecure, everywhere).unwrap();

    let keys = ServiceOptions {
        keys_file: Some("keys.toml".into()),
        ..open.clone()
    };
    assert_eq!(refuse_exposed(&keys, everywhere).unwrap_err().lacking.len(), 1);
    let encrypted = ServerTlsOptions {
        tls_cert: Some("cert.pem".into()),
        tls_key: Some("key.pem".into()),
        tls_client_ca: None,
    };
    let tls = |tls, keys_file| ServiceOptions {
        tls,
        keys_file,
        ..open.clone()
    };
    let error = refuse_exposed(&tls(encrypted.clone(), None), everywhere).unwrap_err();
    assert!(!error.to_string().contains("--tls-cert"), "{error}");
    refuse_exposed(&tls(encrypted.clone(), Some("keys.toml".into())), everywhere).unwrap();
    let mutual = ServerTlsOptions {
        tls_client_ca: Some("ca.pem".into()),
        ..encrypted
    };
    refuse_exposed(&tls(mutual, None), everywhere).unwrap();
}
