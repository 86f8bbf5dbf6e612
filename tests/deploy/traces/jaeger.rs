//! A Jaeger with its store in memory, as a process of this test.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use emend_tests::PATIENCE;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::chart::list;

/// A running Jaeger. It ends when this is dropped.
pub(crate) struct Jaeger {
    process: Child,
    collector: SocketAddr,
    query: String,
    http: reqwest::Client,
    folder: TempDir,
}

impl Drop for Jaeger {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Jaeger {
    /// Starts it, and waits until it can be asked.
    pub(crate) async fn start(program: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [collector, http, grpc] = listeners.map(|listener| listener.local_addr().unwrap());
        let config = folder.path().join("jaeger.json");
        // JSON is YAML.
        let settings = json!({
            "service": {
                "extensions": ["jaeger_storage", "jaeger_query"],
                "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["jaeger_storage_exporter"]}},
                "telemetry": {"metrics": {"level": "none"}},
            },
            "extensions": {
                "jaeger_storage": {"backends": {"memory": {"memory": {"max_traces": 1000}}}},
                "jaeger_query": {
                    "storage": {"traces": "memory"},
                    "http": {"endpoint": http.to_string()},
                    "grpc": {"endpoint": grpc.to_string()},
                },
            },
            "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": collector.to_string()}}}},
            "exporters": {"jaeger_storage_exporter": {"trace_storage": "memory"}},
        });
        std::fs::write(&config, settings.to_string()).unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new(program);
        command.arg("--config").arg(&config).env_clear().stdin(Stdio::null());
        let process = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let jaeger = Self {
            process,
            collector,
            query: format!("http://{http}"),
            http: emend_core::http::builder().no_proxy().build().unwrap(),
            folder,
        };
        jaeger.until("Jaeger", || jaeger.get("/api/services"), |_| true).await;
        jaeger
    }

    /// Where it takes traces, OTLP over gRPC.
    pub(crate) fn collector(&self) -> SocketAddr {
        self.collector
    }

    /// A trace, once it is as it should be; what there is of it when that takes too long.
    pub(crate) async fn trace(&self, id: &str, is_whole: impl Fn(&Value) -> bool) -> Value {
        let path = format!("/api/traces/{id}");
        let answer = self
            .until(&path, || self.get(&path), |answer| is_whole(&answer["data"][0]))
            .await;
        assert_eq!(list(&answer["data"]).count(), 1, "one trace");
        answer["data"][0].clone()
    }

    /// The traces of a service that have a span with these tags.
    pub(crate) async fn search(&self, service: &str, tags: &[(&str, &str)]) -> BTreeSet<String> {
        let tags: serde_json::Map<String, Value> = tags
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).into()))
            .collect();
        let url = reqwest::Url::parse_with_params(
            &format!("{}/api/traces", self.query),
            [
                ("service", service),
                ("tags", &Value::Object(tags).to_string()),
                ("limit", "100"),
                ("lookback", "1h"),
            ],
        );
        let text = self.http.get(url.unwrap()).send().await.unwrap().text().await.unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        list(&answer["data"])
            .filter_map(|trace| Some(trace["traceID"].as_str()?.to_owned()))
            .collect()
    }

    async fn get(&self, path: &str) -> Option<Value> {
        let answer = self.http.get(format!("{}{path}", self.query)).send().await.ok()?;
        let answer = answer.error_for_status().ok()?;
        serde_json::from_str(&answer.text().await.ok()?).ok()
    }

    /// Asks again and again, until the answer is as wanted or the time is over.
    async fn until<F: Future<Output = Option<Value>>>(
        &self,
        what: &str,
        ask: impl Fn() -> F,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = ask().await;
            let is_over = Instant::now() > end;
            match answer {
                Some(answer) if is_over || is_wanted(&answer) => return answer,
                None if is_over => {
                    let log = std::fs::read_to_string(self.folder.path().join("log"));
                    panic!("{what} does not answer:\n{}", log.unwrap_or_default());
                }
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}
