//! Renders the result of a walk.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use emend_core::{printable, printable_line};
use emend_proto::v1::{Citation, Failure, GradedPassage, Limit, Origin, Sentence, Support, WalkResult, WalkStatus};
use emend_text::excerpt;

use super::{BAD, BOLD, DIM, DOUBTFUL, GOOD, relative, short};

/// Widest page and headings of a source, in columns of a terminal.
const PLACE_COLUMNS: usize = 80;

/// Renders the answer with numbered citations, its sources, and the statistics of the walk.
#[must_use]
pub fn result(result: &WalkResult) -> String {
    let mut text = String::new();
    if result.status() != WalkStatus::Failed {
        let _ = writeln!(text, "{}", answer(result));
    }
    let cited = cited(result);
    if !cited.is_empty() {
        text.push('\n');
    }
    for (number, citation) in cited {
        let document = result.documents.get(number as usize - 1);
        let _ = writeln!(text, "  {BOLD}[{number}]{BOLD:#} {}", source_line(document, citation));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "{}", verdict(result));
    text
}

/// Renders the passages that the answer cites; empty where it cites none.
#[must_use]
pub fn sources(result: &WalkResult) -> String {
    let mut text = String::new();
    for (number, citation) in cited(result) {
        let document = result.documents.get(number as usize - 1);
        let _ = writeln!(text, "{BOLD}[{number}]{BOLD:#} {}", source_line(document, citation));
        if let Some(passage) = document.and_then(|document| document.passage.as_ref()) {
            for line in printable(&passage.text).lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
    text
}

/// Renders why a walk has no answer, and what to do.
#[must_use]
pub fn failure(failure: &Failure) -> String {
    let Failure {
        service,
        code,
        reason,
        cause,
        advice,
    } = failure;
    // A service of an older version gives no reason.
    let reason = if reason.is_empty() { code } else { reason };
    format!(
        "{BAD}error{BAD:#}: the {} failed ({}): {}\n  {}",
        printable_line(service),
        printable_line(reason),
        printable(cause),
        printable(advice)
    )
}

/// The text of the answer with `[n]` after each sentence.
fn answer(result: &WalkResult) -> String {
    if result.sentences.is_empty() || result.status() == WalkStatus::Abstained {
        return printable(&result.answer);
    }
    let marked = |sentence: &Sentence| {
        let mut text = printable(sentence.text.trim());
        for citation in numbered(sentence) {
            let _ = write!(text, " {DIM}[{}]{DIM:#}", citation.number);
        }
        if sentence.support() == Support::NotSupported {
            let _ = write!(text, " {BAD}(not supported){BAD:#}");
        }
        text
    };
    result.sentences.iter().map(marked).collect::<Vec<_>>().join(" ")
}

/// The citations that are shown, each under its number.
fn numbered(sentence: &Sentence) -> impl Iterator<Item = &Citation> {
    sentence.citations.iter().filter(|citation| citation.number > 0)
}

/// The first citation of each number.
fn cited(result: &WalkResult) -> BTreeMap<u32, &Citation> {
    let mut cited = BTreeMap::new();
    if result.status() != WalkStatus::Abstained {
        for citation in result.sentences.iter().flat_map(numbered) {
            cited.entry(citation.number).or_insert(citation);
        }
    }
    cited
}

fn source_line(document: Option<&GradedPassage>, citation: &Citation) -> String {
    let Some(passage) = document.and_then(|document| document.passage.as_ref()) else {
        return printable_line(&citation.passage_id);
    };
    let mut line = match passage.origin() {
        Origin::Web => format!("web: {}", printable_line(&passage.source)),
        _ => printable_line(&relative(&passage.source)),
    };
    let title = printable_line(&passage.title);
    if !title.is_empty() && !line.contains(&title) {
        let _ = write!(line, " — {title}");
    }
    let place = excerpt(&printable_line(&passage.place_line(citation.span)), PLACE_COLUMNS);
    if !place.is_empty() {
        let _ = write!(line, ", {place}");
    }
    if let Some(quoted) = &citation.document_span {
        let _ = write!(line, " {DIM}(characters {}–{}){DIM:#}", quoted.start, quoted.end);
    }
    if let Some(score) = document.and_then(|document| document.score) {
        let _ = write!(line, " {DIM}relevance {score:.2}{DIM:#}");
    }
    line
}

/// How a walk ended, with what it cost and why.
#[must_use]
pub fn verdict(result: &WalkResult) -> String {
    let (word, style) = match result.status() {
        WalkStatus::Answered => ("answered", GOOD),
        WalkStatus::Unverified => ("unverified", DOUBTFUL),
        WalkStatus::Ungrounded => ("ungrounded", DOUBTFUL),
        WalkStatus::Abstained => ("abstained", DOUBTFUL),
        WalkStatus::Failed => ("failed", BAD),
        WalkStatus::Unspecified => ("unknown", BAD),
    };
    let took = result
        .duration
        .and_then(|d| Duration::try_from(d).ok())
        .unwrap_or_default();
    let steps = result.steps.len();
    let out_of = out_of(result.exhausted());
    let mut line = format!(
        "{style}{word}{out_of}{style:#} {DIM}by {} in {steps} {} and {}",
        printable_line(&result.graph),
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
    if !result.standalone_question.is_empty() {
        let _ = write!(
            line,
            "\n{DIM}asked as:{DIM:#} {}",
            printable(&result.standalone_question)
        );
    }
    let reason = reason(result);
    if !reason.is_empty() {
        let _ = write!(line, "\n{style}{}{style:#}", printable(&reason));
    }
    if !result.trace_id.is_empty() {
        let _ = write!(line, "\n{DIM}trace {}{DIM:#}", printable_line(&result.trace_id));
    }
    line
}

/// The reason of the status without the errors of services: each stands with its step, and that of a walk that failed
/// with its own line.
fn reason(result: &WalkResult) -> String {
    let mut reason = result.reason.clone();
    for step in result.steps.iter().filter(|step| !step.error.is_empty()) {
        reason = reason.replace(&format!(": {}", step.error), "");
    }
    reason
}

/// The exhausted limit, to append to the status.
fn out_of(limit: Limit) -> &'static str {
    match limit {
        Limit::Unspecified => "",
        Limit::Steps => " (out of steps)",
        Limit::ModelCalls => " (out of model calls)",
        Limit::Tokens => " (out of tokens)",
        Limit::WebSearches => " (out of web searches)",
        Limit::Time => " (out of time)",
    }
}

#[cfg(test)]
mod tests;
