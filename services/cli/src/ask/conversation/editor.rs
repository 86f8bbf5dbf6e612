//! The line that is written: with arrow keys, history and completion.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use emend_orchestrator::catalog::Catalog;
use rustyline::{
    Config, Context, Helper,
    completion::{Completer, FilenameCompleter, Pair},
    config::CompletionType,
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::FileHistory,
    validate::Validator,
};

use super::command::COMMANDS;
use crate::{args::AskOptions, cluster::user_folder, terminal};

/// What stands before the line.
const PROMPT: &str = "? ";
/// Most lines that are kept for the arrow keys.
const MAX_LINES: usize = 1000;

/// What came from the terminal.
pub(super) enum Line {
    Text(String),
    /// Ctrl-C: the line is dropped.
    Dropped,
    /// Ctrl-D, or the terminal is gone.
    End,
}

type Terminal = rustyline::Editor<Completions, FileHistory>;

/// Reads lines from the terminal.
pub(super) struct Editor {
    /// `None` while a line is read.
    terminal: Option<Terminal>,
    /// Where lines are kept, where there is a home.
    file: Option<PathBuf>,
}

impl Editor {
    pub(super) fn new(options: &AskOptions) -> Result<Self> {
        let graphs = Catalog::load(options.local.graphs_dir.as_deref())?;
        let config = Config::builder()
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .max_history_size(MAX_LINES)?
            .build();
        let mut terminal = Terminal::with_config(config)?;
        terminal.set_helper(Some(Completions {
            files: FilenameCompleter::new(),
            graphs: graphs.iter().map(|graph| graph.name().to_owned()).collect(),
        }));
        let file = user_folder().ok().and_then(|folder| kept_in(&folder));
        if let Some(file) = &file
            && let Err(error) = terminal.load_history(file)
        {
            terminal::eprintln(format_args!(
                "cannot read the lines of before in {}: {error}",
                file.display()
            ));
        }
        Ok(Self {
            terminal: Some(terminal),
            file,
        })
    }

    /// Waits for a line, on a thread of its own: the services go on meanwhile.
    pub(super) async fn line(&mut self) -> Result<Line> {
        let mut terminal = self.terminal.take().context("the terminal is gone")?;
        let file = self.file.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let read = terminal.readline(PROMPT);
            if let Ok(line) = &read
                && terminal.add_history_entry(line).unwrap_or_default()
                && let Some(file) = file
            {
                // A line that is not kept is no reason to end.
                drop(terminal.append_history(&file));
            }
            (terminal, read)
        });
        let (terminal, read) = reading.await.context("the terminal cannot be read")?;
        self.terminal = Some(terminal);
        match read {
            Ok(line) => Ok(Line::Text(line)),
            Err(ReadlineError::Interrupted) => Ok(Line::Dropped),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(error).context("the terminal cannot be read"),
        }
    }
}

/// The file of earlier lines in a folder, for its owner alone; `None` where it cannot be made.
fn kept_in(folder: &Path) -> Option<PathBuf> {
    fs::create_dir_all(folder).ok()?;
    let file = folder.join("ask_history");
    let mut open = fs::OpenOptions::new();
    open.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    open.open(&file).ok()?;
    Some(file)
}

/// Completes commands, graphs and files.
struct Completions {
    files: FilenameCompleter,
    graphs: Vec<String>,
}

impl Completer for Completions {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let Some(words) = line.get(..position).and_then(|text| text.strip_prefix('/')) else {
            return Ok((0, Vec::new()));
        };
        match words.split_once(' ') {
            None => Ok((1, beginning(words, COMMANDS.iter().map(|(name, ..)| *name)))),
            Some(("graph", name)) => {
                let known = self.graphs.iter().map(String::as_str);
                Ok((position - name.len(), beginning(name, known)))
            }
            Some(("docs", _)) => self.files.complete_path(line, position),
            Some(_) => Ok((0, Vec::new())),
        }
    }
}

fn beginning<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Vec<Pair> {
    let found = known.filter(|name| name.starts_with(text));
    let pair = |name: &str| Pair {
        display: name.to_owned(),
        replacement: name.to_owned(),
    };
    found.map(pair).collect()
}

impl Hinter for Completions {
    type Hint = String;
}
impl Highlighter for Completions {}
impl Validator for Completions {}
impl Helper for Completions {}

#[cfg(test)]
mod tests;
