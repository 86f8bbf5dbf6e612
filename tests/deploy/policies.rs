//! The NetworkPolicies of the chart allow the calls that there are.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::chart::{list, rendered, workloads};

const COMPONENT: &str = "app.kubernetes.io/component";

/// Who calls whom, by what containers are told: (caller, callee).
fn calls(objects: &[Value]) -> BTreeSet<(String, String)> {
    let mut calls = BTreeSet::new();
    for workload in workloads(objects) {
        let caller = workload["spec"]["selector"]["matchLabels"][COMPONENT].as_str().unwrap();
        for variable in list(&workload["spec"]["template"]["spec"]["containers"][0]["env"]) {
            let url = variable["value"].as_str().unwrap_or_default();
            let Some(host) = url
                .trim_start_matches("http")
                .trim_start_matches("s")
                .strip_prefix("://emend-")
            else {
                continue;
            };
            let callee = host.split(':').next().unwrap();
            calls.insert((caller.to_owned(), callee.to_owned()));
        }
    }
    calls
}

fn policies(objects: &[Value]) -> impl Iterator<Item = (&str, &Value)> {
    let policies = objects.iter().filter(|object| object["kind"] == "NetworkPolicy");
    policies.map(|policy| {
        let of = policy["spec"]["podSelector"]["matchLabels"][COMPONENT].as_str();
        (of.unwrap(), &policy["spec"])
    })
}

/// The services among the peers of rules.
fn services<'a>(rules: &'a Value, peers: &'static str) -> impl Iterator<Item = &'a str> {
    list(rules)
        .flat_map(move |rule| list(&rule[peers]))
        .filter_map(|peer| peer["podSelector"]["matchLabels"][COMPONENT].as_str())
}

#[test]
fn the_calls_that_are_made_are_allowed_on_both_sides_and_no_others() {
    for (values, made) in [("default", 5), ("everything", 5), ("tls", 7)] {
        let Some(objects) = rendered(values, "emend", &[]) else {
            return;
        };
        let calls = calls(&objects);
        assert_eq!(calls.len(), made, "{calls:?}");
        let (mut leaving, mut coming) = (BTreeSet::new(), BTreeSet::new());
        for (of, policy) in policies(&objects) {
            assert_eq!(policy["policyTypes"], serde_json::json!(["Ingress", "Egress"]), "{of}");
            leaving.extend(services(&policy["egress"], "to").map(|to| (of.to_owned(), to.to_owned())));
            coming.extend(services(&policy["ingress"], "from").map(|from| (from.to_owned(), of.to_owned())));
        }
        assert_eq!((&leaving, &coming), (&calls, &calls), "{values}");
        assert_eq!(policies(&objects).count(), workloads(&objects).count());
    }
}

#[test]
fn the_web_is_reached_by_web_search_alone_and_only_with_a_search_engine() {
    let to_addresses = |policy: &Value| {
        let peers = list(&policy["egress"]).flat_map(|rule| list(&rule["to"]));
        peers.filter(|peer| peer["ipBlock"].is_object()).count()
    };
    for (values, allowed) in [("default", &[][..]), ("everything", &["web-search"])] {
        let Some(objects) = rendered(values, "emend", &[]) else {
            return;
        };
        let reach: Vec<&str> = policies(&objects)
            .filter(|(_, policy)| to_addresses(policy) > 0)
            .map(|(of, _)| of)
            .collect();
        assert_eq!(reach, allowed, "{values}");
        for (of, policy) in policies(&objects) {
            // A rule without peers would allow everything.
            for rule in list(&policy["egress"]) {
                assert!(
                    list(&rule["to"]).count() > 0 && list(&rule["ports"]).count() > 0,
                    "{of}: {rule}"
                );
            }
            for rule in list(&policy["ingress"]) {
                assert!(
                    list(&rule["from"]).count() > 0 && list(&rule["ports"]).count() > 0,
                    "{of}: {rule}"
                );
            }
        }
    }
}
