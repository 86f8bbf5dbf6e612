//! The report on a terminal, at most 100 columns wide.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use emend_text::excerpt;

use super::{NOTHING, Report, number, percent, points};
use crate::score::{
    interval::Difference,
    metrics::{By, Group, Metrics},
};

const GOOD: Style = AnsiColor::Green.on_default();
const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// Longest message of a failure, in characters.
const MAX_MESSAGE_WIDTH: usize = 80;

/// The whole report, in colours.
#[must_use]
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    if report.run.partial {
        let _ = writeln!(
            text,
            "{DOUBTFUL}partial: it ended early, so some questions were not asked of some graphs{DOUBTFUL:#}"
        );
    }
    for set in &report.sets {
        let _ = writeln!(
            text,
            "{DIM}{}: {} of {} questions; documents: {}, new passages: {}, in {:.1} s{DIM:#}",
            set.name, set.questions, set.available, set.documents, set.new_passages, set.ingest_seconds
        );
    }
    for group in report.shown() {
        outcomes(&mut text, report, group);
    }
    costs(&mut text, report);
    for failure in &report.failures {
        let message = excerpt(&failure.message, MAX_MESSAGE_WIDTH);
        let _ = writeln!(
            text,
            "{BAD}{}: {} failed{BAD:#} with {message}",
            failure.graph, failure.walks
        );
    }
    text
}

fn outcomes(text: &mut String, report: &Report, group: &Group) {
    let what = match group.by {
        By::All => "all questions".to_owned(),
        By::Set => format!("set {}", group.name),
        By::Lang => format!("language {}", group.name),
    };
    let found = &group.retrieval;
    let _ = write!(text, "\n{BOLD}{what}{BOLD:#}");
    if found.hit_at_1.of > 0 {
        let _ = write!(
            text,
            "{DIM}; retrieval hit@1 {} %, hit@5 {} % of {} local questions{DIM:#}",
            percent(found.hit_at_1),
            percent(found.hit_at_5),
            found.hit_at_1.of
        );
    }
    if found.errors > 0 {
        let _ = write!(text, "{BAD}; {} searches failed{BAD:#}", found.errors);
    }
    let _ = writeln!(
        text,
        "\n{DIM}{:<21} {:<6} {:>4} {:>7} {:<23} {:>5} {:>5} {:>5} {:>5} {:>5} {:>4}{DIM:#}",
        "% of questions", "kind", "n", "correct", "  vs the first graph", "F1", "answ", "unver", "abst", "web", "err"
    );
    for (index, graph) in report.run.graphs.iter().enumerate() {
        for (row, kind) in group.kinds.iter().enumerate() {
            let Some(metrics) = kind.graphs.get(index) else {
                continue;
            };
            let name = if row == 0 { graph.as_str() } else { "" };
            outcome(text, name, kind.expect, metrics);
        }
    }
}

fn outcome(text: &mut String, name: &str, kind: &str, metrics: &Metrics) {
    let unverified = super::Share::new(metrics.unverified.count + metrics.ungrounded.count, metrics.questions);
    let difference = format!("{:<23}", metrics.difference.as_ref().map(points).unwrap_or_default());
    let style = colour(metrics.difference.as_ref());
    let strong = if kind == "all" { BOLD } else { Style::new() };
    let _ = writeln!(
        text,
        "{name:<21} {strong}{kind:<6}{strong:#} {:>4} {strong}{:>7}{strong:#} {style}{difference}{style:#} \
         {:>5} {:>5} {:>5} {:>5} {:>5} {:>4}",
        metrics.questions,
        percent(metrics.correct),
        super::hundredths(metrics.f1),
        percent(metrics.answered),
        percent(unverified),
        percent(metrics.abstained),
        percent(metrics.web_used),
        metrics.errors.count,
    );
}

/// A difference that may be chance is dim.
fn colour(difference: Option<&Difference>) -> Style {
    match difference {
        Some(difference) if difference.is_real() && difference.points > 0.0 => GOOD,
        Some(difference) if difference.is_real() => BAD,
        _ => DIM,
    }
}

fn costs(text: &mut String, report: &Report) {
    let all = report.groups.iter().find(|group| group.by == By::All);
    let Some(all) = all.and_then(|group| group.kinds.iter().find(|kind| kind.expect == "all")) else {
        return;
    };
    let _ = writeln!(
        text,
        "\n{BOLD}what a walk costs{BOLD:#}{DIM}, and what was done where it was right and where it was wrong (%){DIM:#}\n\
         {DIM}{:<21} {:>7} {:>5} {:>4} {:>5} {:>6} {:>6} {:>6} {:>7} {:>7} {:>7} {:>7}{DIM:#}",
        "", "walks/s", "steps", "max", "calls", "tokens", "p50 ms", "p95 ms", "abst ✓", "abst ✗", "web ✓", "web ✗"
    );
    for metrics in &all.graphs {
        let speed = report.walks_per_second(&metrics.graph);
        let _ = writeln!(
            text,
            "{:<21} {speed:>7.2} {:>5} {:>4} {:>5} {:>6} {:>6} {:>6} {:>7} {:>7} {:>7} {:>7}",
            metrics.graph,
            number(metrics.steps_mean, 1),
            metrics.steps_max,
            number(metrics.model_calls_mean, 1),
            number(metrics.tokens_mean, 0),
            number(metrics.latency_p50_ms, 0),
            number(metrics.latency_p95_ms, 0),
            percent(metrics.abstained_rightly),
            percent(metrics.abstained_wrongly),
            percent(metrics.web_rightly),
            percent(metrics.web_wrongly),
        );
    }
    let _ = writeln!(
        text,
        "{DIM}abst ✓ of kinds none and absent, ✗ of local and web; web ✓ of web, ✗ of local; {NOTHING} none asked\n\
         * the 95 % interval of the difference, in points, leaves out 0{DIM:#}"
    );
}
