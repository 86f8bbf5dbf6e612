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
    compiled.push(root.join("style.css"));
    found.sort();
    compiled.sort();
    assert_eq!(found, compiled);
    assert!(ASSETS.iter().map(|asset| asset.sent().gzip.len()).sum::<usize>() < PAGE_BYTES);
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
    let asset = find("/js/main.js").unwrap();
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

#[tokio::test]
async fn the_page_has_its_style_in_it_and_may_use_no_other() {
    let page = find("/").unwrap().respond(&HeaderMap::new());
    let policy = page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
    let body = axum::body::to_bytes(page.into_body(), PAGE_BYTES).await.unwrap();
    let text = str::from_utf8(&body).unwrap();
    let (_, rest) = text.split_once("<style>").unwrap();
    let (style, _) = rest.split_once("</style>").unwrap();
    assert_eq!(style, STYLE);
    let hash = BASE64_STANDARD.encode(Sha256::digest(style));
    assert_eq!(policy, format!("{POLICY}; style-src 'self' 'sha256-{hash}'"));
    assert!(!text.contains("stylesheet"), "nothing to wait for");
    let script = find("/js/main.js").unwrap().respond(&HeaderMap::new());
    assert_eq!(script.headers()[CONTENT_SECURITY_POLICY], POLICY);
}
