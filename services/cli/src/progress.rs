//! Progress bars and spinners on a terminal; nothing is shown otherwise.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use emend_models::progress::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A spinner on standard error.
#[must_use]
pub fn spinner(message: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        .with_style(style("{spinner} {msg} {elapsed:.dim}"))
        .with_message(message.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A progress bar of documents.
#[must_use]
pub fn documents(total: u64) -> ProgressBar {
    ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_style(style(
        "ingesting {bar:30.cyan} {human_pos}/{human_len} documents, {per_sec}, {eta} left",
    ))
}

/// A progress bar of questions.
#[must_use]
pub fn questions(what: &str, total: u64) -> ProgressBar {
    ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr())
        .with_style(style(
            "{msg} {bar:30.cyan} {human_pos}/{human_len} questions, {per_sec}, {eta} left",
        ))
        .with_message(what.to_owned())
}

/// A progress bar of labelled pairs.
#[must_use]
pub fn pairs(what: &str, total: u64) -> ProgressBar {
    ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr())
        .with_style(style(
            "{msg} {bar:30.cyan} {human_pos}/{human_len} pairs, {per_sec}, {eta} left",
        ))
        .with_message(what.to_owned())
}

/// Shows the progress of downloading and loading a model until [`ModelProgress::finish`] is called.
#[derive(Debug)]
pub struct ModelProgress {
    bar: ProgressBar,
}

impl ModelProgress {
    /// Creates a bar that is hidden until the first report.
    #[must_use]
    pub fn start() -> (Self, Progress) {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
            .with_style(style("{spinner} {msg} {elapsed:.dim}"));
        let shown = Mutex::new(false);
        let reported = bar.clone();
        let progress = Progress::new(move |step| {
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
            reported.set_message(step.message.to_owned());
        });
        (Self { bar }, progress)
    }

    /// Removes the bar from the terminal.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
