//! What a line that begins with `/` means.

use std::{path::PathBuf, str::FromStr};

use super::did_you_mean;

/// Every command: its name, what it takes, and what it does.
pub(super) const COMMANDS: [(&str, &str, &str); 7] = [
    ("graph", "[NAME]", "walks another graph; without a name it lists them"),
    ("docs", "FOLDER", "ingests a file or folder and answers from it"),
    ("sources", "", "shows the passages that the last answer cites"),
    ("trace", "", "shows the steps of the last walk"),
    ("new", "", "begins a new conversation"),
    ("help", "", "shows this"),
    ("quit", "", "ends"),
];

/// A command within a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Graph(Option<String>),
    Docs(PathBuf),
    Sources,
    Trace,
    New,
    Help,
    Quit,
}

impl FromStr for Command {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let line = line.trim().trim_start_matches('/');
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let command = match name {
            "graph" if rest.is_empty() => Self::Graph(None),
            "graph" => return Ok(Self::Graph(Some(rest.to_owned()))),
            "docs" if rest.is_empty() => return Err("/docs takes a file or a folder".to_owned()),
            "docs" => return Ok(Self::Docs(path(rest))),
            "sources" => Self::Sources,
            "trace" => Self::Trace,
            "new" => Self::New,
            "help" => Self::Help,
            "quit" | "exit" => Self::Quit,
            _ => {
                let known = COMMANDS.iter().map(|(name, ..)| *name);
                let name = emend_core::printable_line(name);
                return Err(format!(
                    "/{name} is no command{}; /help lists them",
                    did_you_mean(&name, known)
                ));
            }
        };
        if rest.is_empty() {
            Ok(command)
        } else {
            Err(format!("/{name} takes nothing; to ask a question write it without /"))
        }
    }
}

/// A path as it is written at a prompt: with quotes, spaces behind a backslash, `~` for home.
fn path(text: &str) -> PathBuf {
    let quoted = |quote: char| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    let text = match quoted('"').or_else(|| quoted('\'')) {
        Some(text) => text.to_owned(),
        None => text.replace("\\ ", " "),
    };
    match (text.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(text),
    }
}
