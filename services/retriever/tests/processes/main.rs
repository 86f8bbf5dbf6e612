//! The real binary as a process: killed in the middle of an ingest, and on a disk that is full.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod crash;
#[cfg(unix)]
mod disk;
#[cfg(unix)]
mod modes;
#[cfg(unix)]
mod reader;

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use emend_chassis::{TracedChannel, Upstream};
use emend_proto::v1::retriever_service_client::RetrieverServiceClient;

/// The program.
const RETRIEVER: &str = env!("CARGO_BIN_EXE_emend-retriever");

/// Starts the program that `command` runs, on a free port, and connects to it once it serves.
fn start(mut command: Command, folder: &Path, more: &[&str]) -> (Child, RetrieverServiceClient<TracedChannel>) {
    let mut child = command
        .args(["--listen", "127.0.0.1:0", "--log", "info", "--embedder", "hashed"])
        .args(more)
        .arg("--data-dir")
        .arg(folder)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let upstream = Upstream::new(&serving(&mut child)).unwrap();
    let client = RetrieverServiceClient::new(upstream.channel());
    (child, client.max_encoding_message_size(64 << 20))
}

/// Waits until a retriever that was started with its standard error piped serves, and returns its URL.
fn serving(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let serving = lines.by_ref().find(|line| line.contains("serving")).expect("it serves");
    let address = serving.split("address=").nth(1).unwrap();
    let url = format!("http://{}", address.split_whitespace().next().unwrap());
    // The pipe must not fill up.
    std::thread::spawn(move || lines.for_each(drop));
    url
}
