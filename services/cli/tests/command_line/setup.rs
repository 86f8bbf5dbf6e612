//! `emend init`, `emend doctor`, completions and manual pages, and the configuration file.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use emend_test_qdrant::{Access, Server};
use serde_json::Value;

use super::{ASKED, Place, stderr, stdout, up::Up};

/// A command of a user whose settings are in this folder.
fn within(place: &Place, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = place.emend(arguments);
    command.env("XDG_CONFIG_HOME", folder);
    command
}

/// Where such a command finds its settings.
fn settings(folder: &Path) -> PathBuf {
    fs::create_dir_all(folder.join("emend")).unwrap();
    folder.join("emend").join("emend.toml")
}

#[test]
fn init_writes_a_file_that_every_command_reads() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    let run = |arguments: &[&str]| within(&place, folder.path(), arguments).output().unwrap();
    let output = run(&["init"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("emend doctor"),
        "what comes next: {}",
        stderr(&output)
    );
    let file = folder.path().join("emend").join("emend.toml");
    let template = fs::read_to_string(&file).unwrap();
    assert!(template.contains("#graph = \"self-corrective-rag\""), "{template}");

    let again = run(&["init"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
    fs::write(&file, "not = [ right").unwrap();
    assert_eq!(run(&["graph", "list"]).status.code(), Some(2));
    // What mends it and what explains it do not need it.
    assert_eq!(run(&["--help"]).status.code(), Some(0));
    assert_eq!(run(&["init", "--force"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), template);
    assert_eq!(run(&["graph", "list"]).status.code(), Some(0));
}

#[test]
fn a_file_that_came_with_the_working_folder_is_not_read() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    fs::write(
        folder.path().join("emend.toml"),
        "llm-url = \"http://127.0.0.1:1\"\nnot = [ right",
    )
    .unwrap();
    let output = place
        .emend(&["graph", "list"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let named = place
        .emend(&["--config", "emend.toml", "graph", "list"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(named.status.code(), Some(2), "{}", stderr(&named));
}

#[test]
fn a_flag_comes_before_the_environment_and_that_before_the_file() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    let docs = place.docs.path().to_str().unwrap();
    fs::write(
        settings(folder.path()),
        "graph = \"plain-rag\"\nurl = \"http://127.0.0.1:1\"\n",
    )
    .unwrap();
    let asked = |set: &[(&str, &str)], more: &[&str]| {
        let arguments = [&["ask", "--docs", docs, "--json"], more, &["--", ASKED]].concat();
        let output = within(&place, folder.path(), &arguments)
            .envs(set.iter().copied())
            .output()
            .unwrap();
        let result: Value = serde_json::from_str(&stdout(&output)).unwrap();
        result["graph"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(asked(&[], &[]), "plain-rag");
    assert_eq!(asked(&[("EMEND_GRAPH", "self-rag")], &[]), "self-rag");
    assert_eq!(
        asked(&[("EMEND_GRAPH", "self-rag")], &["--graph", "corrective-rag"]),
        "corrective-rag"
    );
    // A file that is named holds in place of the one that is found.
    let other = folder.path().join("other.toml");
    fs::write(&other, "graph = \"self-rag\"\n").unwrap();
    assert_eq!(asked(&[], &["--config", other.to_str().unwrap()]), "self-rag");
    assert_eq!(asked(&[("EMEND_CONFIG", other.to_str().unwrap())], &[]), "self-rag");
}

#[test]
fn the_file_holds_for_the_services_of_a_command() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    let file = settings(folder.path());
    fs::write(&file, "chunk-tokens = 100\nchunk-overlap = 200\n").unwrap();
    let output = within(&place, folder.path(), &["up", "--base-port", "0"])
        .output()
        .unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("--chunk-overlap 200 must be less than --chunk-tokens 100"),
        "{error}"
    );
    for (text, says) in [
        ("# first\nchunk-tokns = 100\n", "line 2, did you mean \"chunk-tokens\"?"),
        ("max-in-flight = 0\n", "\"max-in-flight\""),
        ("llm-api-key = \"s3cret\"\n", "did you mean \"llm-api-key-file\"?"),
    ] {
        fs::write(&file, text).unwrap();
        let output = within(&place, folder.path(), &["up", "--base-port", "0"])
            .output()
            .unwrap();
        let error = stderr(&output);
        assert!(error.contains(says) && !error.contains("s3cret"), "{error}");
        assert_ne!(output.status.code(), Some(0));
    }
    let missing = place
        .emend(&["--config", "/nowhere/emend.toml", "graph", "list"])
        .output()
        .unwrap();
    assert!(stderr(&missing).contains("/nowhere/emend.toml"), "{}", stderr(&missing));
}

#[test]
fn completions_are_scripts_and_every_command_has_a_page() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = place.emend(&["completions", shell]).output().unwrap();
        let script = stdout(&output);
        assert!(script.contains("--llm-url") && script.contains("doctor"), "{shell}");
        if shell == "bash" {
            let file = folder.path().join("emend.bash");
            fs::write(&file, script).unwrap();
            let checked = Command::new("bash").arg("-n").arg(&file).output().unwrap();
            assert!(checked.status.success(), "{}", stderr(&checked));
        }
    }
    let pages = folder.path().join("man");
    let output = place
        .emend(&["man", pages.to_str().unwrap()])
        .env("EMEND_LLM_URL", "http://user:s3cret@127.0.0.1:1")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let names: Vec<String> = fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut commands = vec![<emend_cli::args::Arguments as clap::CommandFactory>::command()];
    let mut counted = 0;
    while let Some(command) = commands.pop() {
        commands.extend(command.get_subcommands().cloned());
        let end = match command.get_name() {
            "emend" => "emend.1".to_owned(),
            name => format!("-{name}.1"),
        };
        assert!(
            names.iter().any(|page| page.ends_with(&end)),
            "no page {end}: {names:?}"
        );
        counted += 1;
    }
    assert_eq!(names.len(), counted, "{names:?}");
    for name in names {
        assert!(!fs::read_to_string(pages.join(name)).unwrap().contains("s3cret"));
    }
}

/// What the doctor finds: its status, and the findings of each check.
fn doctor(command: &mut Command) -> (Option<i32>, Vec<Value>) {
    let output = command.output().unwrap();
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["ok"], output.status.code() == Some(0));
    (output.status.code(), report["checks"].as_array().unwrap().clone())
}

/// The findings of a check, as `level: message → advice`.
fn of(found: &[Value], check: &str) -> Vec<String> {
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let shown = |finding: &Value| {
        let (level, message, advice) = (
            word(finding, "level"),
            word(finding, "message"),
            word(finding, "advice"),
        );
        format!("{level}: {message} → {advice}")
    };
    found
        .iter()
        .filter(|finding| finding["check"] == check)
        .map(shown)
        .collect()
}

#[test]
fn the_doctor_finds_a_sound_machine_sound() {
    let place = Place::new();
    let (status, found) = doctor(&mut place.emend(&["doctor", "--json", "--base-port", "0"]));
    assert_eq!(status, Some(0), "{found:?}");
    for check in [
        "settings",
        "embedder",
        "language model",
        "files",
        "store",
        "ports",
        "web search",
        "telemetry",
        "keys and TLS",
    ] {
        assert_eq!(of(&found, check).len(), 1, "{check}: {found:?}");
    }
    assert!(of(&found, "embedder")[0].starts_with("warning: hashed"), "{found:?}");
    assert!(
        of(&found, "store")[0].contains("is made when the first document comes"),
        "{found:?}"
    );
    assert!(!place.data.path().join(".local").exists(), "nothing is made");
    // For people it is a line each.
    let output = place.emend(&["doctor", "--base-port", "0"]).output().unwrap();
    assert!(
        stdout(&output).lines().any(|line| line.starts_with("ok       ports")),
        "{}",
        stdout(&output)
    );
    assert!(!stdout(&output).contains('\u{1b}'));
}

#[test]
fn the_doctor_names_what_is_wrong_and_what_to_do_and_no_secret() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    // The seven ports are counted from there.
    let base = (port - 3).to_string();
    fs::write(folder.path().join("broken.yaml"), "nodes: [").unwrap();
    let key = folder.path().join("key");
    fs::write(&key, "pl4nted-s3cret").unwrap();
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let folder = folder.path().to_str().unwrap();
    let secret = "http://user:pl4nted-s3cret@127.0.0.1:1";
    let mut command = place.emend(&["doctor", "--json", "--base-port", &base, "--embedder", "minilm"]);
    command
        .args([
            "--llm-url",
            secret,
            "--llm-model",
            "m",
            "--generator",
            "local:/nowhere.gguf",
            "--graphs-dir",
            folder,
        ])
        .args([
            "--searxng-url",
            secret,
            "--llm-api-key-file",
            key.to_str().unwrap(),
            "--data-dir",
            "/dev/null/data",
        ])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", secret)
        .env("EMEND_KEYS_FILE", "/nowhere.toml")
        .env("EMEND_TLS_CERT", "/nowhere.pem")
        .env("EMEND_TLS_KEY", "/nowhere.key");
    let (status, found) = doctor(&mut command);
    assert_eq!(status, Some(1), "{found:?}");
    assert!(!format!("{found:?}").contains("s3cret"), "{found:?}");
    for (check, begins, says) in [
        ("embedder", "warning", "emend models fetch"),
        ("local models", "error", "/nowhere.gguf"),
        ("language model", "error", "--llm-url"),
        ("files", "error", "broken.yaml"),
        ("store", "error", "--data-dir"),
        ("ports", "error", &format!("127.0.0.1:{port}")),
        ("web search", "error", "127.0.0.1:1"),
        ("telemetry", "warning", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ("keys and TLS", "error", "/nowhere.toml"),
        ("keys and TLS", "error", "/nowhere.pem"),
        ("keys and TLS", "warning", "chmod 600"),
    ] {
        let said = of(&found, check);
        let fits = |line: &String| line.starts_with(begins) && line.contains(says);
        assert!(said.iter().any(fits), "{check} does not say `{says}`: {said:?}");
    }
}

#[test]
fn the_doctor_searches_the_web_only_when_it_is_told_to() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(emend_testkit::http_server::HttpServer::start(|number, _| {
        let (status, body) = match number {
            0 => (
                "200 OK",
                r#"{"results": [{"url": "http://localhost/", "title": "A page", "content": "Wikipedia is free."}]}"#,
            ),
            1 => ("200 OK", r#"{"results": []}"#),
            _ => ("403 Forbidden", ""),
        };
        emend_testkit::http_server::HttpAnswer::response(status, "content-type: application/json\r\n", body)
    }));
    let place = Place::new();
    let web = ["doctor", "--json", "--base-port", "0", "--searxng-url", server.url()];
    let (status, found) = doctor(&mut place.emend(&web));
    let said = of(&found, "web search");
    assert!(status == Some(0) && said[0].contains("--search tries"), "{said:?}");
    assert_eq!(server.seen().requests, 0);
    for (status, begins, says) in [
        (0, "ok", "searxng found http://localhost/"),
        (0, "warning", "found nothing"),
        (1, "error", "settings.yml"),
    ] {
        let (ended, found) = doctor(&mut place.emend(&[&web[..], &["--search"]].concat()));
        let said = of(&found, "web search");
        assert!(said[0].starts_with(begins) && said[0].contains(says), "{said:?}");
        assert_eq!(ended, Some(status), "{found:?}");
    }
}

#[test]
fn the_doctor_says_what_a_language_model_can_do() {
    // A model that streams words without logprobs, and takes no JSON schema.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(emend_testkit::http_server::HttpServer::start(|_, request| {
        if request.json()["response_format"]["type"] == "json_schema" {
            let said = r#"{"error": {"message": "response_format json_schema is not supported"}}"#;
            return emend_testkit::http_server::HttpAnswer::response(
                "400 Bad Request",
                "content-type: application/json\r\n",
                said,
            );
        }
        let piece = |text: &str| serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]});
        let end = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        let pieces = [piece("{\"colour\":"), piece(" \"blue\"}"), end];
        let body: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
        let body = body + "data: [DONE]\n\n";
        emend_testkit::http_server::HttpAnswer::response("200 OK", "content-type: text/event-stream\r\n", &body)
    }));
    let place = Place::new();
    let model = ["--llm-url", server.url(), "--llm-model", "tiny"];
    let (status, found) = doctor(&mut place.emend(&[&["doctor", "--json", "--base-port", "0"][..], &model].concat()));
    let said = of(&found, "language model");
    assert_eq!(status, Some(0), "{said:?}");
    assert!(
        said[0].contains("tiny at ") && said[0].contains("no JSON schema, no logprobs, streaming"),
        "{said:?}"
    );
}

#[test]
fn the_doctor_says_how_a_qdrant_server_is() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let access = Access {
        key: Some("pl4nted-k3y".to_owned()),
        ..Access::default()
    };
    let (server, url) = runtime.block_on(Server::start_for(access));
    let place = Place::new();
    let store = |url: &str, key: &str| {
        let mut command = place.emend(&["doctor", "--json", "--base-port", "0"]);
        command.env("EMEND_STORE", "qdrant").env("EMEND_QDRANT_URL", url);
        let (status, found) = doctor(command.env("EMEND_QDRANT_API_KEY", key));
        (status == Some(0), of(&found, "store").concat())
    };
    let (sound, said) = store(&url, "pl4nted-k3y");
    let counted = format!("ok: Qdrant at {url} can be read and written: 0 collections, 0 documents");
    assert!(sound && said.starts_with(&counted), "{said}");
    let (sound, said) = store(&url, "pl4nted-gu3ss");
    assert!(
        !sound && said.starts_with("error: ") && said.contains("EMEND_QDRANT_API_KEY"),
        "{said}"
    );
    assert!(!said.contains("gu3ss"), "{said}");
    server.set_version("1.9.0");
    let (sound, said) = store(&url, "pl4nted-k3y");
    assert!(!sound && said.contains("1.9.0"), "{said}");
    let (sound, said) = store("http://127.0.0.1:1", "");
    assert!(!sound && said.contains("http://127.0.0.1:1"), "{said}");
}

#[test]
fn a_folder_in_use_says_where_its_services_are() {
    let place = Place::new();
    let data = place.data.path().join("collections");
    let up = Up::start(&mut place.emend(&["up", "--data-dir", data.to_str().unwrap()]));
    let docs = place.docs.path().to_str().unwrap();
    let data = ["--data-dir", data.to_str().unwrap()];
    for arguments in [
        &["ask", "--docs", docs][..],
        &["ingest", docs],
        &["collections", "list"],
    ] {
        let question: &[&str] = if arguments[0] == "ask" { &["--", ASKED] } else { &[] };
        let output = place.emend(&[arguments, &data, question].concat()).output().unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{error}");
        for service in ["orchestrator", "retriever"] {
            assert!(
                error.contains(&format!("--url {}", up.url(service))),
                "{service}: {error}"
            );
        }
    }
    let (status, found) = doctor(place.emend(&["doctor", "--json", "--base-port", "0"]).args(data));
    assert_eq!(status, Some(0), "{found:?}");
    assert!(of(&found, "store")[0].starts_with("warning"), "{found:?}");
    drop(up);
    // Whoever comes next says something of its own, or nothing.
    let output = place
        .emend(&[&["ask", "--docs", docs], &data[..], &["--", ASKED]].concat())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_port_in_use_is_said_before_a_model_is_loaded() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let nowhere = ["--embedder", "openai:tiny", "--embedder-url", "http://127.0.0.1:1/v1"];
    let output = place
        .emend(&[&["up", "--base-port", &port][..], &nowhere].concat())
        .output()
        .unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains(&format!("cannot listen on 127.0.0.1:{port}")) && error.contains("--base-port"),
        "{error}"
    );
}

#[test]
fn hours_are_times_and_errors_are_json_for_every_command() {
    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    let mut asking = place.emend(&["ask", "--docs", docs, "--timeout", "1h", "--", ASKED]);
    let output = asking.env("EMEND_LLM_TIMEOUT", "1h").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for arguments in [
        &["documents", "list", "--json", "-c", "nowhere"][..],
        &["collections", "describe", "nowhere", "--json"],
        &["eval", "qa", "--data", "/nowhere", "--json"],
        &["--config", "/nowhere.toml", "documents", "list", "--json"],
    ] {
        let output = place.emend(arguments).output().unwrap();
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        let error: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert!(!error["error"]["message"].as_str().unwrap().is_empty(), "{arguments:?}");
    }
}
