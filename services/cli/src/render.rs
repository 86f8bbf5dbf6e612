//! Renders a walk for people: progress on standard error, the answer on standard output.

mod live;
mod piece;
mod result;

use std::{fmt::Write as _, path::Path, time::Duration};

use anstyle::{AnsiColor, Style};
use emend_orchestrator::graph::InvalidGraph;
use tonic_types::StatusExt as _;

pub use self::{live::Live, result::result};

const GOOD: Style = AnsiColor::Green.on_default();
const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// Formats a duration in milliseconds, or in seconds from 10 s.
fn short(duration: Duration) -> String {
    match duration.as_millis() {
        ms @ 0..10_000 => format!("{ms} ms"),
        ms => format!("{:.1} s", ms as f64 / 1000.0),
    }
}

/// A path relative to the current folder, if it is below it.
fn relative(source: &str) -> String {
    std::env::current_dir()
        .ok()
        .and_then(|folder| {
            Path::new(source)
                .strip_prefix(folder)
                .ok()
                .map(|path| path.display().to_string())
        })
        .filter(|path| !path.is_empty())
        .unwrap_or_else(|| source.to_owned())
}

/// Prints an error: the message and field violations of a service, or the chain of causes.
pub fn error(error: &anyhow::Error) {
    if let Some(invalid) = error.downcast_ref::<InvalidGraph>() {
        // Each line begins with the file position, which editors and terminals link.
        anstream::eprintln!("{invalid}\n{BAD}error{BAD:#}: {} cannot be walked", invalid.file);
    } else {
        anstream::eprintln!("{BAD}error{BAD:#}: {}", explain(error));
    }
}

fn explain(error: &anyhow::Error) -> String {
    let Some(status) = error.downcast_ref::<tonic::Status>() else {
        return format!("{error:#}");
    };
    let mut text = if status.message().is_empty() {
        status.code().description().to_owned()
    } else {
        status.message().to_owned()
    };
    let details = status.get_error_details();
    for violation in details
        .bad_request()
        .map(|bad| bad.field_violations.as_slice())
        .unwrap_or_default()
    {
        let line = format!("{}: {}", violation.field, violation.description);
        if !text.contains(&violation.description) {
            let _ = write!(text, "\n  {line}");
        }
    }
    if let Some(delay) = details.retry_info().and_then(|info| info.retry_delay) {
        let _ = write!(text, "\n  try again in {}", short(delay));
    }
    text
}

#[cfg(test)]
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests;
