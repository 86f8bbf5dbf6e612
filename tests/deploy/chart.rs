//! The Helm chart: what it renders, asked of the binaries.

use std::process::Command;

use clap::Parser as _;
use emend_cli::args::Arguments;
use serde_json::Value;

use crate::options::{self, service_of};
use crate::{peer, root};

/// Values that are tested, by name: files of `values`, and the chart's own for `default`.
pub(crate) const VALUES: [&str; 6] = ["default", "autoscaling", "everything", "models", "qdrant", "tls"];

/// The objects that the chart renders; `None` where there is no Helm.
pub(crate) fn rendered(values: &str, namespace: &str, more: &[&str]) -> Option<Vec<Value>> {
    let helm = peer("kubernetes/helm")?;
    let mut command = Command::new(helm);
    command
        .args(["template", "emend"])
        .arg(root().join("deploy/helm/emend"));
    command.args(["--namespace", namespace]).args(more);
    if values != "default" {
        command
            .arg("--values")
            .arg(root().join(format!("tests/deploy/values/{values}.yaml")));
    }
    let output = command.output().unwrap();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{values}: {problem}");
    let text = String::from_utf8(output.stdout).unwrap();
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    Some(objects.into_iter().filter(Value::is_object).collect())
}

/// What runs pods: Deployments and StatefulSets.
pub(crate) fn workloads(objects: &[Value]) -> impl Iterator<Item = &Value> {
    let runs = |object: &&Value| object["kind"] == "Deployment" || object["kind"] == "StatefulSet";
    objects.iter().filter(runs)
}

pub(crate) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[test]
fn helm_finds_nothing_wrong() {
    let Some(helm) = peer("kubernetes/helm") else { return };
    for values in VALUES {
        let mut command = Command::new(&helm);
        command.args(["lint", "--strict"]).arg(root().join("deploy/helm/emend"));
        if values != "default" {
            command
                .arg("--values")
                .arg(root().join(format!("tests/deploy/values/{values}.yaml")));
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && !said.contains("[WARNING]"),
            "{values}: {said}"
        );
    }
}

#[test]
fn the_values_that_the_page_shows_are_those_of_the_chart() {
    let page = std::fs::read_to_string(root().join("deploy/README.md")).unwrap();
    let (_, values) = page.split_once("```yaml\n# mine.yaml\n").unwrap();
    let (values, _) = values.split_once("```").unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), values).unwrap();
    let more = [
        "--values",
        file.path().to_str().unwrap(),
        "--api-versions",
        "monitoring.coreos.com/v1",
    ];
    let Some(objects) = rendered("default", "emend", &more) else {
        return;
    };
    let all = serde_json::to_string(&objects).unwrap();
    for shown in [
        "registry.example.com/emend:0.1.0",
        "Qwen/Qwen3-8B",
        "cascade",
        "PodMonitor",
        "PrometheusRule",
    ] {
        assert!(
            all.contains(shown),
            "{shown} is nowhere in what the chart makes of\n{values}"
        );
    }
}

#[test]
fn a_value_that_does_not_exist_or_has_another_type_is_refused() {
    let Some(helm) = peer("kubernetes/helm") else { return };
    for (wrong, named) in [
        ("services.grader.replica=2", "replica"),
        ("services.grader.replicas=two", "replicas"),
        ("services.reader.port=1", "reader"),
        ("telemetry.otlpEndpoint=jaeger:4317", "otlpEndpoint"),
        ("gateway.enabled=true", "parentRefs"),
        ("metrics.port=0", "port"),
    ] {
        let output = Command::new(&helm)
            .args(["template", "emend", "--set", wrong])
            .arg(root().join("deploy/helm/emend"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(named), "{wrong}: {said}");
    }
}

#[test]
fn every_option_port_and_probe_is_one_of_the_binary() {
    for values in VALUES {
        let Some(objects) = rendered(values, "emend", &[]) else {
            return;
        };
        let mut seen = Vec::new();
        for workload in workloads(&objects) {
            let pod = &workload["spec"]["template"]["spec"];
            let container = &pod["containers"][0];
            let command = container["command"][0].as_str().unwrap();
            let service = service_of(command).unwrap_or_else(|| panic!("{command} is no binary"));
            for variable in list(&container["env"]) {
                let name = variable["name"].as_str().unwrap();
                assert_eq!(service.problem(name, variable["value"].as_str()), None, "{values}");
            }
            let variable = |name: &str| {
                let found = list(&container["env"]).find(|variable| variable["name"] == name);
                found.unwrap_or_else(|| panic!("{command} has no {name}"))["value"]
                    .as_str()
                    .unwrap()
            };
            let port = service.port();
            assert_eq!(variable("EMEND_LISTEN"), format!("0.0.0.0:{port}"));
            let ports: Vec<(&str, u64)> = list(&container["ports"])
                .map(|port| (port["name"].as_str().unwrap(), port["containerPort"].as_u64().unwrap()))
                .collect();
            let metrics = variable("EMEND_METRICS_LISTEN").strip_prefix("0.0.0.0:").unwrap();
            let serving = if service.name == "gateway" { "http" } else { "grpc" };
            assert_eq!(ports, [(serving, port), ("metrics", metrics.parse().unwrap())]);
            for (probe, path) in [
                ("startupProbe", "/readyz"),
                ("readinessProbe", "/readyz"),
                ("livenessProbe", "/livez"),
            ] {
                let (grpc, http) = (&container[probe]["grpc"], &container[probe]["httpGet"]);
                if http.is_null() {
                    assert_eq!(
                        (&grpc["port"], &grpc["service"]),
                        (&port.into(), &service.grpc.into()),
                        "{probe}"
                    );
                } else {
                    let of = if service.name == "gateway" { "http" } else { "metrics" };
                    assert_eq!((&http["port"], &http["path"]), (&of.into(), &path.into()), "{probe}");
                }
            }
            for first in list(&pod["initContainers"]) {
                let words: Vec<&str> = list(&first["command"]).map(|word| word.as_str().unwrap()).collect();
                Arguments::try_parse_from(&words).unwrap();
            }
            seen.push(service.name);
        }
        seen.sort_unstable();
        let mut all: Vec<&str> = options::services().iter().map(|service| service.name).collect();
        // The gateway is there where it is wanted.
        all.retain(|name| *name != "gateway" || values == "tls");
        all.sort_unstable();
        assert_eq!(seen, all, "{values}");
    }
}

#[test]
fn a_folder_that_a_service_is_told_of_is_mounted_and_writable_where_it_writes() {
    /// What the image brings.
    const IMAGE: &str = "/usr/share/emend";
    const WRITTEN: [&str; 2] = ["EMEND_DATA_DIR", "EMEND_FEEDBACK_DIR"];
    let mut written = Vec::new();
    for values in VALUES {
        let Some(objects) = rendered(values, "emend", &[]) else {
            return;
        };
        for workload in workloads(&objects) {
            let pod = &workload["spec"]["template"]["spec"];
            let volumes: Vec<&str> = list(&pod["volumes"])
                .chain(list(&workload["spec"]["volumeClaimTemplates"]).map(|claim| &claim["metadata"]))
                .map(|volume| volume["name"].as_str().unwrap())
                .collect();
            let container = &pod["containers"][0];
            for variable in list(&container["env"]) {
                let name = variable["name"].as_str().unwrap();
                let Some(path) = variable["value"].as_str().filter(|value| value.starts_with('/')) else {
                    continue;
                };
                let mounted = list(&container["volumeMounts"])
                    .find(|mount| std::path::Path::new(path).starts_with(mount["mountPath"].as_str().unwrap()));
                let Some(mount) = mounted else {
                    assert!(path.starts_with(IMAGE), "{values}: {name}={path} is nowhere");
                    continue;
                };
                assert!(volumes.contains(&mount["name"].as_str().unwrap()), "{values}: {mount}");
                if WRITTEN.contains(&name) {
                    assert_ne!(mount["readOnly"], true, "{values}: {name}");
                    written.push(name.to_owned());
                }
            }
        }
    }
    assert!(
        WRITTEN.iter().all(|name| written.iter().any(|known| known == name)),
        "{written:?}"
    );
}

/// A pod that is taken over must not give away what others are let in with.
#[test]
fn the_key_of_the_orchestrator_is_in_its_pods_alone() {
    let Some(objects) = rendered("tls", "emend", &[]) else {
        return;
    };
    let mut with_keys = 0;
    for workload in workloads(&objects) {
        let pod = &workload["spec"]["template"]["spec"];
        let name = pod["containers"][0]["name"].as_str().unwrap();
        let Some(keys) = list(&pod["volumes"]).find(|volume| volume["name"] == "keys") else {
            assert_eq!(name, "gateway", "it hands on the keys of its callers, and has none");
            continue;
        };
        with_keys += 1;
        let items: Vec<&str> = list(&keys["secret"]["items"])
            .map(|item| item["key"].as_str().unwrap())
            .collect();
        let expected: &[&str] = if name == "orchestrator" {
            &["keys.toml", "service"]
        } else {
            &["keys.toml"]
        };
        assert_eq!(items, expected, "{name}");
    }
    assert_eq!(with_keys, 6);
}

#[test]
fn pods_hold_no_token_and_write_to_no_root() {
    for values in VALUES {
        let Some(objects) = rendered(values, "emend", &[]) else {
            return;
        };
        for workload in workloads(&objects) {
            let pod = &workload["spec"]["template"]["spec"];
            assert_eq!(pod["automountServiceAccountToken"], false);
            assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
            for container in list(&pod["containers"]).chain(list(&pod["initContainers"])) {
                assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
                assert!(container["resources"]["requests"]["cpu"].is_string(), "{container}");
                // A secret comes by reference.
                for variable in list(&container["env"]) {
                    let name = variable["name"].as_str().unwrap();
                    let is_secret =
                        name.ends_with("_API_KEY") || name.ends_with("_TOKEN") || name.ends_with("_PASSWORD");
                    assert!(
                        !is_secret || variable["valueFrom"]["secretKeyRef"].is_object(),
                        "{name}"
                    );
                }
            }
        }
        let accounts = objects.iter().filter(|object| object["kind"] == "ServiceAccount");
        assert_eq!(accounts.clone().count(), workloads(&objects).count());
        for account in accounts {
            assert_eq!(account["automountServiceAccountToken"], false);
        }
    }
}
