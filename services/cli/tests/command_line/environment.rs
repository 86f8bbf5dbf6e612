//! What the environment holds: secrets that are shown nowhere, and options of services.

use std::{fs, process::Output, time::Duration};

use emend_core::Deadline;
use emend_proto::v1::{
    self, orchestrator_service_client::OrchestratorServiceClient, retriever_service_client::RetrieverServiceClient,
};
use emend_testkit::http_server::HttpServer;
use tonic::Code;
use tonic_types::StatusExt as _;

use super::{ASKED, Place, stderr, stdout, up::Up};

/// Planted wherever a secret may stand.
const SECRET: &str = "pl4nted-s3cret";

/// Runs the command with secrets in every variable that takes one.
fn with_secrets(place: &Place, arguments: &[&str]) -> Output {
    with_secrets_and(place, arguments, &[])
}

/// The same with more variables.
fn with_secrets_and(place: &Place, arguments: &[&str], more: &[(&str, &str)]) -> Output {
    let address = |port: &str| format!("http://user:{SECRET}@127.0.0.1:{port}/v1");
    let more = more.iter().copied();
    let output = place
        .emend(arguments)
        // No Python that could fetch a package.
        .env("PATH", "/nowhere")
        .env("HF_ENDPOINT", address("1"))
        .env("EMEND_LLM_URL", address("1"))
        .env("EMEND_LLM_MODEL", "tiny")
        .env("EMEND_LLM_API_KEY", SECRET)
        .env("OPENAI_API_KEY", SECRET)
        .env("EMEND_LLM_FALLBACK", format!("{}#other", address("2")))
        .env("EMEND_LLM_FALLBACK_API_KEY", SECRET)
        .env("EMEND_EMBEDDER_URL", address("3"))
        .env("EMEND_EMBEDDER_API_KEY", SECRET)
        .env("EMEND_QDRANT_URL", address("4"))
        .env("EMEND_QDRANT_API_KEY", SECRET)
        .env("EMEND_TAVILY_URL", address("5"))
        .env("EMEND_TAVILY_API_KEY", SECRET)
        .env("EMEND_BRAVE_URL", address("6"))
        .env("EMEND_BRAVE_API_KEY", SECRET)
        .env("EMEND_SEARXNG_URL", address("7"))
        .env("EMEND_API_KEY", SECRET)
        .env("EMEND_SERVICE_API_KEY", SECRET)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", address("9"))
        .envs(more)
        .output()
        .unwrap();
    let shown = stdout(&output) + &stderr(&output);
    assert!(!shown.contains(SECRET), "{arguments:?} shows a secret: {shown}");
    output
}

#[test]
fn help_shows_no_secret() {
    let place = Place::new();
    for command in ["ask", "up", "ingest", "calibrate"] {
        let output = with_secrets(&place, &[command, "--help"]);
        assert_eq!(output.status.code(), Some(0));
    }
    for command in [
        ["eval", "qa"],
        ["eval", "retrieval"],
        ["models", "fetch"],
        ["models", "list"],
    ] {
        with_secrets(&place, &[&command[..], &["--help"]].concat());
    }
    with_secrets(&place, &["doctor", "--patience", "5s"]);
    let help = stdout(&with_secrets(&place, &["ask", "--help"]));
    assert!(
        help.contains("--llm-api-key-file") && help.contains("EMEND_LLM_URL"),
        "{help}"
    );
}

#[test]
fn errors_and_logs_show_no_secret() {
    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    // The model cannot be reached, and says so in the walk and in the log.
    for more in [&["-vv"][..], &["-vv", "--json"], &["--llm-url", "not an address", "-v"]] {
        let arguments = [&["ask", "--docs", docs], more, &["--max-time", "5s", "--", ASKED]].concat();
        let output = with_secrets(&place, &arguments);
        assert_ne!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let fallback = format!("http://user:{SECRET}@127.0.0.1:2/v1");
    let output = with_secrets(
        &place,
        &["ask", "--docs", docs, "--llm-fallback", &fallback, "--", ASKED],
    );
    assert!(stderr(&output).contains("URL#MODEL"), "{}", stderr(&output));
    // Neither the hub nor a server of embeddings can be reached.
    let output = with_secrets(
        &place,
        &["models", "fetch", "--embedder", "minilm", "--model-dir", docs],
    );
    assert!(stderr(&output).contains("127.0.0.1:1"), "{}", stderr(&output));
    let output = with_secrets(&place, &["models", "fetch", "--embedder", "openai:tiny"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

#[test]
fn addresses_of_services_and_stores_show_no_password() {
    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    let url = format!("http://user:{SECRET}@127.0.0.1:10");
    let walk = place.data.path().join("walk.json");
    let walk = walk.to_str().unwrap();
    fs::write(walk, place.ask(&["--json", "--", ASKED]).stdout).unwrap();
    let commands = [
        &["ask", "--", ASKED][..],
        &["ask", "--json", "--", ASKED],
        &["ingest", docs],
        &["collections", "list"],
        &["documents", "list"],
        &[
            "feedback",
            "record",
            "--question",
            ASKED,
            "--result",
            walk,
            "--verdict",
            "right",
        ],
        &["replay", "--threshold", "relevant=0.6", walk],
        &["doctor", "--patience", "5s", "--search"],
        &["health", &url],
    ];
    let at_services = [("EMEND_URL", url.as_str()), ("EMEND_RETRIEVER_URL", &url)];
    let at_store = [("EMEND_STORE", "qdrant"), ("EMEND_QDRANT_TIMEOUT", "1")];
    // At once: they wait for what is not there.
    std::thread::scope(|scope| {
        for arguments in commands {
            for more in [&at_services, &at_store] {
                let arguments = [&["-vv"], arguments].concat();
                let place = &place;
                scope.spawn(move || with_secrets_and(place, &arguments, more));
            }
        }
    });
}

#[test]
fn a_key_on_the_command_line_is_refused_with_what_to_use() {
    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    for flag in ["--llm-api-key", "--llm-fallback-api-key", "--embedder-api-key"] {
        let output = with_secrets(&place, &["ask", "--docs", docs, flag, SECRET, "--", ASKED]);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains("no option any more") && error.contains(&format!("{flag}-file")),
            "{error}"
        );
    }
    let file = place.data.path().join("key");
    fs::write(&file, format!("{SECRET}\n")).unwrap();
    let file = file.to_str().unwrap();
    let output = place
        .emend(&["ask", "--docs", docs, "--llm-api-key-file", file, "--", ASKED])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let missing = ["ask", "--docs", docs, "--llm-api-key-file", "/nowhere", "--", ASKED];
    let mut command = place.emend(&missing);
    let missing = command
        .env("EMEND_LLM_URL", "http://127.0.0.1:1")
        .env("EMEND_LLM_MODEL", "m");
    let error = stderr(&missing.output().unwrap());
    assert!(
        error.contains("--llm-api-key-file") && error.contains("/nowhere"),
        "{error}"
    );
}

#[test]
fn options_of_services_hold_when_they_run_together() {
    let place = Place::new();
    let up = |variable: &str, value: &str| {
        let output = place
            .emend(&["up", "--base-port", "0"])
            .env(variable, value)
            .output()
            .unwrap();
        assert_ne!(output.status.code(), Some(0), "{variable}");
        stderr(&output)
    };
    // What no service can have is found where the service reads it.
    for (variable, value) in [
        ("EMEND_MAX_IN_FLIGHT", "0"),
        ("EMEND_DEFAULT_TIMEOUT", "soon"),
        ("EMEND_DRAIN_TIMEOUT", "soon"),
        ("EMEND_MAX_CONNECTION_AGE", "soon"),
        ("EMEND_CHUNK_TOKENS", "1"),
        ("EMEND_INGEST_IN_FLIGHT", "0"),
        ("EMEND_LLM_BATCH_GRADING", "0"),
        ("EMEND_MAX_SENTENCES", "0"),
        ("EMEND_GRADER_BACKEND", "oracle"),
        ("EMEND_WEB_PROVIDER", "oracle"),
    ] {
        let error = up(variable, value);
        let flag = variable.trim_start_matches("EMEND_").to_lowercase().replace('_', "-");
        let flag = flag.trim_start_matches("web-");
        assert!(error.contains(flag) || error.contains(variable), "{variable}: {error}");
        assert!(!error.contains("error: error"), "{error}");
    }
    for variable in ["EMEND_LISTEN", "EMEND_GRADER_URL", "EMEND_RETRIEVER_URL"] {
        let error = up(variable, "http://127.0.0.1:1");
        assert!(error.contains(variable) && error.contains("unset it"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_most_calls_at_once_hold_for_services_that_run_together() {
    let place = Place::new();
    // A model that does not answer holds its caller.
    let model = HttpServer::replying(Vec::new()).await.shut();
    let up = Up::start(
        place
            .emend(&["up", "--generator", "llm"])
            .env("EMEND_MAX_IN_FLIGHT", "1")
            .env("EMEND_LLM_URL", model.url())
            .env("EMEND_LLM_MODEL", "tiny"),
    );
    let docs = place.docs.path().to_str().unwrap();
    let stored = place
        .emend(&["ingest", "--url", up.url("retriever"), docs])
        .output()
        .unwrap();
    assert_eq!(stored.status.code(), Some(0), "{}", stderr(&stored));
    let asked = || {
        let question = v1::Question {
            question: ASKED.to_owned(),
            graph: "plain-rag".to_owned(),
            ..v1::Question::default()
        };
        let request = v1::AskRequest {
            question: Some(question),
        };
        emend_chassis::request(request, Deadline::after(Duration::from_secs(60)))
    };
    let mut client = OrchestratorServiceClient::new(up.channel("orchestrator"));
    let mut first = client.clone();
    let held = tokio::spawn(async move { first.ask(asked()).await });
    model.wait_for(1).await;
    let refused = client.ask(asked()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert!(refused.get_details_retry_info().is_some(), "{refused:?}");
    // Each service has a place of its own.
    let listed = RetrieverServiceClient::new(up.channel("retriever"))
        .list_collections(v1::ListCollectionsRequest::default())
        .await;
    assert!(listed.is_ok(), "{listed:?}");
    assert!(!held.is_finished());
    held.abort();
}

#[test]
fn the_log_is_in_the_form_that_the_environment_names() {
    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    let mut command = place.emend(&["ingest", "-v", docs]);
    let output = command.env("EMEND_LOG_FORMAT", "json").output().unwrap();
    let error = stderr(&output);
    let first = error.lines().next().unwrap_or_default();
    assert!(serde_json::from_str::<serde_json::Value>(first).is_ok(), "{error}");
}
