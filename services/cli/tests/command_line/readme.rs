//! The first command of the README, with the default embedder, whose weights come into the user's cache once.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use emend_models::fetch::FetchOptions;

use super::{Place, stderr, stdout};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A folder with the weights of the default embedder.
pub(super) fn weights() -> PathBuf {
    // In the environment of whoever runs this, which may have a proxy.
    let fetch = ["models", "fetch", "--embedder", "e5-small"];
    let fetched = Command::new(env!("CARGO_BIN_EXE_emend")).args(fetch).output().unwrap();
    assert!(fetched.status.success(), "{}", stderr(&fetched));
    let cache = FetchOptions::new(None).unwrap().cache_dir;
    cache.parent().unwrap().to_owned()
}

#[test]
fn the_first_command_is_answered_by_the_section_that_it_asks_for() {
    let readme = fs::read_to_string(format!("{ROOT}/README.md")).unwrap();
    let line = readme
        .lines()
        .find_map(|line| line.strip_prefix("cargo run --release -- "));
    let (options, question) = line.unwrap().split_once(" \"").unwrap();
    let mut words: Vec<&str> = options.split(' ').collect();
    words.push(question.trim_end_matches('"'));

    let place = Place::new();
    let mut command = place.emend(&words);
    command
        .current_dir(ROOT)
        .env_remove("EMEND_EMBEDDER")
        .env("EMEND_CACHE_DIR", weights());
    let output = command.output().unwrap();
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    assert!(
        said.starts_with("A walk ends ANSWERED (graded and passed), UNVERIFIED "),
        "{said}"
    );
    assert!(said.contains("\n  [1] README.md — "), "{said}");
}
