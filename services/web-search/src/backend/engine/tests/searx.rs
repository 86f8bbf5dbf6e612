//! A real searx, which SearXNG has come from, if its program is installed: `tests/peers.sh`.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::*;

/// A running searx, which ends when it is dropped.
struct Searx {
    process: Child,
    url: String,
    _settings: tempfile::TempDir,
}

impl Searx {
    /// Starts it with one engine, whose results are the JSON at `results`.
    async fn start(program: &str, results: &str) -> Self {
        let settings = tempfile::tempdir().unwrap();
        // It takes no port 0: one that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let file = settings.path().join("settings.yml");
        let text = include_str!("searx.yml")
            .replace("{port}", &free.port().to_string())
            .replace("{results}", results);
        std::fs::write(&file, text).unwrap();
        let process = Command::new(program)
            .env("SEARX_SETTINGS_PATH", &file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let listening = async {
            while tokio::net::TcpStream::connect(free).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        // A guard against hanging, never a measure.
        tokio::time::timeout(Duration::from_secs(60), listening).await.unwrap();
        Self {
            process,
            url: format!("http://{free}"),
            _settings: settings,
        }
    }
}

impl Drop for Searx {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[tokio::test]
async fn a_real_searx_finds_local_pages() {
    let program = "/usr/bin/searx-run";
    if !Path::new(program).exists() {
        println!("NOT RUN: searx is not installed; tests/peers.sh installs it");
        return;
    }
    let pages = HttpServer::start(|_, request| {
        assert!(
            request.head.starts_with("GET /?q=how+do+kettles+boil"),
            "{}",
            request.head
        );
        let results = json!({ "results": [
            { "url": "https://a.example/1", "title": "Kettles", "content": "Kettles boil water." },
            { "url": "https://a.example/2", "title": "Pots", "content": "So do pots." },
        ] });
        HttpAnswer::response("200 OK", "content-type: application/json\r\n", &results.to_string())
    })
    .await;
    let searx = Searx::start(program, pages.url()).await;
    let engine = SearxNg::new(&searx.url).unwrap();
    let found = engine.find(&search("how do kettles boil"), &scope()).await.unwrap();
    let texts: Vec<_> = found
        .iter()
        .map(|result| (result.url.as_str(), result.snippet.as_str()))
        .collect();
    assert_eq!(
        texts,
        [
            ("https://a.example/1", "Kettles boil water."),
            ("https://a.example/2", "So do pots."),
        ]
    );
}
