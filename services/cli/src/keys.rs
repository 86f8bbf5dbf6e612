//! `emend keys`: makes, lists and removes the API keys of services.

use std::process::ExitCode;

use anyhow::Result;
use emend_chassis::keys::{KeyEntry, KeysFile, Pattern, new_key};
use emend_core::list_names;
use serde_json::json;

use crate::{
    args::{AddKeyOptions, KeysCommand},
    terminal,
};

/// Runs the command.
///
/// # Errors
/// The file cannot be read or written, the name is taken or unknown.
pub fn run(command: KeysCommand) -> Result<ExitCode> {
    match command {
        KeysCommand::Add(options) => add(*options)?,
        KeysCommand::List { file, json } => list(&KeysFile::read(&file.path)?, json)?,
        KeysCommand::Remove { name, file } => {
            let mut keys = KeysFile::read(&file.path)?;
            keys.remove(&name)?;
            keys.write(&file.path)?;
            terminal::eprintln(format_args!("removed {name} from {}", file.path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn add(options: AddKeyOptions) -> Result<()> {
    let path = options.file.path;
    let mut keys = KeysFile::read_or_new(&path)?;
    let (key, sha256) = new_key()?;
    let entry = KeyEntry {
        sha256,
        allow: options.allow,
        collections: options.collections,
        graphs: options.graphs,
        rate: options.rate,
        model_calls_per_day: options.model_calls_per_day,
        tokens_per_day: options.tokens_per_day,
    };
    keys.add(&options.name, entry)?;
    keys.write(&path)?;
    // The one place that shows it.
    terminal::println(key.reveal())?;
    terminal::eprintln(format_args!(
        "added {} to {}; this is the only time that the key is shown",
        options.name,
        path.display()
    ));
    Ok(())
}

fn list(file: &KeysFile, as_json: bool) -> Result<()> {
    if as_json {
        // Digests are of no use to who reads a list.
        let keys: serde_json::Map<_, _> = file
            .keys
            .iter()
            .map(|(name, entry)| {
                let told = json!({
                    "allow": entry.allow,
                    "collections": entry.collections,
                    "graphs": entry.graphs,
                    "rate": entry.rate,
                    "modelCallsPerDay": entry.model_calls_per_day,
                    "tokensPerDay": entry.tokens_per_day,
                });
                (name.clone(), told)
            })
            .collect();
        return terminal::print_json(&json!({ "keys": keys }), true);
    }
    if file.keys.is_empty() {
        terminal::eprintln("there are no keys: make one with `emend keys add`");
    }
    for (name, entry) in &file.keys {
        let mut line = format!(
            "{name:<20} {}; collections {}; graphs {}",
            list_names(entry.allow.iter().map(|permission| permission.name())),
            list_names(entry.collections.iter().map(Pattern::to_string)),
            list_names(entry.graphs.iter().map(Pattern::to_string)),
        );
        for (what, value) in [
            ("rate", entry.rate.map(|rate| rate.to_string())),
            (
                "model calls a day",
                entry.model_calls_per_day.map(|most| most.to_string()),
            ),
            ("tokens a day", entry.tokens_per_day.map(|most| most.to_string())),
        ] {
            if let Some(value) = value {
                line.push_str(&format!("; {what} {value}"));
            }
        }
        terminal::println(line)?;
    }
    Ok(())
}
