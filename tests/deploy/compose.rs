//! The compose file and the image name only what there is.

use clap::Parser as _;
use emend_cli::args::{Arguments, Command};
use serde_json::Value;

use crate::chart::list;
use crate::options::{self, service_of};
use crate::{read, root};

fn compose() -> Value {
    serde_saphyr::from_str(&read("deploy/compose.yaml")).unwrap()
}

/// The default of `${NAME:-default}`, the whole of anything else; `None` where it is the shell's to say.
fn default(value: &str) -> Option<&str> {
    match value.strip_prefix("${").and_then(|value| value.strip_suffix('}')) {
        Some(variable) => variable.split_once(":-").map(|(_, default)| default),
        None => Some(value),
    }
}

#[test]
fn every_service_has_the_options_ports_and_health_of_its_binary() {
    let compose = compose();
    let mut seen = Vec::new();
    for (name, container) in compose["services"].as_object().unwrap() {
        let Some(command) = container["command"][0]
            .as_str()
            .filter(|word| word.starts_with("emend-"))
        else {
            continue;
        };
        let service = service_of(command).unwrap_or_else(|| panic!("{command} is no binary"));
        assert_eq!(service.name, name);
        let environment = container["environment"].as_object().unwrap();
        for (variable, value) in environment {
            let value = value.as_str().and_then(default);
            assert_eq!(service.problem(variable, value), None);
        }
        let listen = format!("0.0.0.0:{}", service.port());
        assert_eq!(environment["EMEND_LISTEN"], listen);
        for variable in service.variables() {
            // There is no other place to say them.
            assert!(
                environment.contains_key(&variable) || variable == "EMEND_CONFIG",
                "{name} has no {variable}"
            );
        }
        seen.push(service.name);
        if service.name == "gateway" {
            // It speaks HTTP, and the image has nothing that could ask it.
            continue;
        }
        let test: Vec<&str> = list(&container["healthcheck"]["test"])
            .map(|word| word.as_str().unwrap())
            .collect();
        assert_eq!(test[0], "CMD", "{name}: the image has no shell");
        let parsed = Arguments::try_parse_from(&test[1..]).unwrap();
        let Command::Health(health) = parsed.command else {
            panic!("{test:?}")
        };
        assert_eq!(health.address, format!("127.0.0.1:{}", service.port()), "{name}");
    }
    seen.sort_unstable();
    let mut all: Vec<&str> = options::services().iter().map(|service| service.name).collect();
    all.sort_unstable();
    assert_eq!(seen, all);
}

#[test]
fn every_file_that_compose_mounts_is_there() {
    let compose = compose();
    let mut files = 0;
    for container in compose["services"].as_object().unwrap().values() {
        for volume in list(&container["volumes"]).filter_map(Value::as_str) {
            if let Some(path) = volume.strip_prefix("./") {
                let path = path.split(':').next().unwrap();
                assert!(root().join("deploy").join(path).exists(), "{volume}");
                files += 1;
            }
        }
    }
    assert!(files >= 3, "{files}");
}

#[test]
fn the_image_has_every_service_and_reads_the_variables_that_it_sets() {
    let file = read("deploy/Dockerfile");
    let (_, linked) = file.split_once("for service in ").unwrap();
    let (linked, _) = linked.split_once(';').unwrap();
    let mut linked: Vec<&str> = linked.split_whitespace().collect();
    linked.sort_unstable();
    let mut services: Vec<&str> = options::services().iter().map(|service| service.name).collect();
    services.sort_unstable();
    assert_eq!(linked, services);
    for service in services {
        let name = format!("/usr/local/bin/emend-{service}");
        assert!(emend_cli::called_as::service(name.as_ref()).is_some(), "{name}");
    }
    for other in ["emend", "/usr/bin/emend", "emend-", "emend-graders", ""] {
        assert!(emend_cli::called_as::service(other.as_ref()).is_none(), "{other}");
    }
    let (_, variables) = file.rsplit_once("ENV ").unwrap();
    let variables = variables.replace('\\', " ");
    let names: Vec<&str> = variables
        .lines()
        .take_while(|line| line.contains('='))
        .filter_map(|line| line.trim().split_once('=').map(|(name, _)| name))
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    for name in names {
        let reads = |service: &options::Service| service.variables().iter().any(|variable| variable == name);
        assert!(options::services().iter().any(reads), "nobody reads {name}");
    }
}
