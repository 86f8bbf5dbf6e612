//! Precedence, and what is said of mistakes in the file.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use super::*;

/// Like a service's own options. Every variable has a name that no environment has.
#[derive(Parser, Debug)]
#[command(name = "emend-test", mut_arg("listen", |argument| argument.default_value("127.0.0.1:50052")))]
struct Options {
    #[command(flatten)]
    service: ServiceOptions,
    /// Passages to find
    #[arg(long, env = "EMEND_CHASSIS_TEST_TOP_K", default_value = "4")]
    top_k: u32,
    /// Say more
    #[arg(long)]
    verbose: bool,
    /// Domains to search
    #[arg(long, value_delimiter = ',')]
    domains: Vec<String>,
    /// Collection to search
    #[arg(long)]
    collection: Option<String>,
    /// Must be given
    #[arg(long)]
    model: String,
}

struct File {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn file(text: &str) -> File {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("emend.toml");
    std::fs::write(&path, text).unwrap();
    File { _folder: folder, path }
}

fn read(text: &str, flags: &[&str]) -> Result<Options, ConfigError> {
    let file = file(text);
    let mut arguments = vec![
        "emend-test".to_owned(),
        "--config".to_owned(),
        file.path.display().to_string(),
    ];
    arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
    parse(arguments)
}

#[test]
fn a_flag_beats_the_file_and_the_file_beats_the_default() {
    let options = read("model = \"file\"\ntop-k = 7", &["--model", "flag"]).unwrap();
    assert_eq!((options.model.as_str(), options.top_k), ("flag", 7));
    assert_eq!(options.service.default_timeout, Duration::from_secs(30));
    assert_eq!(options.service.listen.port(), 50052, "a service's own default");
}

#[test]
fn the_environment_beats_the_file() {
    // Setting a variable of one's own process is unsafe, so the variable is one that every process has.
    #[derive(Parser)]
    struct Path {
        #[arg(long, env = "PATH", default_value = "default")]
        path: String,
        #[arg(long)]
        config: Option<PathBuf>,
    }
    let file = file("path = \"file\"");
    let path: Path = parse(["test".into(), "--config".into(), file.path.clone().into_os_string()]).unwrap();
    assert_eq!(path.path, std::env::var("PATH").unwrap());
    assert_eq!(path.config, Some(file.path));
    // And the defaults are read from nowhere.
    assert_eq!(defaults::<Path>().path, "default");
}

#[test]
fn every_kind_of_value_and_spelling_is_read() {
    let options = read(
        "model = \"m\"\nverbose = true\ndomains = [\"a.org\", \"b.org\"]\ndefault_timeout = \"1m 30s\"\n\
         [max]\nin_flight = 8\n[log]\nformat = \"json\"",
        &[],
    )
    .unwrap();
    assert!(options.verbose);
    assert_eq!(options.domains, ["a.org", "b.org"]);
    assert_eq!(options.service.default_timeout, Duration::from_secs(90));
    assert_eq!(options.service.max_in_flight, 8);
    assert_eq!(options.service.log_format, LogFormat::Json);
    assert_eq!(options.collection, None);
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_and_all_known_ones() {
    let message = read("model = \"m\"\ntop-j = 3", &[]).unwrap_err().to_string();
    assert!(message.contains("unknown key \"top-j\""), "{message}");
    assert!(message.contains("did you mean \"top-k\"?"), "{message}");
    assert!(message.contains("collection, default-timeout, domains"), "{message}");
    let message = read("[nested.table]\nkey = 1", &[]).unwrap_err().to_string();
    assert!(message.contains("unknown key \"nested.table.key\""), "{message}");
    assert!(
        read("config = \"other.toml\"", &[]).is_err(),
        "a file cannot name another"
    );
}

#[test]
fn mistakes_in_the_file_are_named() {
    let message = read("log_format = \"json\"\nlog-format = \"text\"", &[])
        .unwrap_err()
        .to_string();
    assert!(message.contains("are the same option"), "{message}");
    let message = read("model = [\"a\", \"b\"]", &[]).unwrap_err().to_string();
    assert!(
        message.contains("\"model\"") && message.contains("single value"),
        "{message}"
    );
    let message = emend_core::error_chain(&read("top-k = 3\nmodel = s3cret", &[]).unwrap_err());
    assert!(message.contains("not valid TOML: line 2"), "{message}");
    assert!(!message.contains("s3cret"), "a secret may have been pasted: {message}");
    let message = read("model = \"m\"\nmax-in-flight = 0", &[]).unwrap_err().to_string();
    assert!(
        message.contains("--max-in-flight") && message.contains("at least 1"),
        "{message}"
    );
    let missing = parse::<Options>(["emend-test", "--config", "/nowhere/emend.toml"]).unwrap_err();
    assert!(missing.to_string().contains("/nowhere/emend.toml"), "{missing}");
}

#[test]
fn a_required_option_is_still_required_when_no_file_gives_it() {
    let error = read("top-k = 3", &[]).unwrap_err().to_string();
    assert!(error.contains("--model"), "{error}");
}

#[test]
fn the_config_flag_is_found_in_both_forms_and_not_behind_two_dashes() {
    let command = Options::command();
    let named = |arguments: &[&str]| {
        named_by(
            &arguments.iter().map(Into::into).collect::<Vec<_>>(),
            &command.clone().mut_args(|a| a.env(Resettable::Reset)),
        )
    };
    assert_eq!(named(&["x", "--config", "a.toml"]), Some("a.toml".into()));
    assert_eq!(named(&["x", "--top-k", "3", "--config=b.toml"]), Some("b.toml".into()));
    assert_eq!(named(&["x", "--", "--config", "c.toml"]), None);
    assert_eq!(named(&["x"]), None);
}

#[test]
fn the_defaults_are_those_of_the_manual() {
    let options = ServiceOptions::default();
    assert_eq!(options.listen, "127.0.0.1:50051".parse().unwrap());
    assert_eq!(options.max_in_flight, 64);
    assert_eq!(options.drain_timeout, Duration::from_secs(30));
    assert_eq!(options.max_connection_age, Duration::from_secs(300));
    assert_eq!(
        (options.log.as_str(), options.log_format, options.config),
        ("info", LogFormat::Text, None)
    );
}
