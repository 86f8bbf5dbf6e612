//! `emend doctor`: looks at everything that the services need, and says what to do.

mod around;
mod machine;
mod models;
mod secrets;

use std::{fmt::Display, io::IsTerminal as _, process::ExitCode, time::Duration};

use anstyle::Style;
use anyhow::Result;
use emend_core::printable;
use futures::{
    FutureExt as _,
    future::{BoxFuture, join_all},
};
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::json;

use crate::{
    args::{DoctorOptions, LocalOptions},
    progress,
    render::{BAD, DIM, DOUBTFUL, GOOD, Misuse},
    settings, terminal,
};

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    Warning,
    Error,
}

impl Level {
    fn shown(self) -> (&'static str, Style) {
        match self {
            Self::Ok => ("ok", GOOD),
            Self::Warning => ("warning", DOUBTFUL),
            Self::Error => ("error", BAD),
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    check: &'static str,
    level: Level,
    message: String,
    /// What to do; empty where there is nothing to do, or the message says it.
    advice: String,
}

impl Finding {
    fn new(check: &'static str, level: Level, message: impl Display, advice: impl Display) -> Self {
        Self {
            check,
            level,
            message: printable(&message.to_string()),
            advice: printable(&advice.to_string()),
        }
    }

    fn ok(check: &'static str, message: impl Display) -> Self {
        Self::new(check, Level::Ok, message, "")
    }

    fn warning(check: &'static str, message: impl Display, advice: impl Display) -> Self {
        Self::new(check, Level::Warning, message, advice)
    }

    fn error(check: &'static str, message: impl Display, advice: impl Display) -> Self {
        Self::new(check, Level::Error, message, advice)
    }

    /// An error whose message says what to do.
    fn failed(check: &'static str, error: impl Into<anyhow::Error>) -> Self {
        Self::error(check, format_args!("{:#}", error.into()), "")
    }

    fn line(&self) -> String {
        let (word, style) = self.level.shown();
        let advice = if self.advice.is_empty() {
            String::new()
        } else {
            format!("\n{:<25}{DIM}→{DIM:#} {}", "", self.advice)
        };
        format!("{style}{word:<8}{style:#} {:<15} {}{advice}", self.check, self.message)
    }
}

/// A check: its name, and its findings when it is done.
type Check<'a> = (&'static str, BoxFuture<'a, Vec<Finding>>);

/// Makes all checks at once, each within its time, and shows them in their order.
///
/// # Errors
/// The options do not go together, or the outcome cannot be written.
pub async fn run(options: DoctorOptions) -> Result<ExitCode> {
    let local = options.up.local.clone().with_environment().map_err(Misuse)?;
    let waiting = if options.json || !std::io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        progress::spinner("checking…")
    };
    let checks = checks(&options, &local);
    let found = join_all(checks.into_iter().map(|check| within(options.patience, check))).await;
    waiting.finish_and_clear();
    let found: Vec<Finding> = found.into_iter().flatten().collect();
    let worst = found.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    if options.json {
        terminal::print_json(&json!({"ok": worst < Level::Error, "checks": found}), true)?;
    } else {
        let lines: String = found.iter().map(|finding| finding.line() + "\n").collect();
        terminal::print(lines)?;
    }
    Ok(ExitCode::from(u8::from(worst == Level::Error)))
}

fn checks<'a>(options: &'a DoctorOptions, local: &'a LocalOptions) -> Vec<Check<'a>> {
    vec![
        ("settings", async { vec![configured()] }.boxed()),
        ("embedder", models::embedder(local).boxed()),
        ("local models", models::chats(local).boxed()),
        (
            "language model",
            models::language_model(local, options.patience).boxed(),
        ),
        ("files", machine::files(local).boxed()),
        ("store", machine::store(local).boxed()),
        ("ports", machine::ports(&options.up).boxed()),
        (
            "web search",
            around::web(local, options.search.then_some(options.patience)).boxed(),
        ),
        ("telemetry", around::telemetry().boxed()),
        ("keys and TLS", secrets::server(&options.up).boxed()),
        ("orchestrator", around::orchestrator(options).boxed()),
    ]
}

/// The findings of a check, or that it took too long.
async fn within(patience: Duration, (name, check): Check<'_>) -> Vec<Finding> {
    let timed_out = || {
        let seconds = patience.as_secs_f64();
        let message = format!("no outcome within {seconds} s");
        vec![Finding::error(
            name,
            message,
            "look at what it asks, or give it more time with --patience",
        )]
    };
    tokio::time::timeout(patience, check)
        .await
        .unwrap_or_else(|_| timed_out())
}

fn configured() -> Finding {
    match settings::in_use() {
        Some(file) => Finding::ok(
            "settings",
            format_args!("{} settings of {}", file.len(), file.path().display()),
        ),
        None => Finding::ok("settings", "no configuration file; `emend init` writes one"),
    }
}

#[cfg(test)]
mod tests;
