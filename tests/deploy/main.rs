//! What is deployed names only what there is: options, ports and probes of the binaries, metrics, kinds of Kubernetes.
//!
//! Helm, the API servers of Kubernetes and Jaeger are the real ones, where `tests/peers.sh all` has built them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says on standard output what it did not run"
)]

mod alerts;
mod api_server;
mod chart;
mod compose;
mod metrics;
mod options;
mod policies;
mod promql;
mod traces;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A program or a folder that `tests/peers.sh` makes, some only with `all`, if it is there; says so where it is not.
fn peer(name: &str) -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root().join("target"), |folder| root().join(folder));
    let found = target.join("peers").join(name);
    if found.exists() {
        return Some(found);
    }
    println!("NOT RUN: {name} is not there; `tests/peers.sh all` gets it");
    None
}

/// A file of the repository.
fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
}
