//! The recipes of the pages on deploying and on the gateway, run as they stand there, but for addresses and ports.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{ASKED, Place, gateway_clients::peer, security::Certificates, stderr, stdout, up::Up};

/// The pages whose recipes are run here.
const PAGES: [&str; 3] = [
    "deploy/README.md",
    "deploy/CONFIGURATION.md",
    "services/gateway/README.md",
];

/// Who sees to a recipe.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    /// A test of this file.
    Here,
    /// A test of another file, which looks at what the recipe uses.
    By(&'static str),
}

/// The beginning of each recipe.
const RECIPES: [(&str, Seen); 12] = [
    ("docker build -f deploy/Dockerfile", Seen::By("tests/deploy/compose.rs")),
    (
        "docker compose -f deploy/compose.yaml",
        Seen::By("tests/deploy/compose.rs"),
    ),
    ("helm upgrade --install emend", Seen::By("tests/deploy/api_server.rs")),
    ("# mine.yaml", Seen::By("tests/deploy/chart.rs")),
    ("deploy/package.sh dist", Seen::Here),
    ("kubectl -n emend port-forward", Seen::Here),
    ("kubectl -n emend scale", Seen::Here),
    ("emend ask --url http://127.0.0.1:50050 -c handbook --json", Seen::Here),
    ("emend keys add app", Seen::Here),
    ("curl http://127.0.0.1:50056/v1/documents", Seen::Here),
    ("client = openai.OpenAI(", Seen::Here),
    ("{\n  \"mcpServers\"", Seen::Here),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The fenced blocks of a page.
fn blocks(page: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let parts: Vec<&str> = text.split("\n```").collect();
    let inside = parts.iter().skip(1).step_by(2);
    inside
        .map(|block| block.split_once('\n').unwrap().1.to_owned())
        .collect()
}

/// The recipe that begins so.
#[expect(clippy::panic, reason = "a test says what it looked for")]
fn recipe(beginning: &str) -> String {
    let all = PAGES.iter().flat_map(|page| blocks(page));
    let mut found = all.filter(|block| block.starts_with(beginning));
    let recipe = found.next().unwrap_or_else(|| panic!("no page has {beginning}"));
    assert_eq!(found.next(), None, "several begin with {beginning}");
    assert!(RECIPES.contains(&(beginning, Seen::Here)), "{beginning}");
    recipe
}

/// The recipe with the addresses of these services.
fn at(up: &Up, recipe: &str) -> String {
    let services = [("50050", "orchestrator"), ("50051", "retriever"), ("50056", "gateway")];
    services.iter().fold(recipe.to_owned(), |recipe, (port, service)| {
        recipe.replace(&format!("http://127.0.0.1:{port}"), up.url(service))
    })
}

#[test]
fn every_recipe_is_seen_to() {
    for page in PAGES {
        for block in blocks(page) {
            let seen = RECIPES.iter().find(|(beginning, _)| block.starts_with(beginning));
            let (beginning, seen) = seen.unwrap_or_else(|| panic!("{page}: nothing runs\n{block}"));
            match seen {
                Seen::By(file) => assert!(root().join(file).is_file(), "{file}"),
                Seen::Here => assert_eq!(recipe(beginning), block, "{page}"),
            }
        }
    }
}

/// A folder in which recipes are run, with `emend` on the path.
struct Kitchen {
    place: Place,
    folder: tempfile::TempDir,
}

impl Kitchen {
    fn new() -> Self {
        let kitchen = Self {
            place: Place::new(),
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(kitchen.at("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_emend"), kitchen.at("bin/emend")).unwrap();
        // There is no cluster: what is asked of it is written down.
        let kubectl = kitchen.at("bin/kubectl");
        fs::write(&kubectl, "#!/bin/sh\nprintf '%s\\n' \"$*\" >> kubectl.log\n").unwrap();
        fs::set_permissions(kubectl, fs::Permissions::from_mode(0o755)).unwrap();
        kitchen
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The services, with the documents of the place in these collections.
    fn services(&self, collections: &[&str]) -> Up {
        let up = Up::start(&mut self.place.emend(&["up"]));
        let docs = self.place.docs.path().to_str().unwrap();
        for collection in collections {
            let arguments = ["ingest", "--url", up.url("retriever"), "-c", collection, docs];
            let stored = self.place.emend(&arguments).output().unwrap();
            assert!(stored.status.success(), "{}", stderr(&stored));
        }
        up
    }

    /// A program with the environment of whoever follows a recipe.
    fn command(&self, program: &str) -> Command {
        let path = std::env::var("PATH").unwrap();
        let mut command = self.place.emend(&[]);
        let environment: Vec<_> = command
            .get_envs()
            .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
            .collect();
        command = Command::new(program);
        command
            .env_clear()
            .envs(environment.into_iter().filter_map(|(name, value)| Some((name, value?))))
            .env("PATH", format!("{}:{path}", self.at("bin").display()))
            .current_dir(self.folder.path());
        command
    }

    /// What the lines of a shell print, all of which must succeed.
    fn run(&self, lines: &str) -> String {
        let output = self.command("sh").args(["-euc", lines]).output().unwrap();
        assert!(
            output.status.success(),
            "{lines}\n{}{}",
            stdout(&output),
            stderr(&output)
        );
        stdout(&output)
    }
}

/// Whether a program that a recipe uses is on this machine.
#[expect(clippy::print_stdout, reason = "a test says that it did not run")]
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("NOT RUN: there is no {program}");
    }
    found
}

#[test]
fn a_package_has_the_program_its_completions_and_its_manual() {
    let kitchen = Kitchen::new();
    // As small as a program can be that says what the real one says.
    let program = kitchen.at("program");
    fs::write(&program, "#!/bin/sh\nexec emend \"$@\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let unpacked = kitchen.at("unpacked");
    fs::create_dir(&unpacked).unwrap();
    symlink(root().canonicalize().unwrap().join("deploy"), kitchen.at("deploy")).unwrap();
    let lines = recipe("deploy/package.sh dist").replace("/usr/local", "unpacked");
    kitchen.run(&format!("export EMEND={}\n{lines}", program.display()));
    let has = |file: &str| fs::read_to_string(unpacked.join(file)).unwrap();
    assert!(has("bin/emend").contains("exec emend"));
    for completions in [
        "bash-completion/completions/emend",
        "zsh/site-functions/_emend",
        "fish/vendor_completions.d/emend.fish",
    ] {
        assert!(has(&format!("share/{completions}")).contains("doctor"), "{completions}");
    }
    for page in ["emend.1", "emend-ask.1", "emend-collections-export.1"] {
        assert!(has(&format!("share/man/man1/{page}")).contains(".TH"), "{page}");
    }
    assert!(has("share/doc/emend/LICENSE").contains("License"));
}

#[test]
fn a_running_store_is_backed_up_and_restored() {
    if !has("jq") {
        return;
    }
    let kitchen = Kitchen::new();
    let up = kitchen.services(&["handbook", "notes"]);
    let backup = at(&up, &recipe("kubectl -n emend port-forward"));
    let (export, import) = backup.split_once("emend collections import").unwrap();
    kitchen.run(export);
    let exported = |name: &str| fs::read_to_string(kitchen.at(name)).unwrap();
    assert!(exported("handbook.jsonl").contains("25 days") && exported("notes.jsonl").contains("25 days"));
    let url = up.url("retriever");
    kitchen.run(&format!(
        "export EMEND_RETRIEVER_URL={url}\nemend collections delete handbook --yes\nemend collections import{import}"
    ));
    let asked = ["ask", "--url", up.url("orchestrator"), "-c", "handbook", ASKED];
    let asked = kitchen.place.emend(&asked).output().unwrap();
    assert!(
        stdout(&asked).contains("25 days"),
        "{}{}",
        stdout(&asked),
        stderr(&asked)
    );

    let stopped = recipe("kubectl -n emend scale");
    let listed = kitchen.run(&format!("export EMEND_RETRIEVER_URL={url}\n{stopped}"));
    assert!(listed.contains("handbook  1 documents"), "{listed}");
    let cluster = exported("kubectl.log");
    let asked: Vec<&str> = cluster.lines().collect();
    assert_eq!(
        asked,
        [
            "-n emend port-forward statefulset/emend-retriever 50051",
            "-n emend scale statefulset/emend-retriever --replicas=0",
            "-n emend scale statefulset/emend-retriever --replicas=1",
        ]
    );
}

#[test]
fn a_walk_is_shown_and_replayed_without_a_collector() {
    let kitchen = Kitchen::new();
    let up = kitchen.services(&["handbook"]);
    let said = kitchen.run(&at(
        &up,
        &recipe("emend ask --url http://127.0.0.1:50050 -c handbook --json"),
    ));
    let (tree, replayed) = said.split_once("relevant").unwrap_or_else(|| panic!("{said}"));
    assert!(tree.contains("retrieve") && tree.contains("ms"), "{said}");
    assert!(!replayed.is_empty(), "{said}");
}

#[test]
fn keys_and_certificates_protect_the_services() {
    let kitchen = Kitchen::new();
    let certificates = Certificates::new();
    for (from, to) in [
        ("server.pem", "cert.pem"),
        ("server.key", "key.pem"),
        ("ca.pem", "ca.pem"),
    ] {
        fs::copy(certificates.path(from), kitchen.at(to)).unwrap();
    }
    let recipe = recipe("emend keys add app");
    let (keys, services) = recipe.split_once("EMEND_KEYS_FILE").unwrap();
    let (start, ask) = services.split_once('\n').unwrap();
    kitchen.run(keys);
    kitchen.run("emend keys add writer --collections handbook --allow ingest > writer.key");
    let start = format!("exec env EMEND_KEYS_FILE{start} \"$@\"");
    let up = Up::start(kitchen.command("sh").args(["-euc", &start, "sh"]));
    let docs = kitchen.place.docs.path().display();
    let retriever = up.url("retriever");
    kitchen.run(&format!(
        "emend ingest --url {retriever} --ca ca.pem --api-key-file writer.key -c handbook {docs}"
    ));
    let ask = ask.replace("https://127.0.0.1:50050", up.url("orchestrator"));
    let said = kitchen.run(&ask);
    assert!(said.contains("approved by the team lead"), "{said}");
    let other = ask.replace("app.key", "sync.key");
    let refused = kitchen.command("sh").args(["-euc", &other]).output().unwrap();
    assert!(
        !refused.status.success() && stdout(&refused).is_empty(),
        "{}",
        stdout(&refused)
    );
}

#[test]
fn curl_stores_and_asks_through_the_gateway() {
    if !has("curl") {
        return;
    }
    let kitchen = Kitchen::new();
    let up = kitchen.services(&[]);
    fs::copy(kitchen.place.docs.path().join("leave.md"), kitchen.at("leave.md")).unwrap();
    let said = kitchen.run(&at(&up, &recipe("curl http://127.0.0.1:50056/v1/documents")).replace("curl ", "curl -sS "));
    let mut answers = serde_json::Deserializer::from_str(&said).into_iter::<Value>();
    let stored = answers.next().unwrap().unwrap();
    assert_eq!(stored["ingested"], 1, "{stored}");
    let answer = answers.next().unwrap().unwrap();
    assert!(
        answer["answer"].as_str().unwrap().contains("approved by the team lead"),
        "{answer}"
    );
    let events = &said[answers.byte_offset()..];
    assert!(
        events.contains("event: stepStarted") && events.contains("event: finished"),
        "{events}"
    );
}

#[test]
fn the_package_of_openai_asks_a_graph_over_a_collection() {
    let Some(clients) = peer("clients-python") else { return };
    let kitchen = Kitchen::new();
    let up = kitchen.services(&["handbook"]);
    let lines = at(&up, &recipe("client = openai.OpenAI("));
    let program = format!("import openai\n{lines}\nprint(answer.choices[0].message.content)\n");
    let output = kitchen
        .command(clients.join("bin/python").to_str().unwrap())
        .args(["-c", &program])
        .output()
        .unwrap();
    assert!(
        stdout(&output).contains("approved by the team lead"),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
}

#[test]
fn the_configuration_of_an_editor_starts_a_server_with_its_tools() {
    let kitchen = Kitchen::new();
    let docs = kitchen.place.docs.path().to_str().unwrap();
    let configuration = recipe("{\n  \"mcpServers\"").replace("/home/me/handbook", docs);
    let configuration: Value = serde_json::from_str(&configuration).unwrap();
    let server = &configuration["mcpServers"]["handbook"];
    let arguments: Vec<&str> = server["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    let mut process = kitchen
        .command(server["command"].as_str().unwrap())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "editor", "version": "1"},
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(process.stdout.take().unwrap()));
    let tools = lines.find_map(|line| {
        let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (answer["id"] == 2).then_some(answer)
    });
    let tools = tools.unwrap();
    let names = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    assert_eq!(names, ["ask", "explain_walk", "ingest", "list_collections", "search"]);
    drop(input);
    let ended = process.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", stderr(&ended));
}
