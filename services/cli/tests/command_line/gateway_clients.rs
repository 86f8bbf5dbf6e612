//! Clients that others made, of OpenAI's protocol and of MCP. `tests/peers.sh` installs them.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use emend_testkit::language_model::LanguageModel;

use super::{Place, stderr, stdout, up::Up};

/// A folder of `tests/peers.sh`, if what is to be in it is installed.
#[expect(clippy::print_stdout, reason = "a test says that it did not run")]
pub(super) fn peer(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
    let folder = target.join("peers").join(name);
    if !folder.join("installed").exists() {
        println!("NOT RUN: {name} are not installed; tests/peers.sh installs them");
        return None;
    }
    folder.canonicalize().ok()
}

/// The scripts.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// A script of the folder `clients` with these arguments; `None` where its package is not installed.
fn client(script: &str, arguments: &[&str]) -> Option<Command> {
    let script = scripts().join(script);
    let mut command = if script.extension().is_some_and(|extension| extension == "py") {
        Command::new(peer("clients-python")?.join("bin/python"))
    } else {
        let packages = peer("clients-node")?;
        let mut command = Command::new("node");
        command.env("CLIENTS", packages);
        command
    };
    command.arg(script).args(arguments);
    Some(command)
}

/// Runs a client to its end, and returns what it printed before `ok`.
fn succeeds(mut client: Command) -> String {
    let output = client.output().unwrap();
    let said = stdout(&output);
    let said = said.strip_suffix("ok\n").unwrap_or_default();
    assert!(
        output.status.success() && stdout(&output).ends_with("ok\n"),
        "{client:?}\n{}{}",
        stdout(&output),
        stderr(&output)
    );
    said.to_owned()
}

/// `emend up` with the documents of a place.
fn start(place: &Place) -> Up {
    start_with(place, &[])
}

/// The same with these variables of the environment.
fn start_with(place: &Place, environment: &[(&str, &str)]) -> Up {
    let up = Up::start(place.emend(&["up"]).envs(environment.iter().copied()));
    let docs = place.docs.path().to_str().unwrap();
    let stored = place
        .emend(&["ingest", "--url", up.url("retriever"), "-c", "handbook", docs])
        .output()
        .unwrap();
    assert!(stored.status.success(), "{}", stderr(&stored));
    up
}

#[test]
fn packages_of_openai_use_the_gateway() {
    let places = [Place::new(), Place::new()];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut ups = None;
    for script in ["openai_client.py", "openai_client.mjs"] {
        let Some(mut client) = client(script, &[]) else {
            continue;
        };
        let (model, plain, of_a_model) = ups.get_or_insert_with(|| {
            let model = runtime.block_on(LanguageModel::start());
            let environment = [
                ("EMEND_LLM_URL", model.url()),
                ("EMEND_LLM_MODEL", "stand-in".to_owned()),
                // What is asked again is graded again.
                ("EMEND_GRADE_CACHE_ENTRIES", "0".to_owned()),
            ];
            let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
            let of_a_model = start_with(&places[1], &environment);
            (model, start(&places[0]), of_a_model)
        });
        let before = model.requests();
        client.args([plain.url("gateway"), of_a_model.url("gateway")]);
        let usage: serde_json::Value = serde_json::from_str(&succeeds(client)).unwrap();
        // The script asked twice, and each time it was told the same: ten tokens in and five out a request.
        let requests = model.requests() - before;
        assert_eq!(usage["prompt_tokens"], 10 * requests / 2, "{script}: {usage}");
        assert_eq!(usage["completion_tokens"], 5 * requests / 2, "{script}: {usage}");
    }
}

#[test]
fn packages_of_mcp_use_the_gateway() {
    let place = Place::new();
    let mut up = None;
    for script in ["mcp_client.py", "mcp_client.mjs"] {
        let Some(mut client) = client(script, &[]) else {
            continue;
        };
        let up = up.get_or_insert_with(|| start(&place));
        client.arg(up.url("gateway"));
        succeeds(client);
    }
}

/// Stubs for browsers, made of the contracts as their page says, in Node.
#[test]
fn a_stub_for_browsers_uses_the_gateway() {
    let Some(packages) = peer("clients-web") else { return };
    let program = tempfile::tempdir().unwrap();
    let modules = packages.join("node_modules");
    std::os::unix::fs::symlink(&modules, program.path().join("node_modules")).unwrap();
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    let template = proto.join("buf.gen.web.yaml");
    // Google's messages of errors come with a package.
    let google = Path::new("node_modules/google-proto-files");
    let details = google.join("google/rpc/error_details.proto");
    for (contracts, only) in [(proto.as_path(), None), (google, Some(details))] {
        let mut generate = Command::new(modules.join(".bin/buf"));
        generate
            .arg("generate")
            .arg(contracts)
            .args(["--output", "gen", "--template"]);
        generate.arg(&template).current_dir(&program);
        if let Some(only) = only {
            generate.arg("--path").arg(only);
        }
        let output = generate.output().unwrap();
        assert!(output.status.success(), "{generate:?}\n{}", stderr(&output));
    }
    let script = program.path().join("grpc_web_client.mjs");
    fs::copy(scripts().join("grpc_web_client.mjs"), &script).unwrap();
    let place = Place::new();
    let up = start(&place);
    let mut client = Command::new("node");
    client.arg(script).arg(up.url("gateway"));
    succeeds(client);
}

#[test]
fn packages_of_mcp_use_a_folder_over_standard_streams() {
    for script in ["mcp_client.py", "mcp_client.mjs"] {
        let place = Place::new();
        let docs = place.docs.path().to_str().unwrap();
        let emend = env!("CARGO_BIN_EXE_emend");
        let Some(mut client) = client(script, &[emend, "mcp", "--docs", docs]) else {
            continue;
        };
        client.env("HOME", place.data.path()).env("EMEND_EMBEDDER", "hashed");
        succeeds(client);
    }
}

/// Standard output carries the protocol alone, whatever is stored and logged, and the process ends with its input.
#[test]
fn standard_output_carries_the_protocol_alone() {
    use std::io::Write as _;

    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    let mut command = place.emend(&["-vv", "mcp", "--docs", docs]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    let messages = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"question":"How many days of paid leave does every employee have?"}}}"#,
    ];
    for message in messages {
        writeln!(input, "{message}").unwrap();
    }
    input.flush().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut answers = Vec::new();
    for id in [1, 2] {
        let line = lines.next().unwrap().unwrap();
        let message: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&message["jsonrpc"], &message["id"]),
            (&"2.0".into(), &id.into()),
            "{line}"
        );
        answers.push(message);
    }
    let text = answers[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("25 days"), "{text}");
    drop(input);
    assert!(lines.next().is_none(), "nothing else is written");
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("1 ingested"), "{}", stderr(&output));
    fs::metadata(place.data.path()).unwrap();
}
