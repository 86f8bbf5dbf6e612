use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::*;

/// Most bytes that the page loads, all files together, as browsers take them.
const PAGE_BYTES: usize = 60_000;

#[test]
fn every_file_of_the_folder_is_compiled_in() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let mut found = files(&root);
    let mut compiled: Vec<PathBuf> = ASSETS.iter().map(|asset| root.join(asset.path)).collect();
    found.sort();
    compiled.sort();
    assert_eq!(found, compiled);
    assert!(ASSETS.iter().map(|asset| asset.packed().gzip.len()).sum::<usize>() < PAGE_BYTES);
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

fn asked(name: http::HeaderName, value: &str) -> HeaderMap {
    HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
}

#[tokio::test]
async fn a_file_is_packed_for_who_takes_that_and_is_not_sent_twice() {
    let asset = find("/style.css").unwrap();
    let plain = asset.respond(&asked(ACCEPT_ENCODING, "br, gzip;q=0"));
    assert!(!plain.headers().contains_key(CONTENT_ENCODING));
    let packed = asset.respond(&asked(ACCEPT_ENCODING, "deflate, gzip;q=0.5"));
    assert_eq!(packed.headers()[CONTENT_ENCODING], "gzip");
    let tag = packed.headers()[ETAG].to_str().unwrap().to_owned();
    let body = axum::body::to_bytes(packed.into_body(), PAGE_BYTES).await.unwrap();
    let mut unpacked = Vec::new();
    GzDecoder::new(&*body).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, asset.bytes);
    let again = asset.respond(&asked(IF_NONE_MATCH, &format!("\"other\", {tag}")));
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let other = find("/").unwrap().respond(&asked(IF_NONE_MATCH, &tag));
    assert_eq!(other.status(), StatusCode::OK);
}
