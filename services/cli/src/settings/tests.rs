use clap::CommandFactory as _;

use super::*;

/// Writes a file and reads it as the program would.
fn read(text: &str) -> Result<ConfigFile, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    std::fs::write(&path, text).unwrap();
    let file = ConfigFile::read(&path)?;
    file.check(keys())?;
    Ok(file)
}

/// The template with the settings that `wanted` takes.
fn uncommented(wanted: impl Fn(&str) -> bool) -> String {
    let shown = |line: &str| {
        let setting = line
            .strip_prefix('#')
            .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        match setting {
            Some(setting) if wanted(setting) => setting.to_owned(),
            _ => line.to_owned(),
        }
    };
    template().lines().map(|line| shown(line) + "\n").collect()
}

/// Whether a line of the template shows a default, and not what the value is called.
fn has_default(line: &str) -> bool {
    let value = line.split_once(" = ").unwrap().1;
    let name = value.trim_matches(['[', ']', '"']);
    !name.chars().all(|c| c.is_ascii_uppercase() || "-_:/#.…|".contains(c))
}

#[test]
fn the_template_is_read_back_and_has_every_key() {
    assert!(read(&template()).unwrap().is_empty(), "all of it is commented out");
    let all = read(&uncommented(|_| true)).unwrap();
    assert_eq!(all.len(), keys().len());
    assert!(all.len() > 80, "{}", all.len());
    assert!(template().lines().all(|line| line.chars().count() <= 160));
}

#[test]
fn every_default_of_the_template_is_one_that_its_option_takes() {
    let file = read(&uncommented(has_default)).unwrap();
    assert!(file.len() > 40, "{}", file.len());
    for command in commands() {
        file.layer(command, &key).unwrap().debug_assert();
    }
    assert_eq!(file.get("graph").as_deref(), Some("self-corrective-rag"));
    assert_eq!(file.get("base-port").as_deref(), Some("50050"));
}

#[test]
fn a_key_that_is_unknown_is_named_with_its_line_and_the_nearest() {
    let error = read("# first\ngraph = \"self-rag\"\nlml-url = \"http://127.0.0.1:1\"\n").unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("unknown key \"lml-url\"") && error.contains("line 3"),
        "{error}"
    );
    assert!(error.contains("did you mean \"llm-url\"?"), "{error}");
    assert!(error.len() < 300, "not all keys: {error}");
    for (text, line) in [
        ("graph = \"a\"\n[llm]\nurl = \"b\"\nurls = \"c\"", "line 4"),
        ("question = \"why?\"", "line 1"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(line), "{error}");
    }
}

#[test]
fn a_secret_has_no_key_and_its_file_has() {
    for secret in ["llm-api-key", "api-key", "tavily-api-key", "qdrant-api-key"] {
        let error = read(&format!("{secret} = \"s3cret\"")).unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean \"{secret}-file\"?")), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
}

#[test]
fn a_value_that_its_option_does_not_take_is_named_with_its_line() {
    let file = read("\nbase-port = 99999999\n").unwrap();
    let error = file.layer(Arguments::command(), &key).unwrap_err().to_string();
    assert!(
        error.contains("\"base-port\"") && error.contains("line 2") && error.contains("99999999"),
        "{error}"
    );
    let file = read("graph = [\"a\", \"b\"]").unwrap();
    let error = file.layer(Arguments::command(), &key).unwrap_err().to_string();
    assert!(error.contains("single value"), "{error}");
}

#[test]
fn a_file_without_end_is_refused() {
    let error = read(&"#".repeat((1 << 20) + 1)).unwrap_err();
    let error = emend_core::error_chain(&error);
    assert!(error.contains("more than 1048576 bytes"), "{error}");
}

#[test]
fn what_a_command_needs_may_come_from_the_file() {
    let file = read("feedback-dir = \"there\"").unwrap();
    let command = file.layer(Arguments::command(), &key).unwrap();
    let record = [
        "emend",
        "feedback",
        "record",
        "--verdict",
        "right",
        "--question",
        "q",
        "--answer",
        "a",
    ];
    let export = ["emend", "feedback", "export", "--out", "pairs"];
    for line in [&record[..], &export] {
        assert!(Arguments::command().try_get_matches_from(line).is_err(), "{line:?}");
        command.clone().try_get_matches_from(line).unwrap();
    }
}

#[test]
fn what_needs_no_settings_reads_no_file() {
    let parsed = |line: &[&str]| {
        let line = [&["emend", "--config", "/nowhere/emend.toml"], line].concat();
        parse(line.into_iter().map(OsString::from))
    };
    for line in [&["health", "127.0.0.1:50052"][..], &["completions", "bash"], &["init"]] {
        parsed(line).unwrap();
    }
    let error = parsed(&["graph", "list"]).unwrap_err().to_string();
    assert!(error.contains("/nowhere/emend.toml"), "{error}");
    assert!(matches!(parsed(&["--help"]), Err(ConfigError::Clap(_))));
}
