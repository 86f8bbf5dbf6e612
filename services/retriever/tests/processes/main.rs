//! The real binary as a process: killed in the middle of an ingest, and on a disk that is full.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod crash;
#[cfg(unix)]
mod disk;
#[cfg(unix)]
mod reader;

use std::{
    io::{BufRead as _, BufReader},
    process::Child,
};

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
