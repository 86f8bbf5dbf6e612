//! TLS between our own client and our own server, over real sockets.

use std::fs;
use std::sync::atomic::AtomicBool;

use futures::future::join_all;

use super::*;
use crate::tests::certificates::{Authority, Pair};
use crate::tls::{ClientTls, ServerTlsOptions};

const NAME: &str = "localhost";

/// Our client of a server on this machine, by the name `localhost`.
fn client(server: &Running, tls: ClientTls) -> Upstream {
    named(server, NAME, tls)
}

fn named(server: &Running, name: &str, tls: ClientTls) -> Upstream {
    let address = server.address;
    let options = UpstreamOptions {
        tls: Some(tls),
        resolver: Some(Arc::new(move |_: &str, _| async move { Ok(vec![address]) }.boxed())),
        ..UpstreamOptions::default()
    };
    Upstream::with_options(&format!("https://{name}:{}", address.port()), options).unwrap()
}

/// Why a call does not come through; it has a minute, and no failure here takes one.
async fn refused(upstream: &Upstream) -> String {
    let mut client = WebSearchServiceClient::new(upstream.channel());
    let request = request(search("who"), Deadline::after(Duration::from_secs(60)));
    let status = client.search(request).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    status.message().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_trusts_the_authority_gets_through_and_any_other_learns_why_not() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let server = Running::start("one", authority.sign("server", &[NAME]).service()).await;
    assert_eq!(who(&client(&server, authority.client())).await.unwrap(), "one");

    let message = refused(&client(&server, stranger.client())).await;
    assert!(
        message.contains("--ca") && message.contains("https://localhost"),
        "{message}"
    );
    // The authorities of the operating system know nothing of this one.
    let public = ClientTls::load(&ClientTlsOptions::default());
    if let Ok(public) = public {
        let message = refused(&client(&server, public)).await;
        assert!(message.contains("--ca"), "{message}");
    }
    let message = refused(&named(&server, "grader", authority.client())).await;
    assert!(message.contains("is for localhost, not for grader"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_has_expired_is_refused_and_said_so() {
    let authority = Authority::new();
    let server = Running::start("one", authority.sign_expired("server", &[NAME]).service()).await;
    let message = refused(&client(&server, authority.client())).await;
    assert!(
        message.contains("has expired") && message.contains("--tls-cert"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn with_an_authority_of_clients_only_those_with_its_certificates_get_through() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let pair = authority.sign("server", &[NAME]);
    let mut options = pair.service();
    options.tls.tls_client_ca = Some(authority.file());
    let server = Running::start("one", options).await;

    let mine = authority.sign("orchestrator", &["orchestrator"]);
    assert_eq!(
        who(&client(&server, authority.client_with(Some(&mine)))).await.unwrap(),
        "one"
    );
    let message = refused(&client(&server, authority.client())).await;
    assert!(message.contains("--client-cert"), "{message}");
    let theirs = stranger.sign("orchestrator", &["orchestrator"]);
    let message = refused(&client(&server, authority.client_with(Some(&theirs)))).await;
    assert!(message.contains("--tls-client-ca"), "{message}");
    let old = authority.sign_expired("old", &["orchestrator"]);
    let message = refused(&client(&server, authority.client_with(Some(&old)))).await;
    assert!(message.contains("expired"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_side_without_tls_says_which_address_to_write() {
    let authority = Authority::new();
    let encrypted = Running::start("one", authority.sign("server", &[NAME]).service()).await;
    let plain = Upstream::new(&format!("http://{}", encrypted.address)).unwrap();
    let message = refused(&plain).await;
    assert!(message.contains("write https://"), "{message}");

    let open = start("two").await;
    let message = refused(&client(&open, authority.client())).await;
    assert!(message.contains("write http://"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_its_certificate_names_is_as_good_as_a_name() {
    let authority = Authority::new();
    let server = Running::start("one", authority.sign("server", &["127.0.0.1"]).service()).await;
    let options = UpstreamOptions {
        tls: Some(authority.client()),
        ..UpstreamOptions::default()
    };
    let upstream = Upstream::with_options(&format!("https://{}", server.address), options).unwrap();
    assert_eq!(who(&upstream).await.unwrap(), "one");
}

/// The certificate that a new connection to a server gets.
async fn certificate(server: &Running, tls: &ClientTls) -> Vec<u8> {
    let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(tls.config());
    let name = rustls::pki_types::ServerName::try_from(NAME).unwrap();
    let stream = connector.connect(name, stream).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

fn copy(from: &Pair, to: &Pair) {
    fs::copy(&from.key, &to.key).unwrap();
    fs::copy(&from.certificate, &to.certificate).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_change_lose_no_call_and_a_broken_one_changes_nothing() {
    let authority = Authority::new();
    let used = authority.sign("server", &[NAME]);
    let options = ServiceOptions {
        // Connections come and go all the time.
        max_connection_age: Duration::from_millis(20),
        ..used.service()
    };
    let server = Running::start("one", options).await;
    let tls = authority.client();
    let upstream = client(&server, tls.clone());
    let first = certificate(&server, &tls).await;

    let done = Arc::new(AtomicBool::new(false));
    let callers = (0..8).map(|_| {
        let (upstream, done) = (upstream.clone(), Arc::clone(&done));
        tokio::spawn(async move {
            let mut calls = 0;
            while !done.load(Ordering::SeqCst) || calls < 125 {
                let request = request(search("who"), Deadline::after(Duration::from_secs(60)));
                let mut client = WebSearchServiceClient::new(upstream.channel());
                // Not tried again: none may fail.
                client.search(request).await.unwrap();
                calls += 1;
            }
            calls
        })
    });
    let callers: Vec<_> = callers.collect();

    let second = authority.sign("second", &[NAME]);
    copy(&second, &used);
    let (server, tls) = (Arc::new(server), Arc::new(tls));
    let changed = {
        let (server, tls, first) = (Arc::clone(&server), Arc::clone(&tls), first.clone());
        hang_guard(async move {
            loop {
                let now = certificate(&server, &tls).await;
                if now != first {
                    return now;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    };
    done.store(true, Ordering::SeqCst);
    let calls: usize = join_all(callers).await.into_iter().map(Result::unwrap).sum();
    assert!(calls >= 1000, "{calls}");

    let options = used.server();
    let kept = crate::tls::ServerTls::load(&options).unwrap().unwrap();
    let before = kept.config();
    fs::write(&used.certificate, "-----BEGIN CERTIFICATE-----\nnonsense\n").unwrap();
    let error = kept.refresh().unwrap_err().to_string();
    assert!(error.contains("--tls-cert") && error.contains("server.pem"), "{error}");
    assert!(Arc::ptr_eq(&before, &kept.config()), "the old one is gone");
    assert_eq!(certificate(&server, &tls).await, changed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_found_behind_tls_too() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = Authority::new();
    let options = UpstreamOptions {
        tls: Some(authority.client()),
        connect_timeout: Duration::from_millis(50),
        ..UpstreamOptions::default()
    };
    let target = format!("https://{}", listener.local_addr().unwrap());
    let message = refused(&Upstream::with_options(&target, options).unwrap()).await;
    assert!(message.contains("no answer in 50ms"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_does_not_travel_in_the_clear_beyond_this_machine() {
    let key = ApiKey::fixed(&emend_core::Secret::from("planted".to_owned())).unwrap();
    let with = |insecure| UpstreamOptions {
        api_key: Some(key.clone()),
        insecure,
        ..UpstreamOptions::default()
    };
    let error = Upstream::with_options("http://retriever:50051", with(false)).unwrap_err();
    assert!(error.to_string().contains("--insecure"), "{error}");
    assert!(!format!("{error:?} {error} {key:?}").contains("planted"));
    for (target, insecure) in [
        ("http://retriever:50051", true),
        ("https://retriever:50051", false),
        ("http://127.0.0.1:50051", false),
        ("http://[::1]:50051", false),
        ("http://localhost:50051", false),
    ] {
        Upstream::with_options(target, with(insecure)).unwrap();
    }
}

#[tokio::test]
async fn wrong_files_are_refused_with_their_option() {
    let authority = Authority::new();
    let (one, other) = (authority.sign("one", &[NAME]), authority.sign("other", &[NAME]));
    let mixed = ServerTlsOptions {
        tls_key: Some(other.key.clone()),
        ..one.server()
    };
    let swapped = ServerTlsOptions {
        tls_cert: Some(one.key.clone()),
        tls_key: Some(one.certificate.clone()),
        tls_client_ca: None,
    };
    let alone = ServerTlsOptions {
        tls_key: None,
        ..one.server()
    };
    let missing = ServerTlsOptions {
        tls_cert: Some(authority.path("nowhere.pem")),
        ..one.server()
    };
    let device = ServerTlsOptions {
        tls_cert: Some("/dev/null".into()),
        ..one.server()
    };
    let only_ca = ServerTlsOptions {
        tls_client_ca: Some(authority.file()),
        ..ServerTlsOptions::default()
    };
    let no_key = ServerTlsOptions {
        tls_key: Some(one.certificate.clone()),
        ..one.server()
    };
    for (options, parts) in [
        (mixed, ["--tls-cert", "not that of the certificate"]),
        (swapped, ["--tls-cert", "no certificate"]),
        (alone, ["--tls-cert", "--tls-key"]),
        (missing, ["--tls-cert", "nowhere.pem"]),
        (device, ["--tls-cert", "cannot read"]),
        (only_ca, ["--tls-client-ca", "--tls-cert"]),
        (no_key, ["--tls-key", "no private key"]),
    ] {
        let error = crate::tls::ServerTls::load(&options).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let text = fs::read_to_string(&one.key).unwrap();
    let shown = format!("{:?}", crate::tls::ServerTls::load(&one.server()).unwrap());
    assert!(!text.lines().any(|line| shown.contains(line)), "{shown}");
}
