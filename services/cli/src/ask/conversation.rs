//! `emend ask` without a question: a conversation, with services that start once.

mod command;
mod editor;

use std::{fmt::Write as _, future::Future, path::PathBuf, process::ExitCode};

use anyhow::Result;
use emend_core::{did_you_mean, printable_line};
use emend_orchestrator::catalog::Catalog;
use emend_proto::v1::{Question, WalkResult, WalkStatus};
use tracing::Instrument as _;

use self::{
    command::{COMMANDS, Command},
    editor::{Editor, Line},
};
use super::{Conversation, Services, before_the_web, check, finish, message, question, walk};
use crate::{args::AskOptions, documents::Reading, ingest, render, terminal};

/// What has been said, and what it is about.
struct Talk {
    options: AskOptions,
    /// The YAML of the user's graph; empty for the one that is named.
    graph_yaml: String,
    services: Services,
    conversation: Conversation,
    last: Option<WalkResult>,
}

/// Reads questions and commands until the end of the input.
///
/// # Errors
/// The documents cannot be read, a service fails to start, or the terminal cannot be read.
pub(super) async fn run(options: AskOptions, graph_yaml: String, docs: &[PathBuf]) -> Result<ExitCode> {
    let conversation = match &options.history {
        Some(file) => Conversation::read(file)?,
        None => Conversation::default(),
    };
    if options.url.is_none() {
        let any = message(&options, graph_yaml.clone(), "?".to_owned(), conversation.sent());
        check(&options, &any).await?;
    }
    let found = match docs {
        [] => None,
        paths => Some(ingest::found(paths, &Reading::default())?),
    };
    let mut editor = Editor::new(&options)?;
    let mut services = Services::start(&options).await?;
    if let Some(found) = found
        && let Err(error) = services.ingest(&options, docs, found).await
    {
        services.stop().await;
        return Err(error);
    }
    let mut talk = Talk {
        options,
        graph_yaml,
        services,
        conversation,
        last: None,
    };
    terminal::eprintln("Ask a question; a follow-up may refer to what was said. /help lists commands, Ctrl-D ends.");
    let talked = talk.until_the_end(&mut editor).await;
    talk.services.stop().await;
    talked.map(|()| ExitCode::SUCCESS)
}

impl Talk {
    async fn until_the_end(&mut self, editor: &mut Editor) -> Result<()> {
        loop {
            let line = match editor.line().await? {
                Line::Text(line) => line,
                Line::Dropped => continue,
                Line::End => return Ok(()),
            };
            let done = match line.trim() {
                "" => continue,
                line if line.starts_with('/') => match line.parse() {
                    Ok(Command::Quit) => return Ok(()),
                    Ok(command) => self.obey(command).await,
                    Err(unknown) => {
                        terminal::eprintln(unknown);
                        continue;
                    }
                },
                line => self.ask(line).await,
            };
            match done {
                Ok(()) => {}
                Err(error) if render::reader_left(&error) => return Ok(()),
                // One question that fails does not end the conversation.
                Err(error) => render::error(&error),
            }
        }
    }

    async fn ask(&mut self, line: &str) -> Result<()> {
        let question = question::checked(line.to_owned()).map_err(render::Misuse)?;
        let mut asked = self.message(question);
        asked.collection.clone_from(&self.services.collection);
        let span = tracing::info_span!(target: "emend", "emend ask", otel.kind = "internal");
        let early = self.services.embedded_percent().is_some();
        let sent = if early { before_the_web(&asked) } else { asked.clone() };
        let walking = walk(self.services.channel.clone(), &self.options, sent).instrument(span);
        let Some(walked) = unless_interrupted(walking).await else {
            terminal::eprintln("\nthe walk was called off; the question is not part of the conversation");
            return Ok(());
        };
        let result = walked?;
        finish(&result, None)?;
        if early
            && result.status() != WalkStatus::Answered
            && let Some(percent) = self.services.embedded_percent()
        {
            terminal::eprintln(format_args!(
                "{percent} % of the documents are embedded by now, and the web is searched when all are: ask again then."
            ));
        }
        if let Some(answer) = &result.message {
            self.conversation.add(&asked.question, &answer.content)?;
        }
        self.last = Some(result);
        Ok(())
    }

    fn message(&self, question: String) -> Question {
        let sent = self.conversation.sent();
        message(&self.options, self.graph_yaml.clone(), question, sent)
    }

    async fn obey(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Graph(None) => self.graphs(),
            Command::Graph(Some(name)) => self.take_graph(name).await,
            Command::Docs(folder) => self.take_documents(folder).await,
            Command::Sources => {
                let sources = self.last.as_ref().map(render::sources).unwrap_or_default();
                terminal::print(if sources.is_empty() {
                    "no sources yet\n"
                } else {
                    &sources
                })?;
                Ok(())
            }
            Command::Trace => {
                let steps = self.last.as_ref().map(render::steps).unwrap_or_default();
                terminal::print(if steps.is_empty() { "no walk yet\n" } else { &steps })?;
                Ok(())
            }
            Command::New => {
                self.conversation = Conversation::default();
                let file = self
                    .options
                    .history
                    .take()
                    .map(|file| format!("; {} stays as it is", printable_line(&file.display().to_string())));
                terminal::eprintln(format_args!("a new conversation{}", file.unwrap_or_default()));
                Ok(())
            }
            Command::Help => {
                terminal::print(help())?;
                Ok(())
            }
            Command::Quit => Ok(()),
        }
    }

    fn graphs(&self) -> Result<()> {
        let catalog = Catalog::load(self.options.local.graphs_dir.as_deref())?;
        for graph in catalog.iter() {
            let mark = if self.graph_yaml.is_empty() && graph.name() == self.options.graph {
                "*"
            } else {
                " "
            };
            terminal::println(format_args!("{mark} {}", printable_line(graph.name())))?;
        }
        Ok(())
    }

    /// Goes on with another graph, unless it is unknown.
    async fn take_graph(&mut self, name: String) -> Result<()> {
        let yaml = std::mem::take(&mut self.graph_yaml);
        let before = std::mem::replace(&mut self.options.graph, name);
        let checked = match self.options.url {
            // A running orchestrator has graphs of its own, and says so at the next question.
            Some(_) => Ok(()),
            None => check(&self.options, &self.message("?".to_owned())).await,
        };
        match checked {
            Ok(()) => terminal::eprintln(format_args!("answers come by {}", printable_line(&self.options.graph))),
            Err(_) => {
                self.graph_yaml = yaml;
                self.options.graph = before;
            }
        }
        checked
    }

    /// Answers from the files of another folder.
    async fn take_documents(&mut self, folder: PathBuf) -> Result<()> {
        let folders = [folder];
        let storing = async {
            let found = ingest::found(&folders, &Reading::default())?;
            self.services.ingest(&self.options, &folders, found).await
        };
        match unless_interrupted(storing).await {
            Some(stored) => stored,
            None => {
                terminal::eprintln("\nstopped; answers come from the documents before");
                Ok(())
            }
        }
    }
}

/// What comes of the work; `None` where Ctrl-C came first, which drops it.
pub(super) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        stopped = tokio::signal::ctrl_c() => {
            // Where the operating system does not say when it comes, it ends the process.
            if stopped.is_err() {
                std::process::exit(130);
            }
            None
        }
    }
}

fn help() -> String {
    let mut text = String::new();
    for (name, takes, what) in COMMANDS {
        let _ = writeln!(text, "  {:<16} {what}", format!("/{name} {takes}"));
    }
    text.push_str("  Ctrl-C           drops the line, or calls off the walk under way\n  Ctrl-D           ends\n");
    text
}

#[cfg(test)]
mod tests;
