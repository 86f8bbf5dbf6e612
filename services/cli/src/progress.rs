//! Progress bars and spinners on a terminal; otherwise a line a minute.

mod log;

use std::{
    io::{IsTerminal as _, stderr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use emend_core::printable_line;
use emend_eval::progress::Progress;
use emend_models::{
    embed::{self, Embedder, EmbedderOptions, ModelError},
    progress::Progress as ModelSteps,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use log::LogLines;

/// A spinner on standard error.
#[must_use]
pub fn spinner(message: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, target())
        .with_style(style("{spinner} {msg} {elapsed:.dim}"))
        .with_message(printable_line(message));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A progress bar of files that are `doing`, such as ingesting, by their bytes; its message is the file.
#[must_use]
pub fn ingesting(doing: &str, total: u64) -> ProgressBar {
    let bar = in_background(doing, total);
    show(&bar);
    bar
}

/// As [`ingesting`], and not shown until [`show`].
#[must_use]
pub fn in_background(doing: &str, total: u64) -> ProgressBar {
    let template = format!(
        "{doing} {{bar:30.cyan}} {{bytes}}/{{total_bytes}}, {{bytes_per_sec}}, {{eta}} left  {{wide_msg:.dim}}"
    );
    ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden()).with_style(style(&template))
}

/// Shows a bar that was in the background.
pub fn show(bar: &ProgressBar) {
    bar.set_draw_target(target());
}

/// A progress bar of documents that are `doing`, such as exporting.
#[must_use]
pub fn documents(doing: &str, total: u64) -> ProgressBar {
    let template = format!("{doing} {{bar:30.cyan}} {{human_pos}}/{{human_len}} documents, {{per_sec}}, {{eta}} left");
    ProgressBar::with_draw_target(Some(total), target()).with_style(style(&template))
}

/// A progress bar of bytes that are `doing`, such as importing.
#[must_use]
pub fn bytes(doing: &str, total: u64) -> ProgressBar {
    let template = format!("{doing} {{bar:30.cyan}} {{bytes}}/{{total_bytes}}, {{bytes_per_sec}}, {{eta}} left");
    ProgressBar::with_draw_target(Some(total), target()).with_style(style(&template))
}

/// A bar that counts what is measured, one part of it after another.
#[derive(Debug)]
pub struct Measuring {
    bar: ProgressBar,
}

impl Measuring {
    /// Shows nothing until the first part begins. `unit` is what is counted, in the plural.
    #[must_use]
    pub fn new(unit: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, target());
        let template = format!("{{msg}} {{bar:30.cyan}} {{human_pos}}/{{human_len}} {unit}, {{per_sec}}, {{eta}} left");
        Self {
            bar: bar.with_style(style(&template)),
        }
    }
}

impl Progress for Measuring {
    fn begin(&self, what: &str, total: u64) {
        self.bar.reset();
        self.bar.set_length(total);
        self.bar.set_message(printable_line(what));
    }

    fn advance(&self) {
        self.bar.inc(1);
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Fetches and loads an embedder, and shows how far that has come.
///
/// # Errors
/// The embedder cannot be had.
pub async fn embedder(options: &EmbedderOptions) -> Result<Arc<dyn Embedder>, ModelError> {
    let (shown, report) = ModelProgress::start();
    let embedder = embed::load(options, report).await;
    shown.finish();
    embedder
}

/// Shows the progress of downloading and loading a model until [`ModelProgress::finish`] is called.
#[derive(Debug)]
pub struct ModelProgress {
    bar: ProgressBar,
}

impl ModelProgress {
    /// Creates a bar that is hidden until the first report.
    #[must_use]
    pub fn start() -> (Self, ModelSteps) {
        let bar = ProgressBar::with_draw_target(None, target()).with_style(style("{spinner} {msg} {elapsed:.dim}"));
        let shown = Mutex::new(false);
        let reported = bar.clone();
        let progress = ModelSteps::new(move |step| {
            let counted = step.total.is_some();
            let mut counting = shown.lock().unwrap_or_else(PoisonError::into_inner);
            if *counting != counted || reported.message().is_empty() {
                *counting = counted;
                reported.set_style(style(if counted {
                    "{msg} {bar:30.cyan} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left"
                } else {
                    "{spinner} {msg} {elapsed:.dim}"
                }));
                reported.enable_steady_tick(Duration::from_millis(100));
            }
            if let Some(total) = step.total {
                reported.set_length(total);
                reported.set_position(step.done);
            }
            reported.set_message(printable_line(step.message));
        });
        (Self { bar }, progress)
    }

    /// Removes the bar from the terminal.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// Where a bar is drawn.
fn target() -> ProgressDrawTarget {
    if stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::term_like_with_hz(Box::new(LogLines::stderr()), 1)
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
