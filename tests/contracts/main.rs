//! What the contracts and the documents say about themselves is so.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod clients;
mod comments;
mod languages;
mod reasons;

use std::path::Path;

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
