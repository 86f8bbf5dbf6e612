//! Renders a walk for people: progress on standard error, the answer on standard output.

mod error;
mod live;
mod piece;
mod result;

use std::{path::Path, time::Duration};

use anstyle::{AnsiColor, Style};

pub use self::{
    error::{Misuse, error, error_json, exit_code, reader_left},
    live::{Live, steps},
    result::{failure, result, sources, verdict},
};

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// A mark of what differs.
pub(crate) fn marked(mark: &str) -> String {
    format!("{DOUBTFUL}{mark}{DOUBTFUL:#}")
}

/// A bar of this width for a part of a whole, where the part is in it; at least one character.
pub(crate) fn bar(began: Duration, took: Duration, whole: Duration, width: usize, fill: char) -> String {
    let share = |time: Duration| match whole.as_secs_f64() {
        0.0 => 0,
        whole => (time.as_secs_f64() / whole * width as f64).round() as usize,
    };
    let start = share(began).min(width.saturating_sub(1));
    let length = share(took).clamp(1, width - start);
    let filled: String = std::iter::repeat_n(fill, length).collect();
    let (before, after) = (" ".repeat(start), " ".repeat(width - start - length));
    format!("{before}{GOOD}{filled}{GOOD:#}{after}")
}

/// Formats a duration in milliseconds, or in seconds from 10 s.
pub(crate) fn short(duration: Duration) -> String {
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

#[cfg(test)]
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
