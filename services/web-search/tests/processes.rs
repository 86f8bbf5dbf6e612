//! The real binary as a process, over a folder of pages that were made to stop it.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use emend_chassis::Upstream;
use emend_proto::v1::{SearchRequest, web_search_service_client::WebSearchServiceClient};

/// A bound on everything, so that a hang fails a test; nothing takes near as long.
const PATIENCE: Duration = Duration::from_secs(120);
/// Size of a page in bytes.
const PAGE: usize = 4 << 20;

/// Pages that a browser multiplies, nests without end or searches again and again, and some that are only long.
fn bombs(folder: &Path) {
    let repeated = |unit: &str| unit.repeat(PAGE / unit.len());
    let attributes: String = (0..PAGE / 8).map(|number| format!(" a{number:06}")).collect();
    let pages = [
        repeated("<div>"),
        repeated("<blockquote>"),
        format!("<table>{}", repeated("<tr><td><table>")),
        repeated("<font><p>"),
        repeated("<b><i><a href=x>"),
        format!("<p{attributes}>"),
        format!("<svg>{}", repeated("</math></p>")),
        repeated("<select><option>a"),
        repeated("<!--"),
        repeated("&amp;&notanentity;"),
        repeated("a. "),
        repeated("<li>word "),
    ];
    for round in 0..3 {
        for (number, page) in pages.iter().enumerate() {
            fs::write(folder.join(format!("{round}-{number}.html")), page).unwrap();
        }
    }
}

/// A service that was started, and the lines of its log.
struct Started {
    process: Child,
    log: Receiver<String>,
}

impl Started {
    fn new(folder: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_emend-web-search"))
            .args([
                "--listen",
                "127.0.0.1:0",
                "--log",
                "info",
                "--folder-check",
                "0s",
                "--folder",
            ])
            .arg(folder)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let (sender, log) = mpsc::channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                drop(sender.send(line));
            }
        });
        Self { process, log }
    }

    /// Waits for a line of the log with this text.
    fn logged(&self, text: &str) -> String {
        loop {
            let line = self.log.recv_timeout(PATIENCE).expect(text);
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Sends SIGTERM, and waits for the end. Returns how it ended, and the lines of the log since then.
    fn terminated(self) -> (ExitStatus, Vec<String>) {
        let Self { mut process, log } = self;
        let sent = Command::new("kill").args(["-TERM", &process.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let id = process.id().to_string();
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(process.wait().unwrap()));
        let Ok(status) = ended.recv_timeout(PATIENCE) else {
            drop(Command::new("kill").args(["-KILL", &id]).status());
            panic!("it goes on after SIGTERM");
        };
        (status, log.iter().collect())
    }
}

fn ended_at_once((status, log): (ExitStatus, Vec<String>)) {
    assert!(status.success(), "{status}: {log:?}");
    assert!(
        !log.iter().any(|line| line.contains("saved pages are ready")),
        "it read all pages before it ended: {log:?}"
    );
}

#[test]
fn a_service_that_reads_hostile_pages_at_its_start_ends_when_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    bombs(folder.path());
    let started = Started::new(folder.path());
    started.logged("reading saved pages");
    ended_at_once(started.terminated());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_reads_hostile_pages_again_serves_meanwhile_and_ends_when_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tides.md"), "# Tides\n\nTides rise twice a day.").unwrap();
    let started = Started::new(folder.path());
    let serving = started.logged("serving");
    let address = serving
        .split("address=")
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap();
    let upstream = Upstream::new(&format!("http://{address}")).unwrap();
    let mut client = WebSearchServiceClient::new(upstream.channel());
    bombs(folder.path());
    let request = SearchRequest {
        query: "When do tides rise?".to_owned(),
        ..SearchRequest::default()
    };
    // The first one finds that the pages have changed, and the next does not wait until they are read.
    let mut first = client.clone();
    let asked = request.clone();
    let first = tokio::spawn(async move { first.search(asked).await });
    let started = tokio::task::spawn_blocking(move || {
        started.logged("reading saved pages");
        started
    });
    let started = started.await.unwrap();
    let found = client.search(request).await.unwrap().into_inner();
    assert_eq!(found.passages.len(), 1, "{found:?}");
    ended_at_once(tokio::task::spawn_blocking(move || started.terminated()).await.unwrap());
    // It was answered with the pages that there were, before the end.
    let found = first.await.unwrap().unwrap().into_inner();
    assert_eq!(found.passages.len(), 1, "{found:?}");
}
