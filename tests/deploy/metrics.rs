//! The dashboard and the alerts ask for metrics and labels that services have.
//!
//! A process has one meter: no other test of this program starts telemetry.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

use emend_chassis::{Telemetry, TelemetryOptions};
use emend_cli::cluster::Plan;
use emend_proto::v1::{Budget, Question, WalkStatus};
use emend_testkit::language_model::LanguageModel;
use emend_testkit::otlp::{self, Collector};
use emend_tests::{Fixture, question};
use serde_json::Value;

use crate::chart::list;
use crate::promql::names;
use crate::{peer, read};

/// What Prometheus adds to what it reads.
const OF_PROMETHEUS: [&str; 4] = ["namespace", "pod", "instance", "job"];

/// Labels that each metric has on any of its series.
type Exposed = BTreeMap<String, BTreeSet<String>>;

fn exposed(text: &str) -> Exposed {
    let mut exposed = Exposed::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let end = line.find(['{', ' ']).unwrap();
        let labels = exposed.entry(line[..end].to_owned()).or_default();
        let names = line[end..]
            .split("=\"")
            .map(|part| part.rsplit([',', '{', '"']).next().unwrap());
        labels.extend(names.filter(|name| !name.contains([' ', '}'])).map(str::to_owned));
    }
    exposed
}

/// Every expression of the alerts and of the dashboard, with where it stands.
fn expressions() -> Vec<(String, String)> {
    let rules: Value = serde_saphyr::from_str(&read("deploy/prometheus/rules.yaml")).unwrap();
    let rules = list(&rules["groups"]).flat_map(|group| list(&group["rules"]));
    let mut found: Vec<(String, String)> = rules
        .map(|rule| (rule["alert"].to_string(), rule["expr"].as_str().unwrap().to_owned()))
        .collect();
    let dashboard: Value = serde_json::from_str(&read("deploy/grafana/emend.json")).unwrap();
    for panel in list(&dashboard["panels"]) {
        for target in list(&panel["targets"]) {
            found.push((panel["title"].to_string(), target["expr"].as_str().unwrap().to_owned()));
        }
    }
    for variable in list(&dashboard["templating"]["list"]) {
        if let Some(query) = variable["query"]["query"].as_str() {
            let inner = query.strip_prefix("label_values(").unwrap().trim_end_matches(')');
            let (metric, label) = inner.split_once(", ").unwrap();
            found.push((variable["name"].to_string(), format!("sum by ({label}) ({metric})")));
        }
    }
    let adapter: Value = serde_saphyr::from_str(&read("deploy/prometheus/adapter.yaml")).unwrap();
    for rule in list(&adapter["rules"]["custom"]) {
        found.push(("adapter".to_owned(), rule["seriesQuery"].as_str().unwrap().to_owned()));
    }
    found
}

async fn get(url: &str) -> (u16, String) {
    get_as(url, "*/*").await
}

async fn get_as(url: &str, accepted: &str) -> (u16, String) {
    let http = emend_core::http::builder().no_proxy().build().unwrap();
    let answer = http.get(url).header("accept", accepted).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// The traces that the buckets of a histogram name.
fn traces_of(text: &str, histogram: &str) -> BTreeSet<String> {
    let bucket = format!("{histogram}_bucket{{");
    let lines = text.lines().filter(|line| line.starts_with(&bucket));
    lines
        .filter_map(|line| line.split_once(" # {trace_id=\"")?.1.split_once('"'))
        .map(|(trace, _)| trace.to_owned())
        .collect()
}

/// The parser of Prometheus' own client for Python, which takes nothing but OpenMetrics. Lists histograms with exemplars.
const PARSER: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    if any(sample.exemplar for sample in family.samples):
        print(family.name)
";

/// What [`PARSER`] lists, if it is there.
fn histograms_with_exemplars(text: &str) -> Option<String> {
    let python = peer("open-metrics")?.join("bin/python");
    let mut parser = Command::new(python)
        .args(["-c", PARSER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    parser.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = parser.wait_with_output().unwrap();
    assert!(output.status.success(), "{text}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_and_the_alerts_ask_for_what_services_have() {
    let mut options = TelemetryOptions::new("emend-orchestrator");
    options.log = "off".to_owned();
    options.metrics_listen = Some(([127, 0, 0, 1], 0).into());
    let (collector, endpoint) = Collector::start().await;
    options.traces = Some(endpoint);
    let telemetry = Telemetry::start(options).unwrap();
    let url = format!("http://{}", telemetry.metrics_address().unwrap());
    assert_eq!(get(&format!("{url}/readyz")).await.0, 503, "nothing serves yet");

    let model = LanguageModel::start().await;
    let pages = tempfile::tempdir().unwrap();
    std::fs::write(
        pages.path().join("bread.md"),
        "# Bread\n\nThe bakery sells rye bread on Tuesdays.",
    )
    .unwrap();
    let pages = pages.path().to_str().unwrap();
    let flags = [
        "--llm-url",
        &model.url(),
        "--llm-model",
        "stand-in",
        "--grader",
        "cascade",
        "--web-folder",
        pages,
    ];
    let fixture = Fixture::with_flags(Plan::default(), &flags).await;
    assert_eq!(get(&format!("{url}/readyz")).await.0, 200);
    let text = "The Torvik lighthouse was built in 1873 by the engineer Ansgar Lund.";
    fixture.ingest("village", &[("lighthouse", text)]).await;
    for graph in ["self-rag", "corrective-rag", "self-reflective-rag"] {
        // Twice, for the cache; and once what the documents do not know, for the web.
        for asked in ["Who built the Torvik lighthouse in 1873?"; 2]
            .into_iter()
            .chain(["When is rye bread sold?"])
        {
            fixture.ask(question(asked, graph, "village")).await.unwrap();
        }
    }
    let out_of_steps = Question {
        budget: Some(Budget {
            steps: Some(1),
            ..Budget::default()
        }),
        ..question("Who built the Torvik lighthouse?", "self-rag", "village")
    };
    assert_eq!(fixture.ask(out_of_steps).await.unwrap().status(), WalkStatus::Abstained);
    // What fails, has other labels: a collection that is not there, a model and a search engine that nobody runs.
    assert!(fixture.ask(question("Who?", "self-rag", "town")).await.is_err());
    let nobody = "http://127.0.0.1:1";
    let flags = ["--llm-url", nobody, "--llm-model", "gone", "--searxng-url", nobody];
    let broken = Fixture::with_flags(Plan::default(), &flags).await;
    broken.ingest("village", &[("lighthouse", text)]).await;
    let result = broken
        .ask(question("When is rye bread sold?", "corrective-rag", "village"))
        .await;
    assert_eq!(result.unwrap().status(), WalkStatus::Failed);
    broken.cluster.stop().await;
    // A caller's graph walks, and its name is no label.
    let own = read("services/orchestrator/graphs/plain-rag.yaml").replace("name: plain-rag", "name: mine-alone");
    let asked = Question {
        graph_yaml: own,
        ..question("Who built the Torvik lighthouse?", "", "village")
    };
    assert_eq!(fixture.ask(asked).await.unwrap().graph, "mine-alone");

    let (status, text) = get(&format!("{url}/metrics")).await;
    assert_eq!(status, 200);
    assert!(text.contains("gen_ai_workflow_name=\"_REQUEST\"") && !text.contains("mine-alone"));
    let exposed = exposed(&text);
    let mut unknown = Vec::new();
    for (place, expression) in expressions() {
        let names = names(&expression);
        assert!(!names.is_empty(), "{place}: {expression}");
        for (metric, labels) in names {
            let Some(known) = exposed.get(&metric) else {
                unknown.push(format!("{place}: no metric {metric}"));
                continue;
            };
            for label in labels {
                if !known.contains(&label) && !OF_PROMETHEUS.contains(&label.as_str()) {
                    unknown.push(format!("{place}: {metric} has no label {label}, but {known:?}"));
                }
            }
        }
    }
    let (status, open) = get_as(
        &format!("{url}/metrics"),
        "application/openmetrics-text;version=1.0.0,*/*;q=0.1",
    )
    .await;
    assert_eq!(status, 200);
    telemetry.flush().await;
    let spans = collector.spans();
    let sent: BTreeSet<String> = spans.all().map(|span| otlp::hex(&span.trace_id)).collect();
    let latencies = ["rpc_server_call_duration_seconds", "rpc_client_call_duration_seconds"];
    for histogram in latencies {
        let named = traces_of(&open, histogram);
        assert!(!named.is_empty() && named.is_subset(&sent), "{histogram}: {named:?}");
        assert!(traces_of(&text, histogram).is_empty(), "the older text has none");
    }
    if let Some(listed) = histograms_with_exemplars(&open) {
        assert!(latencies.iter().all(|histogram| listed.contains(histogram)), "{listed}");
    }

    let known: Vec<&String> = exposed.keys().collect();
    assert_eq!(unknown, Vec::<String>::new(), "known are {known:#?}");
    fixture.cluster.stop().await;
    assert_eq!(get(&format!("{url}/readyz")).await.0, 503, "nothing serves any more");
    telemetry.shutdown().await;
}
