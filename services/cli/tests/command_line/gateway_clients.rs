//! Clients that others made, of OpenAI's protocol and of MCP. `tests/peers.sh` installs them.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

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

/// A script of the folder `clients` with these arguments; `None` where its package is not installed.
fn client(script: &str, arguments: &[&str]) -> Option<Command> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(script);
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

fn succeeds(mut client: Command) {
    let output = client.output().unwrap();
    assert!(
        output.status.success() && stdout(&output).ends_with("ok\n"),
        "{client:?}\n{}{}",
        stdout(&output),
        stderr(&output)
    );
}

/// `emend up` with the documents of a place.
fn start(place: &Place) -> Up {
    let up = Up::start(&mut place.emend(&["up"]));
    let docs = place.docs.path().to_str().unwrap();
    let stored = place
        .emend(&["ingest", "--url", up.url("retriever"), "-c", "handbook", docs])
        .output()
        .unwrap();
    assert!(stored.status.success(), "{}", stderr(&stored));
    up
}

#[test]
fn packages_of_openai_and_mcp_use_the_gateway() {
    let place = Place::new();
    let scripts = [
        "openai_client.py",
        "openai_client.mjs",
        "mcp_client.py",
        "mcp_client.mjs",
    ];
    let mut up = None;
    for script in scripts {
        let Some(mut client) = client(script, &[]) else {
            continue;
        };
        let up = up.get_or_insert_with(|| start(&place));
        client.arg(up.url("gateway"));
        succeeds(client);
    }
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
