//! A configuration file with every setting, commented out: made from clap's definitions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use clap::{Arg, ArgAction, Command};
use toml::Value;

use super::{commands, key};

/// Widest line of a comment, in characters.
const MAX_WIDTH: usize = 100;
/// The heading of what only services have.
const SERVICES: &str = "Services that `emend up` and the other commands start";
/// A setting of more commands than these says nothing of them.
const MAX_NAMED: usize = 4;

/// What begins the file.
const BEGINNING: &str = "\
# Settings of emend: of all its commands, and of the services that `emend up` and the others start.
#
# emend reads `emend/emend.toml` in the user's configuration folder (~/.config on Linux), or the file of --config or
# EMEND_CONFIG. A flag of the command line comes before the environment, the environment before this file. A key is the
# environment variable of the option without EMEND_: llm-url here is EMEND_LLM_URL there. `[llm] url = …` and `llm_url`
# mean the same.
#
# Every setting stands here with its default or, in capitals, with what it takes. Remove the # before a key to change it.
# Secrets have no place here: name the files that hold them. `emend doctor` checks what comes of it.
";

/// A setting as the template shows it.
struct Setting {
    argument: Arg,
    /// The commands and services that have it, in the order in which they are listed.
    of: Vec<String>,
}

/// The whole file.
#[must_use]
pub fn template() -> String {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    let mut settings: BTreeMap<String, Setting> = BTreeMap::new();
    for command in commands() {
        collect(&command, "", &mut sections, &mut settings);
    }
    let mut text = BEGINNING.to_owned();
    for (heading, keys) in &sections {
        let _ = write!(text, "\n\n##### {heading} #####\n");
        for key in keys {
            let Some(setting) = settings.get(key) else { continue };
            let _ = write!(text, "\n{}#{key} = {}\n", comment(setting), shown(&setting.argument));
        }
    }
    text
}

/// Puts the settings of a command and its subcommands under the headings of its help, and those that only services have
/// under the services.
fn collect(
    command: &Command,
    path: &str,
    sections: &mut Vec<(String, Vec<String>)>,
    settings: &mut BTreeMap<String, Setting>,
) {
    let service = command.get_name().strip_prefix("emend-");
    let name = match command.get_name() {
        "emend" => String::new(),
        name => format!("{path} {}", service.unwrap_or(name)).trim().to_owned(),
    };
    for argument in command.get_arguments() {
        let Some(key) = key(argument) else { continue };
        let of = name.clone();
        if let Some(known) = settings.get_mut(&key) {
            known.of.push(of);
            continue;
        }
        let heading = match service {
            Some(_) => SERVICES.to_owned(),
            None => argument.get_help_heading().unwrap_or("General").to_owned(),
        };
        match sections.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, keys)) => keys.push(key.clone()),
            None => sections.push((heading, vec![key.clone()])),
        }
        let argument = argument.clone();
        settings.insert(key, Setting { argument, of: vec![of] });
    }
    for sub in command.get_subcommands() {
        collect(sub, &name, sections, settings);
    }
}

/// The help of a setting, and which commands have it where they are few.
fn comment(setting: &Setting) -> String {
    let help = setting.argument.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = setting
        .argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set() && !matches!(value.get_name(), "true" | "false"))
        .map(|value| value.get_name().to_owned())
        .collect();
    let mut said = help.trim_end_matches('.').to_owned();
    if !values.is_empty() {
        let _ = write!(said, " [one of: {}]", values.join(", "));
    }
    let of: BTreeSet<&str> = setting
        .of
        .iter()
        .map(String::as_str)
        .filter(|name| !name.is_empty())
        .collect();
    if !of.is_empty() && of.len() <= MAX_NAMED {
        let _ = write!(said, " ({})", of.into_iter().collect::<Vec<_>>().join(", "));
    }
    wrapped(&said)
}

/// Lines of comments, broken between words.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > MAX_WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    lines.push_str(&line);
    lines.push('\n');
    lines
}

/// The default, or what the value is called.
fn shown(argument: &Arg) -> String {
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    let values = match argument.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => vec!["false".to_owned()],
        _ if defaults.is_empty() => vec![placeholder(argument)],
        _ => defaults,
    };
    let mut values = values.iter().map(|value| literal(value));
    match argument.get_action() {
        ArgAction::Append => format!("[{}]", values.collect::<Vec<_>>().join(", ")),
        _ => values.next().unwrap_or_default(),
    }
}

fn placeholder(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    names.first().map_or_else(|| "VALUE".to_owned(), ToString::to_string)
}

/// Numbers and truth values as they are, the others in quotes.
fn literal(value: &str) -> String {
    let read = format!("value = {value}").parse::<toml::Table>();
    match read.as_ref().ok().and_then(|table| table.get("value")) {
        Some(Value::Integer(_) | Value::Float(_) | Value::Boolean(_)) => value.to_owned(),
        _ => Value::String(value.to_owned()).to_string(),
    }
}
