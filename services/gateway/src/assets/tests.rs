use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// Most bytes that the page loads, all files together.
const PAGE_BYTES: usize = 300_000;

#[test]
fn every_file_of_the_folder_is_compiled_in() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let mut found = files(&root);
    let mut compiled: Vec<PathBuf> = ASSETS.iter().map(|asset| root.join(asset.path)).collect();
    found.sort();
    compiled.sort();
    assert_eq!(found, compiled);
    assert!(ASSETS.iter().map(|asset| asset.bytes.len()).sum::<usize>() < PAGE_BYTES);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut found): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    found.extend(folders.iter().flat_map(|folder| files(folder)));
    found
}

#[test]
fn the_page_is_at_the_root_and_loads_nothing_from_elsewhere() {
    let page = find("/").unwrap();
    assert_eq!((page.path, page.content_type), ("index.html", HTML));
    for asset in ASSETS.iter().filter(|asset| asset.content_type != TEXT) {
        let text = str::from_utf8(asset.bytes).unwrap();
        let elsewhere = ["src=\"http", "href=\"http", "url(http", "from 'http", "import('http"];
        assert!(!elsewhere.iter().any(|link| text.contains(link)), "{}", asset.path);
    }
    assert!(find("/js/nothing.js").is_none());
    assert!(find("/../Cargo.toml").is_none());
}
