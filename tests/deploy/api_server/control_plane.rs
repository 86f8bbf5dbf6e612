//! An etcd and an API server, as processes of this test.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use emend_tests::PATIENCE;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::peer;

/// How an object was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    Created,
    Changed,
}

/// The API of a cluster without nodes. It ends when this is dropped.
pub(crate) struct ControlPlane {
    url: String,
    token: String,
    http: reqwest::Client,
    _processes: [Process; 2],
    folder: TempDir,
}

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl ControlPlane {
    /// Starts both, and waits until the API is ready.
    pub(crate) async fn start(etcd: &Path, server: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [client, peers, api] = free_ports();
        let store = format!("http://127.0.0.1:{client}");
        let started = run(
            Command::new(etcd)
                .arg("--data-dir")
                .arg(folder.path().join("etcd"))
                .args(["--listen-client-urls", &store, "--advertise-client-urls", &store])
                .args(["--listen-peer-urls", &format!("http://127.0.0.1:{peers}")])
                // What is written lives as long as this test.
                .arg("--unsafe-no-fsync"),
            &folder.path().join("etcd.log"),
        );
        let token = format!("{:032x}", std::process::id());
        let tokens = folder.path().join("tokens");
        std::fs::write(&tokens, format!("{token},tester,tester,system:masters\n")).unwrap();
        let key = folder.path().join("accounts.key");
        std::fs::write(&key, private_key()).unwrap();
        let arguments = [
            ("--etcd-servers", store.clone()),
            ("--bind-address", "127.0.0.1".to_owned()),
            ("--advertise-address", "127.0.0.1".to_owned()),
            ("--secure-port", api.to_string()),
            ("--cert-dir", folder.path().join("certificates").display().to_string()),
            ("--token-auth-file", tokens.display().to_string()),
            ("--service-account-key-file", key.display().to_string()),
            ("--service-account-signing-key-file", key.display().to_string()),
            ("--service-account-issuer", "https://127.0.0.1".to_owned()),
            ("--service-cluster-ip-range", "10.0.0.0/24".to_owned()),
            ("--authorization-mode", "RBAC".to_owned()),
            ("--endpoint-reconciler-type", "none".to_owned()),
        ];
        let mut command = Command::new(server);
        command.args(arguments.iter().map(|(name, value)| format!("{name}={value}")));
        let serving = run(&mut command, &folder.path().join("api.log"));
        // Its certificate is its own, made when it starts; it is on loopback, and this test is its only client.
        let http = emend_core::http::builder()
            .danger_accept_invalid_certs(true)
            .no_proxy()
            .timeout(PATIENCE)
            .build()
            .unwrap();
        let plane = Self {
            url: format!("https://127.0.0.1:{api}"),
            token,
            http,
            _processes: [serving, started],
            folder,
        };
        plane
            .wait_for("the API server", async || plane.get("/readyz").await.is_ok())
            .await;
        plane
    }

    /// Adds kinds, and waits until objects of them can be made.
    pub(crate) async fn define(&self, definitions: &[Value]) {
        for definition in definitions {
            // What its authors may be warned of is not ours to change.
            self.apply(definition).await.unwrap();
            let path = format!(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}",
                definition["metadata"]["name"].as_str().unwrap()
            );
            self.wait_for(&path, async || {
                let conditions = self.get(&path).await.unwrap()["status"]["conditions"].clone();
                let mut conditions = conditions.as_array().into_iter().flatten();
                conditions.any(|condition| condition["type"] == "Established" && condition["status"] == "True")
            })
            .await;
        }
    }

    /// Applies an object; an error or a warning fails the test.
    pub(crate) async fn expect(&self, object: &Value) -> Applied {
        let what = format!("{} {}", object["kind"], object["metadata"]["name"]);
        let (applied, warnings) = self
            .apply(object)
            .await
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(warnings, Vec::<String>::new(), "{what}");
        applied
    }

    /// Applies an object on the server's side, strictly: an unknown or doubled field is an error. Returns what the server
    /// warns of.
    pub(crate) async fn apply(&self, object: &Value) -> Result<(Applied, Vec<String>), String> {
        let path = self.path(object).await?;
        let url = format!("{}{path}?fieldManager=emend&fieldValidation=Strict", self.url);
        let request = self.http.patch(url).bearer_auth(&self.token);
        let request = request.header("content-type", "application/apply-patch+yaml");
        let answer = request
            .body(object.to_string())
            .send()
            .await
            .map_err(|error| error.to_string())?;
        let applied = match answer.status().as_u16() {
            200 => Applied::Changed,
            201 => Applied::Created,
            _ => return Err(answer.text().await.unwrap_or_default()),
        };
        let warnings = answer.headers().get_all("warning").iter();
        Ok((
            applied,
            warnings
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
                .collect(),
        ))
    }

    /// Where an object is, by what the server says of its kind.
    async fn path(&self, object: &Value) -> Result<String, String> {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let group = if version == "v1" {
            "/api/v1".to_owned()
        } else {
            format!("/apis/{version}")
        };
        let kinds = self.get(&group).await?;
        let mut kinds = kinds["resources"].as_array().into_iter().flatten();
        let kind = kinds
            .find(|known| known["kind"] == object["kind"] && !known["name"].as_str().unwrap_or_default().contains('/'))
            .ok_or_else(|| format!("the server has no {} in {version}", object["kind"]))?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let plural = kind["name"].as_str().unwrap_or_default();
        Ok(if kind["namespaced"] == json!(true) {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
            format!("{group}/namespaces/{namespace}/{plural}/{name}")
        } else {
            format!("{group}/{plural}/{name}")
        })
    }

    async fn get(&self, path: &str) -> Result<Value, String> {
        let request = self.http.get(format!("{}{path}", self.url)).bearer_auth(&self.token);
        let answer = request.send().await.map_err(|error| error.to_string())?;
        let answer = answer.error_for_status().map_err(|error| error.to_string())?;
        let text = answer.text().await.map_err(|error| error.to_string())?;
        // `/readyz` says it in words.
        Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    async fn wait_for(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so().await {
            let log = || std::fs::read_to_string(self.folder.path().join("api.log")).unwrap_or_default();
            assert!(Instant::now() < end, "{what} is not ready:\n{}", log());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

fn run(command: &mut Command, log: &Path) -> Process {
    let log = File::create(log).unwrap();
    command.env_clear().stdin(Stdio::null());
    command.stdout(log.try_clone().unwrap()).stderr(log);
    Process(command.spawn().unwrap())
}

/// Ports that nobody listens on; both programs want to be told theirs.
fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// A key that nothing outside this test trusts, by a function of Helm's templates.
fn private_key() -> String {
    let chart = tempfile::tempdir().unwrap();
    std::fs::create_dir(chart.path().join("templates")).unwrap();
    std::fs::write(
        chart.path().join("Chart.yaml"),
        "apiVersion: v2\nname: key\nversion: 0.0.1\n",
    )
    .unwrap();
    let template = "key: {{ genPrivateKey \"ecdsa\" | quote }}\n";
    std::fs::write(chart.path().join("templates/key.yaml"), template).unwrap();
    let helm = peer("kubernetes/helm").expect("what is built with the API servers");
    let output = Command::new(helm)
        .args(["template", "key"])
        .arg(chart.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    objects[0]["key"].as_str().unwrap().to_owned()
}
