//! TLS in both directions and keys, with real processes; and that what is secret is nowhere to be seen.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Child;

use emend_testkit::http_server::{HttpAnswer, HttpServer};
use emend_testkit::otlp::Collector;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::*;

/// Planted wherever a key may stand.
const PLANTED: &str = "pl4nted-s3cret";

/// Keys of search engines.
const TAVILY: &str = "pl4nted-tavily-key";
const BRAVE: &str = "pl4nted-brave-key";

/// A question that the documents do not answer, so that the web is asked.
const ASKED_OF_THE_WEB: &str = "Which comet passes near Jupiter?";

/// A key of nobody, as a caller may try it.
const GUESS: &str = "emend_pl4nted-guess";

/// The files of an authority, of the services and of their callers.
pub(super) struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // OpenSSL takes a certificate for self-signed whose issuer has its own name.
        params.distinguished_name.push(DnType::CommonName, "authority");
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        for (file, name) in [("server", "127.0.0.1"), ("client", "client")] {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            let certificate = params.signed_by(&key, &authority).unwrap();
            fs::write(folder.path().join(format!("{file}.pem")), certificate.pem()).unwrap();
            fs::write(folder.path().join(format!("{file}.key")), key.serialize_pem()).unwrap();
        }
        Self { folder }
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// The variables of who calls services.
    fn client<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("EMEND_CA", self.path("ca.pem"))
            .env("EMEND_CLIENT_CERT", self.path("client.pem"))
            .env("EMEND_CLIENT_KEY", self.path("client.key"))
    }

    /// The lines that tell the private keys.
    fn secrets(&self) -> Vec<String> {
        let keys = ["server.key", "client.key"].map(|file| fs::read_to_string(self.path(file)).unwrap());
        let lines = keys
            .iter()
            .flat_map(|key| key.lines())
            .filter(|line| !line.starts_with("-----"));
        lines.map(str::to_owned).collect()
    }
}

/// Makes a key in a file of keys.
pub(super) fn add_key(place: &Place, file: &Path, arguments: &[&str]) -> String {
    let arguments = [&["keys", "add"], arguments].concat();
    let output = place.emend(&arguments).env("EMEND_KEYS_FILE", file).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let key = stdout(&output).trim().to_owned();
    assert!(
        key.starts_with("emend_") && !stderr(&output).contains(&key),
        "{}",
        stderr(&output)
    );
    key
}

/// The URLs of services that run together.
fn urls(up: &mut Child) -> HashMap<String, String> {
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines();
    let mut urls = HashMap::new();
    while urls.len() < 6 {
        let line = lines.next().unwrap().unwrap();
        if let [name, url] = line.split_whitespace().collect::<Vec<_>>()[..] {
            urls.insert(name.to_owned(), url.to_owned());
        }
    }
    urls
}

#[test]
fn keys_are_made_listed_and_removed() {
    let place = Place::new();
    let file = place.data.path().join("keys.toml");
    let key = add_key(
        &place,
        &file,
        &[
            "app",
            "--collections",
            "handbook,team-*",
            "--graphs",
            "plain-rag",
            "--rate",
            "10/s",
        ],
    );
    let on = |arguments: &[&str]| place.emend(arguments).env("EMEND_KEYS_FILE", &file).output().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains(&key), "{text}");
    let listed = on(&["keys", "list"]);
    let shown = stdout(&listed);
    for part in ["app", "ask", "handbook, team-*", "plain-rag", "10/s"] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(!shown.contains(&key));
    let json: serde_json::Value = serde_json::from_str(&stdout(&on(&["keys", "list", "--json"]))).unwrap();
    assert_eq!(json["keys"]["app"]["rate"], "10/s");
    assert!(json["keys"]["app"].get("sha256").is_none(), "{json}");
    for (arguments, part) in [
        (&["keys", "add", "app", "--collections", "*"][..], "already"),
        (&["keys", "add", "a b", "--collections", "*"], "no name for a key"),
        (&["keys", "add", "b", "--collections", "*", "--rate", "often"], "10/s"),
        (&["keys", "add", "b", "--collections", "*", "--allow", "fly"], "ingest"),
        (&["keys", "add", "b"], "--collections"),
        (&["keys", "remove", "apq"], "`app`"),
    ] {
        let output = on(arguments);
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    assert_eq!(on(&["keys", "remove", "app"]).status.code(), Some(0));
    assert!(!fs::read_to_string(&file).unwrap().contains("app"));
}

#[test]
fn services_beyond_this_machine_want_tls_and_keys_or_the_word_of_their_user() {
    let place = Place::new();
    let output = place
        .emend(&["up", "--host", "0.0.0.0", "--base-port", "0"])
        .output()
        .unwrap();
    assert_ne!(output.status.code(), Some(0));
    for part in ["0.0.0.0", "--tls-cert", "--keys-file", "EMEND_INSECURE"] {
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    let mut command = place.emend(&["up", "--host", "0.0.0.0", "--base-port", "0"]);
    let mut up = command
        .env("EMEND_INSECURE", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    urls(&mut up);
    up.kill().unwrap();
    let said = stderr(&up.wait_with_output().unwrap());
    assert!(said.contains("WARN") && said.contains("is insecure"), "{said}");
}

/// What each command of a user is to end with: a part of what it says.
fn fails(command: &mut Command, part: &str) -> String {
    let output = command.output().unwrap();
    let error = stderr(&output);
    assert_ne!(output.status.code(), Some(0), "{error}");
    assert!(error.contains(part), "it does not say `{part}`: {error}");
    stdout(&output) + &error
}

#[tokio::test(flavor = "multi_thread")]
async fn mutual_tls_and_keys_work_together_and_no_secret_is_seen_anywhere() {
    let (collector, endpoint) = Collector::start().await;
    // Search engines that take no key, and repeat what they are sent.
    let engines = HttpServer::start(|_, request| {
        HttpAnswer::response("401 Unauthorized", "", &format!("{}{}", request.head, request.body))
    })
    .await;
    let at = engines.url().to_owned();
    let shown = tokio::task::spawn_blocking(move || a_day_of_services(&endpoint, &at))
        .await
        .unwrap();
    let sent: String = engines
        .requests()
        .iter()
        .map(|request| format!("{}\n", request.head))
        .collect();
    for key in [format!("Bearer {TAVILY}"), BRAVE.to_owned()] {
        assert!(sent.contains(&key), "no key was used: {sent}");
    }
    let (secrets, mut shown) = shown;
    let sent = collector.transcript();
    // A caller is known by the name of its key: in spans, in metrics, in logs.
    for part in [
        "\"emend.key.name\"",
        "\"app\"",
        "rpc.server.call.duration",
        "emend.walks",
    ] {
        assert!(sent.contains(part), "no {part} among what is exported");
    }
    shown.push(("exported telemetry".to_owned(), sent));
    for (what, text) in &shown {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "{what} shows a secret, {secret:.12}…");
        }
    }
    let log = &shown[0].1;
    for engine in ["tavily", "brave"] {
        let refusal = format!("the search engine {engine} refuses access");
        assert!(log.contains(&refusal), "the log does not say that {engine} was asked");
    }
    assert!(
        log.contains("call refused") && log.contains("\"key\":\"app\""),
        "the log does not say who"
    );
}

/// Runs the services with everything on, uses them well and badly, and returns the secrets with all that was shown; first
/// the log of the services.
fn a_day_of_services(endpoint: &str, engines: &str) -> (Vec<String>, Vec<(String, String)>) {
    let (place, certificates) = (Place::new(), Certificates::new());
    let file = place.data.path().join("keys.toml");
    let app = add_key(
        &place,
        &file,
        &["app", "--collections", "handbook", "--allow", "ask,ingest"],
    );
    let reader = add_key(&place, &file, &["reader", "--collections", "wiki"]);
    let mut secrets = certificates.secrets();
    secrets.extend([app.clone(), reader.clone()]);
    secrets.extend([PLANTED, GUESS, TAVILY, BRAVE].map(str::to_owned));
    let mut command = place.emend(&["up", "--base-port", "0"]);
    let mut up = certificates
        .client(&mut command)
        .env("EMEND_TLS_CERT", certificates.path("server.pem"))
        .env("EMEND_TLS_KEY", certificates.path("server.key"))
        .env("EMEND_TLS_CLIENT_CA", certificates.path("ca.pem"))
        .env("EMEND_KEYS_FILE", &file)
        .env("EMEND_LLM_API_KEY", PLANTED)
        .env("EMEND_TAVILY_API_KEY", TAVILY)
        .env("EMEND_BRAVE_API_KEY", BRAVE)
        .env("EMEND_WEB_PROVIDER", "tavily,brave")
        .env("EMEND_TAVILY_URL", engines)
        .env("EMEND_BRAVE_URL", engines)
        .env("EMEND_API_KEY", PLANTED)
        .env("EMEND_SERVICE_API_KEY", PLANTED)
        .env("EMEND_LOG", "trace")
        .env("EMEND_LOG_FORMAT", "json")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(up.stderr.take().unwrap());
    let log = std::thread::spawn(move || {
        let mut said = Vec::new();
        std::io::Read::read_to_end(&mut log, &mut said).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    });
    let urls = urls(&mut up);
    let (retriever, orchestrator) = (urls["retriever"].as_str(), urls["orchestrator"].as_str());
    assert!(orchestrator.starts_with("https://"), "{orchestrator}");

    let key_file = place.data.path().join("app.key");
    fs::write(&key_file, format!("{app}\n")).unwrap();
    let key_file = key_file.to_str().unwrap();
    let docs = place.docs.path().to_str().unwrap();
    let mut shown = Vec::new();

    let ingest = [
        "-vv",
        "ingest",
        "--url",
        retriever,
        "-c",
        "handbook",
        "--api-key-file",
        key_file,
        docs,
    ];
    let stored = certificates.client(&mut place.emend(&ingest)).output().unwrap();
    assert_eq!(stored.status.code(), Some(0), "{}", stderr(&stored));
    let ask = ["-vv", "ask", "--url", orchestrator, "-c", "handbook", "--", ASKED];
    let mut command = place.emend(&ask);
    let answered = certificates
        .client(command.env("EMEND_API_KEY", &app))
        .output()
        .unwrap();
    assert_eq!(answered.status.code(), Some(0), "{}", stderr(&answered));
    assert!(stdout(&answered).contains("25 days"), "{}", stdout(&answered));
    let of_the_web = [
        "-vv",
        "ask",
        "--url",
        orchestrator,
        "-c",
        "handbook",
        "--",
        ASKED_OF_THE_WEB,
    ];
    let mut command = place.emend(&of_the_web);
    let refused = certificates
        .client(command.env("EMEND_API_KEY", &app))
        .output()
        .unwrap();
    let said = stderr(&refused);
    assert!(
        said.contains("the search engine tavily refuses access (HTTP 401)"),
        "{said}"
    );
    for (what, output) in [("ingest", &stored), ("ask", &answered), ("ask of the web", &refused)] {
        shown.push((what.to_owned(), stdout(output) + &stderr(output)));
    }

    // Health is open, to whoever may connect.
    let healthy = certificates
        .client(&mut place.emend(&["health", orchestrator]))
        .output();
    assert_eq!(stdout(&healthy.unwrap()), "SERVING\n");

    let with_key = |key: &str| {
        let mut command = place.emend(&ask);
        certificates.client(&mut command).env("EMEND_API_KEY", key);
        command
    };
    let without_key = fails(certificates.client(&mut place.emend(&ask)), "there is no API key");
    let guessed = fails(&mut with_key(GUESS), "is not known here");
    let denied = fails(
        &mut with_key(&reader),
        "key \"reader\" may not use collection \"handbook\"",
    );
    let stranger = fails(place.emend(&ask).env("EMEND_API_KEY", &app), "--ca");
    let mut no_certificate = place.emend(&ask);
    let no_certificate = no_certificate
        .env("EMEND_API_KEY", &app)
        .env("EMEND_CA", certificates.path("ca.pem"));
    let no_certificate = fails(no_certificate, "--client-cert");
    let plain = orchestrator.replace("https", "http");
    let plain = ["ask", "--url", &plain, "-c", "handbook", "--", ASKED];
    let plain = fails(place.emend(&plain).env("EMEND_API_KEY", &app), "write https://");
    let clear = ["ask", "--url", "http://192.0.2.1:50050", "--", ASKED];
    let clear = fails(place.emend(&clear).env("EMEND_API_KEY", &app), "--insecure");
    let odd = fails(
        &mut with_key(&format!("{PLANTED} {PLANTED}")),
        "EMEND_API_KEY has characters",
    );
    let mixed = fails(
        place
            .emend(&ask)
            .env("EMEND_CLIENT_CERT", certificates.path("client.pem"))
            .env("EMEND_CLIENT_KEY", certificates.path("server.key")),
        "not that of the certificate",
    );
    let pasted = place.data.path().join("pasted.toml");
    fs::write(
        &pasted,
        format!("[keys.app]\nsha256 = \"{app}\"\nallow = []\ncollections = []\ngraphs = []\n"),
    )
    .unwrap();
    let pasted = fails(
        place
            .emend(&["up", "--base-port", "0"])
            .env("EMEND_DATA_DIR", place.data.path().join("other"))
            .env("EMEND_KEYS_FILE", &pasted),
        "keys.app.sha256",
    );
    for (what, text) in [
        ("no key", without_key),
        ("a guess", guessed),
        ("denied", denied),
        ("a stranger", stranger),
        ("no certificate", no_certificate),
        ("plain", plain),
        ("in the clear", clear),
        ("odd", odd),
        ("mixed", mixed),
        ("pasted", pasted),
    ] {
        shown.push((what.to_owned(), text));
    }
    for help in [
        &["ask", "--help"][..],
        &["ingest", "--help"],
        &["up", "--help"],
        &["keys", "add", "--help"],
    ] {
        let mut command = place.emend(help);
        let output = certificates
            .client(&mut command)
            .env("EMEND_API_KEY", &app)
            .env("EMEND_TAVILY_API_KEY", TAVILY)
            .env("EMEND_BRAVE_API_KEY", BRAVE)
            .output()
            .unwrap();
        shown.push((format!("{help:?}"), stdout(&output)));
    }
    #[cfg(target_os = "linux")]
    shown.push((
        "arguments".to_owned(),
        fs::read_to_string(format!("/proc/{}/cmdline", up.id())).unwrap(),
    ));

    assert!(
        Command::new("kill")
            .args(["-TERM", &up.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert!(up.wait().unwrap().success());
    shown.insert(0, ("the log of the services".to_owned(), log.join().unwrap()));
    (secrets, shown)
}
