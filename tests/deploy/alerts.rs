//! The alerts: read and tried by Prometheus' own promtool, and each explained to whoever it wakes.

use std::process::Command;

use serde_json::Value;

use crate::chart::list;
use crate::{peer, read, root};

const RULES: &str = "deploy/prometheus/rules.yaml";
const TESTS: &str = "tests/deploy/alerts.yaml";

#[test]
fn prometheus_takes_the_rules_and_each_alert_fires_when_it_should() {
    let Some(promtool) = peer("prometheus/promtool") else {
        return;
    };
    for arguments in [
        &["check", "rules", "--lint=all", "--lint-fatal", RULES][..],
        // The rules are where a container mounts them.
        &["check", "config", "--syntax-only", "deploy/prometheus/prometheus.yml"],
        &["test", "rules", TESTS],
    ] {
        let output = Command::new(&promtool)
            .current_dir(root())
            .args(arguments)
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&said)
        );
    }
}

#[test]
fn every_alert_is_tried_and_says_what_to_do() {
    let rules: Value = serde_saphyr::from_str(&read(RULES)).unwrap();
    let (readme, tests) = (read("deploy/README.md"), read(TESTS));
    let mut alerts = 0;
    for rule in list(&rules["groups"]).flat_map(|group| list(&group["rules"])) {
        let name = rule["alert"].as_str().unwrap();
        assert!(
            readme.contains(&format!("\n| {name} | ")),
            "deploy/README.md has no row for {name}"
        );
        assert!(
            tests.contains(&format!("alertname: {name}\n")),
            "{TESTS} does not try {name}"
        );
        alerts += 1;
    }
    let rows = readme.lines().filter(|line| line.starts_with("| Emend"));
    assert_eq!(
        rows.count(),
        alerts,
        "deploy/README.md explains alerts that there are not"
    );
}
