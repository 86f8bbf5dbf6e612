//! The chart applied to real API servers: of the three versions of Kubernetes that are maintained, with an etcd, without
//! nodes. What an API server refuses or warns of is an error here; what controllers and nodes would make of it is not seen.

mod control_plane;

use serde_json::{Value, json};

use crate::chart::{VALUES, rendered};
use crate::{peer, root};
use control_plane::{Applied, ControlPlane};

/// The versions, as `tests/peers.sh` has them.
const VERSIONS: [&str; 3] = ["v1.37", "v1.36", "v1.35"];

/// Kinds that clusters have from elsewhere: their own definitions, from the modules that `tests/peers.sh` names.
fn definitions() -> Vec<Value> {
    let folder = peer("kubernetes/definitions").expect("what is built with the API servers");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
    let all = texts.flat_map(|text| serde_saphyr::from_multiple::<Value>(&text).unwrap());
    all.filter(|object| object["kind"] == "CustomResourceDefinition")
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_version_takes_the_chart_without_a_warning_and_an_upgrade_keeps_its_names_and_selectors() {
    let (Some(etcd), Some(_)) = (peer("kubernetes/etcd"), peer("kubernetes/helm")) else {
        return;
    };
    for version in VERSIONS {
        let Some(server) = peer(&format!("kubernetes/kube-apiserver-{version}")) else {
            continue;
        };
        let cluster = ControlPlane::start(&etcd, &server).await;
        cluster.define(&definitions()).await;
        for values in VALUES {
            let namespace = format!("emend-{values}");
            // Pods that would need more than the strictest standard are warned of.
            let made = json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": namespace, "labels": {
                    "pod-security.kubernetes.io/enforce": "restricted",
                    "pod-security.kubernetes.io/warn": "restricted",
                }},
            });
            cluster.expect(&made).await;
            let objects = rendered(values, &namespace, &[]).unwrap();
            for object in &objects {
                let applied = cluster.expect(&in_namespace(object, &namespace)).await;
                assert_eq!(applied, Applied::Created, "{version} {values}: {}", object["kind"]);
            }
            // A release later: other labels, another image, another number of pods.
            let later = upgraded(values, &namespace);
            assert_eq!(later.len(), objects.len());
            for object in &later {
                let applied = cluster.expect(&in_namespace(object, &namespace)).await;
                assert_eq!(applied, Applied::Changed, "{version} {values}: {}", object["kind"]);
            }
        }
        // A mistake is noticed: of a name, and of a value.
        let mut wrong = in_namespace(&rendered("default", "emend-default", &[]).unwrap()[0], "emend-default");
        wrong["spec"]["podSelektor"] = json!({});
        assert!(cluster.apply(&wrong).await.is_err());
    }
}

fn in_namespace(object: &Value, namespace: &str) -> Value {
    let mut object = object.clone();
    object["metadata"]["namespace"] = namespace.into();
    object
}

/// What the next version of the chart would render.
fn upgraded(values: &str, namespace: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(root().join("deploy/helm/emend/Chart.yaml")).unwrap();
    assert!(
        text.contains("version: 0.1.0") && text.contains("appVersion: \"0.1.0\""),
        "{text}"
    );
    let more = ["--set", "image.tag=0.2.0", "--set", "services.rewriter.replicas=3"];
    let mut objects = rendered(values, namespace, &more).unwrap();
    for object in &mut objects {
        relabel(object);
    }
    objects
}

/// Labels that say the version say the next one.
fn relabel(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "app.kubernetes.io/version" => *value = "0.2.0".into(),
                    "helm.sh/chart" => *value = "emend-0.2.0".into(),
                    _ => relabel(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(relabel),
        _ => {}
    }
}
