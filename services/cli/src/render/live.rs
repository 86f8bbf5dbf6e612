//! Shows the progress of a walk, live.

use std::{collections::HashMap, fmt::Write as _, io::IsTerminal as _, time::Duration};

use emend_core::{printable, printable_line};
use emend_proto::v1::{
    EdgeTaken, PassageContent, Sentence, Step, Support, TextDelta, WalkEvent, WalkResult, walk_event::Event,
};
use emend_text::excerpt;
use indicatif::ProgressBar;

use super::{
    BAD, BOLD, DIM, DOUBTFUL, GOOD,
    piece::{Piece, Preview, pieces},
    short,
};
use crate::{progress, terminal};

/// Maximum lengths of excerpts, in characters.
const MAX_SENTENCE: usize = 160;
const MAX_QUERY: usize = 200;

/// Shows a walk on standard error: streamed text on a terminal, whole lines otherwise.
#[derive(Debug)]
pub struct Live {
    terminal: bool,
    /// The spinner of the current step, on a terminal.
    spinner: Option<ProgressBar>,
    writing: Writing,
    /// What is known of each passage.
    passages: HashMap<String, Known>,
    /// The service error of the previous step.
    error: String,
}

/// The answer text being streamed.
#[derive(Debug, Default)]
struct Writing {
    attempt: u32,
    /// The part of the last line that has not been shown.
    pending: String,
    /// Whether a line is unfinished.
    open: bool,
}

/// A passage as the events carried it last; a later event may only refer to it.
#[derive(Debug)]
struct Known {
    passage: Preview,
    shown: Option<Shown>,
}

/// The shown state of a passage: whether it is kept, and its score in hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shown {
    kept: bool,
    score: Option<i64>,
}

impl Live {
    /// Creates a view on standard error.
    #[must_use]
    pub fn new() -> Self {
        Self::on(std::io::stderr().is_terminal())
    }

    fn on(terminal: bool) -> Self {
        Self {
            terminal,
            spinner: None,
            writing: Writing::default(),
            passages: HashMap::new(),
            error: String::new(),
        }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &WalkEvent) {
        let Some(event) = &event.event else { return };
        let lines = self.lines(event);
        if let Event::TextDelta(_) = event {
            self.clear();
            if self.terminal {
                let begins = if self.writing.open { "" } else { "  > " };
                let text = std::mem::take(&mut self.writing.pending).replace('\n', "\n  > ");
                self.writing.open = true;
                terminal::eprint(format_args!("{DIM}{begins}{text}{DIM:#}"));
                return;
            }
        }
        match &self.spinner {
            Some(spinner) if !matches!(event, Event::StepFinished(_) | Event::Finished(_)) => {
                spinner.suspend(|| print(&lines));
            }
            _ => {
                self.clear();
                print(&lines);
            }
        }
        if let Event::StepStarted(started) = event {
            self.spinner = Some(progress::spinner(&format!("{}…", started.node)));
        }
    }

    /// Removes the spinner from the terminal.
    fn clear(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }

    /// The lines to print for an event.
    fn lines(&mut self, event: &Event) -> Vec<String> {
        if let Event::TextDelta(delta) = event {
            return self.written(delta);
        }
        let mut lines = self.end_of_text();
        match event {
            Event::StepFinished(finished) => {
                if let Some(step) = &finished.step {
                    lines.extend(self.step(step));
                }
            }
            Event::EdgeTaken(edge) => lines.extend(self.edge(edge)),
            Event::SentenceCommitted(committed) => {
                lines.extend(committed.sentence.as_ref().map(|sentence| {
                    let stands = graded(sentence);
                    format!("  {GOOD}✓{GOOD:#} {}{stands}", excerpt(&sentence.text, MAX_SENTENCE))
                }));
            }
            Event::SentenceRetracted(retracted) => {
                lines.extend(retracted.sentence.as_ref().map(|sentence| {
                    let stands = graded(sentence);
                    format!("  {BAD}✗{BAD:#} {}{stands}", excerpt(&sentence.text, MAX_SENTENCE))
                }));
            }
            Event::StepStarted(_) | Event::TextDelta(_) | Event::Finished(_) => {}
        }
        lines
    }

    /// Buffers text. Without a terminal, returns the complete lines.
    fn written(&mut self, delta: &TextDelta) -> Vec<String> {
        let mut lines = Vec::new();
        if self.writing.attempt != delta.attempt {
            lines = self.end_of_text();
            self.writing.attempt = delta.attempt;
        }
        self.writing.pending.push_str(&printable(&delta.text));
        if self.terminal {
            print(&lines);
            return Vec::new();
        }
        while let Some(end) = self.writing.pending.find('\n') {
            let rest = self.writing.pending.split_off(end + 1);
            let line = std::mem::replace(&mut self.writing.pending, rest);
            lines.extend(quoted(&line));
        }
        lines
    }

    /// Ends the unfinished line.
    fn end_of_text(&mut self) -> Vec<String> {
        let pending = std::mem::take(&mut self.writing.pending);
        if std::mem::take(&mut self.writing.open) {
            return vec![String::new()];
        }
        quoted(&pending).into_iter().collect()
    }

    fn step(&mut self, step: &Step) -> Vec<String> {
        self.error.clone_from(&step.error);
        let mut lines = vec![step_line(step)];
        if changed_query(step) {
            let what = if step.action == "condense" { "question" } else { "query" };
            lines.push(format!(
                "    {what}: {DIM}{}{DIM:#} → {}",
                excerpt(&step.previous_query, MAX_QUERY),
                excerpt(&step.query, MAX_QUERY)
            ));
        }
        lines.extend(pieces(step.strips.iter().map(Piece::strip).collect()));
        let mut changed = Vec::new();
        for graded in &step.passages {
            let Some(passage) = &graded.passage else { continue };
            let shown = Shown {
                kept: graded.kept,
                score: graded.score.map(hundredths),
            };
            let known = self.passages.entry(passage.id.clone()).or_insert_with(|| Known {
                passage: Preview::of(passage),
                shown: None,
            });
            if graded.content() != PassageContent::EarlierStep {
                known.passage = Preview::of(passage);
            }
            let before = known.shown.replace(shown);
            let cut = step.strips.iter().any(|strip| strip.passage_id == passage.id);
            if before != Some(shown) && !cut {
                changed.push(Piece::passage(graded, &known.passage));
            }
        }
        lines.extend(pieces(changed));
        lines
    }

    /// The reason why an edge was taken, unless the outcome implies it.
    fn edge(&self, edge: &EdgeTaken) -> Option<String> {
        let mut obvious = format!("`{}` ended in `{}`", edge.from, edge.outcome);
        if !self.error.is_empty() {
            let _ = write!(obvious, ": {}", self.error);
        }
        let reason = match edge.reason.strip_prefix(&obvious) {
            Some(rest) if rest.trim().is_empty() => return None,
            _ if edge.reason.is_empty() => return None,
            // The line above shows the outcome and the error.
            Some(rest) => printable(&format!("{}{rest}", edge.outcome)),
            None => printable(&edge.reason),
        };
        Some(format!(
            "  {DIM}→ {}, because {reason}{DIM:#}",
            printable_line(&edge.to)
        ))
    }
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Live {
    /// Removes the spinner and ends the line if the walk was aborted.
    fn drop(&mut self) {
        self.clear();
        if self.writing.open {
            terminal::eprintln("");
        }
    }
}

/// Renders the steps of a walk, a line each, and its trace.
#[must_use]
pub fn steps(result: &WalkResult) -> String {
    let mut text: String = result.steps.iter().map(|step| step_line(step) + "\n").collect();
    if !result.trace_id.is_empty() {
        let _ = writeln!(text, "{DIM}trace {}{DIM:#}", printable_line(&result.trace_id));
    }
    text
}

fn print(lines: &[String]) {
    for line in lines {
        terminal::eprintln(line);
    }
}

fn quoted(line: &str) -> Option<String> {
    let line = line.trim_end();
    (!line.is_empty()).then(|| format!("{DIM}  > {line}{DIM:#}"))
}

fn changed_query(step: &Step) -> bool {
    !step.query.is_empty() && step.query != step.previous_query && !step.previous_query.is_empty()
}

fn step_line(step: &Step) -> String {
    let (mark, style) = if step.error.is_empty() {
        ("•", GOOD)
    } else {
        ("!", DOUBTFUL)
    };
    let took = step
        .duration
        .and_then(|d| Duration::try_from(d).ok())
        .unwrap_or_default();
    // Omit a summary that only repeats the new query, which is shown below with the old one.
    let repeated = changed_query(step) && step.summary.ends_with(&step.query);
    let summary = if repeated { "" } else { &step.summary };
    let mut line = format!(
        "{style}{mark}{style:#} {BOLD}{:<18}{BOLD:#} {:<16} {DIM}{:>8}{DIM:#}  {}",
        printable_line(&step.node),
        printable_line(&step.outcome),
        short(took),
        printable(summary)
    );
    if !step.error.is_empty() {
        let _ = write!(line, " {style}({}){style:#}", printable(&step.error));
    }
    line.truncate(line.trim_end().len());
    line
}

/// The support of a sentence, if it was graded.
fn graded(sentence: &Sentence) -> String {
    let support = match sentence.support() {
        Support::FullySupported => "supported",
        Support::PartiallySupported => "partially supported",
        Support::NotSupported => "not supported",
        Support::Ungraded => "not graded",
        Support::Unspecified => return String::new(),
    };
    let score = sentence
        .support_score
        .map(|score| format!(" {score:.2}"))
        .unwrap_or_default();
    format!(" {DIM}({support}{score}){DIM:#}")
}

fn hundredths(score: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a score is 0–1")]
    {
        (score * 100.0).round() as i64
    }
}

#[cfg(test)]
mod tests;
