//! `emend trace`: a recorded walk as a tree with bars of time.

use std::{fmt::Write as _, process::ExitCode, time::Duration};

use anyhow::Result;
use emend_core::{printable, printable_line};
use emend_proto::v1::{RecordedCall, Step, WalkResult, recorded_call::Reply};

use crate::{args::TraceOptions, render, terminal, walk_file};

/// Width of a bar, in characters.
const BAR: usize = 32;
/// Most calls shown of a step.
const MAX_CALLS: usize = 12;

/// Runs the command.
///
/// # Errors
/// The walk cannot be read.
pub fn run(options: &TraceOptions) -> Result<ExitCode> {
    terminal::print(text(&walk_file::read(&options.walk)?))?;
    Ok(ExitCode::SUCCESS)
}

/// A time that a protobuf message has; zero where it has none.
fn time<D>(duration: Option<D>) -> Duration
where
    Duration: TryFrom<D>,
{
    duration
        .and_then(|duration| Duration::try_from(duration).ok())
        .unwrap_or_default()
}

fn text(walk: &WalkResult) -> String {
    let taken: Duration = walk.steps.iter().map(|step| time(step.duration)).sum();
    let whole = time(walk.duration).max(taken);
    let mut text = String::new();
    let record = walk.record.as_ref();
    if let Some(question) = record.and_then(|record| record.question.as_ref()) {
        let _ = writeln!(text, "{}", printable(&question.question));
    }
    let calls = record.map(|record| record.calls.as_slice()).unwrap_or_default();
    let width = walk.steps.iter().map(|step| step.node.chars().count() + 4);
    let width = width
        .chain(calls.iter().map(|call| call.method.len() + 3))
        .max()
        .unwrap_or_default();
    let mut began = Duration::ZERO;
    for step in &walk.steps {
        let took = time(step.duration);
        let name = format!("{:>2} {}", step.number, printable_line(&step.node));
        let bar = render::bar(began, took, whole, BAR, '█');
        let _ = writeln!(
            text,
            "├─ {name:<width$} {bar} {:>9}  {}",
            render::short(took),
            said(step)
        );
        let mut own = calls.iter().filter(|call| call.step == step.number).peekable();
        let mut shown = 0;
        while let Some(call) = own.next() {
            if shown == MAX_CALLS {
                let _ = writeln!(text, "│  └─ and {} more calls", own.count() + 1);
                break;
            }
            shown += 1;
            let branch = if own.peek().is_some() { "├─" } else { "└─" };
            let name = width - 3;
            let bar = render::bar(time(call.started), time(call.duration), whole, BAR, '▒');
            let _ = writeln!(
                text,
                "│  {branch} {:<name$} {bar} {:>9}  {}",
                printable_line(&call.method),
                render::short(time(call.duration)),
                replied(call)
            );
        }
        began += took;
    }
    let _ = write!(text, "└─ {}", render::verdict(walk).replace('\n', "\n   "));
    text.push('\n');
    if record.is_some_and(|record| record.cut) {
        text.push_str("   the record was cut at its largest size: calls are missing\n");
    }
    text
}

fn said(step: &Step) -> String {
    let mut said = printable_line(&step.outcome);
    for part in [&step.summary, &step.error] {
        if !part.is_empty() {
            let _ = write!(said, ", {}", printable_line(part));
        }
    }
    said
}

fn replied(call: &RecordedCall) -> String {
    let passages = call.passages.len();
    let score = |score: Option<f64>| score.map_or_else(|| "ungraded".to_owned(), |score| format!("{score:.2}"));
    match &call.reply {
        None => format!("{passages} of at most {} passages", call.most),
        Some(Reply::Failure(failure)) => format!(
            "failed ({}): {}",
            printable_line(&failure.code),
            printable_line(&failure.cause)
        ),
        Some(Reply::Grades(reply)) => {
            let scores: Vec<String> = reply.grades.iter().map(|grade| score(grade.score)).collect();
            scores.join(" ")
        }
        Some(Reply::Groundedness(reply)) => score(reply.score),
        Some(Reply::Usefulness(reply)) => score(reply.score),
        Some(Reply::Decision(reply)) => score(reply.probability),
        Some(Reply::Strips(reply)) => {
            let kept = reply.strips.iter().filter(|strip| strip.kept).count();
            format!("kept {kept} of {} strips", reply.strips.len())
        }
        Some(Reply::Generated(reply)) if reply.abstained => "abstained".to_owned(),
        Some(Reply::Generated(reply)) => {
            let count = reply.sentences.len();
            let plural = if count == 1 { "" } else { "s" };
            format!("{count} sentence{plural} by {}", printable_line(&reply.model))
        }
        Some(Reply::Rewritten(reply)) => printable_line(&reply.query),
    }
}

#[cfg(test)]
mod tests;
