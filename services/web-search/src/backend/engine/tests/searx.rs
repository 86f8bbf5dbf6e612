//! A real searx, which SearXNG has come from, if its program is installed: `tests/peers.sh`.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use emend_pages::PageSettings;
use emend_proto::v1::Origin;

use super::*;
use crate::backend::pages::{MAX_PAGE_BYTES, PageReader};
use crate::backend::web::{Web, WebSettings};
use crate::backend::{Provider as _, Search};

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
        let host = request.head.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.or_else(|| request.head.lines().find_map(|line| line.strip_prefix("Host: ")));
        match request.head.split(' ').nth(1).unwrap() {
            "/kettles?p=1" => HttpAnswer::response(
                "200 OK",
                "content-type: text/html\r\n",
                "<title>Kettles</title><nav>Home</nav><p>A coil boils the water of a kettle.",
            ),
            query if query.starts_with("/?q=how+do+kettles+boil") => {
                let results = json!({ "results": [
                    { "url": format!("http://{}/kettles?p=1", host.unwrap()), "title": "Of searx", "content": "Kettles boil water." },
                    { "url": "https://a.example/2", "title": "Pots", "content": "So do pots." },
                ] });
                HttpAnswer::response("200 OK", "content-type: application/json\r\n", &results.to_string())
            }
            _ => HttpAnswer::response("404 Not Found", "", ""),
        }
    })
    .await;
    let searx = Searx::start(program, pages.url()).await;
    let engine = SearxNg::new(&searx.url).unwrap();
    let found = engine.find(&search("how do kettles boil"), &scope()).await.unwrap();
    let page = format!("{}/kettles?p=1", pages.url());
    let texts: Vec<_> = found
        .iter()
        .map(|result| (result.url.as_str(), result.snippet.as_str()))
        .collect();
    assert_eq!(
        texts,
        [
            (page.as_str(), "Kettles boil water."),
            ("https://a.example/2", "So do pots."),
        ]
    );
    // As the service does it: the page that searx finds is fetched and read.
    let reader = PageReader::new(PageSettings {
        domains: DomainFilter::default(),
        ports: vec![Url::parse(pages.url()).unwrap().port().unwrap()],
        allowed_networks: vec!["127.0.0.1/32".parse().unwrap()],
        max_bytes: MAX_PAGE_BYTES,
        ignores_robots: false,
    });
    let settings = WebSettings {
        rate: "100/s".parse().unwrap(),
        cache_ttl: Duration::ZERO,
        cache_bytes: 0,
        passage_chars: 300,
    };
    let web = Web::new(Arc::new(engine), Arc::new(reader.unwrap()), &settings);
    let search = Search {
        domains: DomainFilter::default(),
        ..search("how do kettles boil")
    };
    let passages = web.search(search, scope()).await.unwrap().passages;
    assert_eq!(passages.len(), 1);
    let read = &passages[0];
    assert_eq!(
        (read.source.as_str(), read.title.as_str(), read.text.as_str()),
        (page.as_str(), "Kettles", "A coil boils the water of a kettle.")
    );
    assert_eq!(read.origin(), Origin::Web);
}
