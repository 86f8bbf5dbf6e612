//! A walk for a person: steps as they happen on standard error, the answer on standard output.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, time::Duration};

use anstyle::{AnsiColor, Style};
use emend_proto::v1::{
    Citation, GradedPassage, Origin, Sentence, Step, Support, WalkEvent, WalkResult, WalkStatus, walk_event::Event,
};
use indicatif::ProgressBar;
use tonic_types::StatusExt as _;

use crate::progress;

const GOOD: Style = AnsiColor::Green.on_default();
const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// Shows the steps of a walk as they happen.
#[derive(Debug)]
pub struct Steps {
    current: Option<ProgressBar>,
}

impl Steps {
    /// Shows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { current: None }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &WalkEvent) {
        match &event.event {
            Some(Event::StepStarted(started)) => {
                self.current = Some(progress::spinner(&format!("{}…", started.node)));
            }
            Some(Event::StepFinished(finished)) => {
                self.clear();
                if let Some(step) = &finished.step {
                    anstream::eprintln!("{}", step_line(step));
                }
            }
            Some(Event::Finished(_)) => self.clear(),
            _ => {}
        }
    }

    /// Takes a spinner off the screen.
    pub fn clear(&mut self) {
        if let Some(spinner) = self.current.take() {
            spinner.finish_and_clear();
        }
    }
}

impl Default for Steps {
    fn default() -> Self {
        Self::new()
    }
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
    let mut line = format!(
        "{style}{mark}{style:#} {BOLD}{:<18}{BOLD:#} {:<16} {DIM}{:>8}{DIM:#}  {}",
        step.node,
        step.outcome,
        short(took),
        step.summary
    );
    if !step.error.is_empty() {
        let _ = write!(line, " {style}({}){style:#}", step.error);
    }
    line.truncate(line.trim_end().len());
    line
}

/// A duration in three digits.
fn short(duration: Duration) -> String {
    match duration.as_millis() {
        ms @ 0..10_000 => format!("{ms} ms"),
        ms => format!("{:.1} s", ms as f64 / 1000.0),
    }
}

/// The answer with numbered citations, its sources, and how it came about.
#[must_use]
pub fn result(result: &WalkResult) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", answer(result));
    let cited = cited(result);
    if !cited.is_empty() {
        text.push('\n');
    }
    for (number, citation) in cited {
        let document = result.documents.get(number as usize - 1);
        let _ = writeln!(text, "  {BOLD}[{number}]{BOLD:#} {}", source_line(document, citation));
    }
    let _ = writeln!(text, "\n{}", verdict(result));
    text
}

/// The answer's text with `[n]` after each sentence.
fn answer(result: &WalkResult) -> String {
    if result.sentences.is_empty() || result.status() == WalkStatus::Abstained {
        return result.answer.clone();
    }
    let marked = |sentence: &Sentence| {
        let mut text = sentence.text.trim().to_owned();
        for citation in &sentence.citations {
            let _ = write!(text, " {DIM}[{}]{DIM:#}", citation.number);
        }
        if sentence.support() == Support::NotSupported {
            let _ = write!(text, " {BAD}(not supported){BAD:#}");
        }
        text
    };
    result.sentences.iter().map(marked).collect::<Vec<_>>().join(" ")
}

/// Citations by number, the first of each.
fn cited(result: &WalkResult) -> BTreeMap<u32, &Citation> {
    let mut cited = BTreeMap::new();
    if result.status() != WalkStatus::Abstained {
        for citation in result.sentences.iter().flat_map(|sentence| &sentence.citations) {
            if citation.number > 0 {
                cited.entry(citation.number).or_insert(citation);
            }
        }
    }
    cited
}

fn source_line(document: Option<&GradedPassage>, citation: &Citation) -> String {
    let Some(passage) = document.and_then(|document| document.passage.as_ref()) else {
        return citation.passage_id.clone();
    };
    let mut line = match passage.origin() {
        Origin::Web => format!("web: {}", passage.source),
        _ => relative(&passage.source),
    };
    if !passage.title.is_empty() && !line.contains(&passage.title) {
        let _ = write!(line, " — {}", passage.title);
    }
    if let Some(span) = &citation.span {
        let start = span.start + passage.span.as_ref().map_or(0, |whole| whole.start);
        let _ = write!(
            line,
            " {DIM}(characters {}–{}){DIM:#}",
            start,
            start + (span.end - span.start)
        );
    }
    if let Some(score) = document.and_then(|document| document.score) {
        let _ = write!(line, " {DIM}relevance {score:.2}{DIM:#}");
    }
    line
}

/// A path as seen from the current folder, where it lies below it.
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

fn verdict(result: &WalkResult) -> String {
    let (word, style) = match result.status() {
        WalkStatus::Answered => ("answered", GOOD),
        WalkStatus::Unverified => ("unverified", DOUBTFUL),
        WalkStatus::Ungrounded => ("ungrounded", DOUBTFUL),
        WalkStatus::Abstained => ("abstained", DOUBTFUL),
        WalkStatus::Unspecified => ("unknown", BAD),
    };
    let took = result
        .duration
        .and_then(|d| Duration::try_from(d).ok())
        .unwrap_or_default();
    let steps = result.steps.len();
    let mut line = format!(
        "{style}{word}{style:#} {DIM}by {} in {steps} {} and {}",
        result.graph,
        if steps == 1 { "step" } else { "steps" },
        short(took)
    );
    if let Some(score) = result.groundedness {
        let _ = write!(line, ", groundedness {score:.2}");
    }
    if let Some(score) = result.usefulness {
        let _ = write!(line, ", usefulness {score:.2}");
    }
    if let Some(usage) = result.usage.as_ref().filter(|usage| usage.model_calls > 0) {
        let _ = write!(
            line,
            ", {} model calls, {} tokens",
            usage.model_calls,
            usage.input_tokens + usage.output_tokens
        );
    }
    let _ = write!(line, "{DIM:#}");
    if !result.reason.is_empty() {
        let _ = write!(line, "\n{style}{}{style:#}", result.reason);
    }
    if !result.trace_id.is_empty() {
        let _ = write!(line, "\n{DIM}trace {}{DIM:#}", result.trace_id);
    }
    line
}

/// Prints why a command failed: what a service said, field by field, or the chain of causes.
pub fn error(error: &anyhow::Error) {
    anstream::eprintln!("{BAD}error{BAD:#}: {}", explain(error));
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
mod tests {
    use emend_proto::v1::{Passage, Span};

    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn answered() -> WalkResult {
        let citation = Citation {
            number: 1,
            passage_id: "p".to_owned(),
            span: Some(Span { start: 2, end: 9 }),
        };
        WalkResult {
            status: WalkStatus::Answered.into(),
            answer: "Leave is 25 days.".to_owned(),
            sentences: vec![Sentence {
                text: "Leave is 25 days.".to_owned(),
                citations: vec![citation],
                ..Sentence::default()
            }],
            documents: vec![GradedPassage {
                passage: Some(Passage {
                    id: "p".to_owned(),
                    source: "/docs/leave.md".to_owned(),
                    title: "Leave".to_owned(),
                    span: Some(Span { start: 100, end: 900 }),
                    ..Passage::default()
                }),
                score: Some(0.9),
                ..GradedPassage::default()
            }],
            graph: "self-rag".to_owned(),
            ..WalkResult::default()
        }
    }

    #[test]
    fn an_answer_shows_citations_with_file_and_characters() {
        let text = plain(&result(&answered()));
        assert!(text.contains("Leave is 25 days. [1]"), "{text}");
        assert!(
            text.contains("[1] /docs/leave.md — Leave (characters 102–109) relevance 0.90"),
            "{text}"
        );
        assert!(text.contains("answered by self-rag"), "{text}");
    }

    #[test]
    fn an_abstention_shows_its_reason_and_no_citation() {
        let mut abstained = answered();
        abstained.status = WalkStatus::Abstained.into();
        abstained.answer = "The documents do not answer this question.".to_owned();
        abstained.reason = "no passage was relevant".to_owned();
        let text = plain(&result(&abstained));
        assert!(
            text.starts_with("The documents do not answer this question.\n"),
            "{text}"
        );
        assert!(
            text.contains("no passage was relevant") && !text.contains("[1]"),
            "{text}"
        );
    }

    #[test]
    fn a_failed_dependency_stands_in_its_step() {
        let step = Step {
            node: "grade_documents".to_owned(),
            outcome: "unavailable".to_owned(),
            error: "grader: connection refused".to_owned(),
            ..Step::default()
        };
        let line = plain(&step_line(&step));
        assert!(
            line.starts_with("! grade_documents") && line.ends_with("(grader: connection refused)"),
            "{line}"
        );
    }

    #[test]
    fn a_refused_request_names_every_field() {
        let details = tonic_types::ErrorDetails::with_bad_request(vec![
            tonic_types::FieldViolation::new("top_k", "is 0, must be 1–100"),
            tonic_types::FieldViolation::new("question", "is empty"),
        ]);
        let status = tonic::Status::with_error_details(tonic::Code::InvalidArgument, "invalid request", details);
        let text = explain(&status.into());
        assert!(
            text.contains("top_k: is 0, must be 1–100") && text.contains("question: is empty"),
            "{text}"
        );
    }
}
