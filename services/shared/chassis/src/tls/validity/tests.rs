use super::*;
use crate::tests::certificates::Authority;
use crate::tls::{ClientTls, ClientTlsOptions, ServerTls, ServerTlsOptions};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn a_certificate_is_to_be_renewed_two_weeks_before_its_end() {
    let validity = Validity {
        from: at("2026-01-01T00:00:00Z"),
        until: at("2026-03-31T12:00:00Z"),
    };
    let said = |now: &str| validity.renewal(at(now)).map(|renewal| renewal.to_string());
    assert_eq!(said("2026-03-17T11:59:59Z"), None);
    assert_eq!(
        said("2026-03-17T12:00:01Z").as_deref(),
        Some("the certificate ends at 2026-03-31T12:00:00Z, in 13 days")
    );
    assert_eq!(
        said("2026-03-31T11:00:00Z").as_deref(),
        Some("the certificate ends at 2026-03-31T12:00:00Z, within a day")
    );
    assert!(
        said("2026-03-31T12:00:01Z")
            .unwrap()
            .contains("ended at 2026-03-31T12:00:00Z")
    );
    assert!(
        said("2025-12-31T23:00:00Z")
            .unwrap()
            .contains("check this machine's clock")
    );
}

#[test]
fn a_chain_is_valid_as_long_as_all_of_it() {
    let authority = Authority::new();
    let (good, expired) = (authority.sign("good", &["a"]), authority.sign_expired("old", &["a"]));
    let server = |certificate| {
        ServerTls::load(&ServerTlsOptions {
            tls_cert: Some(certificate),
            tls_key: Some(good.key.clone()),
            ..ServerTlsOptions::default()
        })
    };
    assert_eq!(
        server(good.certificate.clone())
            .unwrap()
            .unwrap()
            .validity()
            .renewal(Timestamp::now()),
        None
    );
    // The server's own certificate is good; the one between it and its authority is not.
    let chain = authority.path("chain.pem");
    let read = |path| std::fs::read_to_string(path).unwrap();
    std::fs::write(&chain, read(&good.certificate) + &read(&expired.certificate)).unwrap();
    let ended = Renewal::Expired(at("2002-01-01T00:00:00Z"));
    assert_eq!(
        server(chain).unwrap().unwrap().validity().renewal(Timestamp::now()),
        Some(ended)
    );

    let client = ClientTls::load(&ClientTlsOptions {
        ca: Some(authority.file()),
        client_cert: Some(expired.certificate),
        client_key: Some(expired.key),
    });
    assert_eq!(
        client
            .unwrap()
            .validity()
            .and_then(|validity| validity.renewal(Timestamp::now())),
        Some(ended)
    );
    assert_eq!(authority.client().validity(), None);
}
