//! `emend replay`: walks again what a record holds, and says where the path turns.

use std::{fmt::Write as _, path::Path, process::ExitCode, time::Duration};

use anyhow::{Context as _, Result, bail};
use emend_core::{Deadline, Scope, did_you_mean, list_names, printable_line};
use emend_evaluator::Coefficients;
use emend_orchestrator::{catalog::Catalog, replay};
use emend_proto::v1::{
    GradeThresholds, RecordEnd, ReplayWalkRequest, ReplayWalkResponse, Step, Turn, WalkResult, walk_event::Event,
};
use tokio_util::sync::CancellationToken;

use crate::{args::ReplayOptions, graph, json, render, terminal, walk_file};

/// Exit status if the record ended before the walk did.
const RECORD_ENDED: u8 = 6;
/// Longest time to check the graph and its options.
const MAX_CHECK_TIME: Duration = Duration::from_secs(60);

/// Runs the command.
///
/// # Errors
/// The walk cannot be read or has no record, or a graph, an option or a threshold is wrong.
pub async fn run(options: ReplayOptions) -> Result<ExitCode> {
    let json = options.json;
    match replayed(options).await {
        Ok(code) => Ok(code),
        Err(error) if json && !render::reader_left(&error) => {
            terminal::print_json(&render::error_json(&error), true)?;
            Err(error)
        }
        Err(error) => Err(error),
    }
}

async fn replayed(options: ReplayOptions) -> Result<ExitCode> {
    let walk = walk_file::read(&options.walk)?;
    let mut request = ReplayWalkRequest {
        walk: Some(walk.clone()),
        options: options.options.iter().cloned().collect(),
        thresholds: Some(thresholds(options.coefficients.as_deref(), &options.thresholds)?),
        ..ReplayWalkRequest::default()
    };
    let catalog = Catalog::load(options.graphs_dir.as_deref())?;
    if let Some(name) = &options.graph {
        if catalog.get(name).is_ok() {
            request.graph.clone_from(name);
        } else {
            let own = graph::found(name, options.graphs_dir.as_deref())?;
            own.source().clone_into(&mut request.graph_yaml);
        }
    }
    let scope = Scope {
        deadline: Deadline::after(MAX_CHECK_TIME),
        cancel: CancellationToken::new(),
    };
    let response = replay::replay(&catalog, request, &scope).await?;
    if options.json {
        terminal::print_json(&json::value("ReplayWalkResponse", &response)?, true)?;
    } else {
        terminal::print(text(&walk, &response))?;
    }
    Ok(match response.end {
        Some(_) => ExitCode::from(RECORD_ENDED),
        None => ExitCode::SUCCESS,
    })
}

/// Those of a file of coefficients, and before them those that are named.
fn thresholds(coefficients: Option<&Path>, named: &[(String, f64)]) -> Result<GradeThresholds> {
    let mut all = GradeThresholds::default();
    if let Some(file) = coefficients {
        let coefficients = Coefficients::read(file).with_context(|| format!("--coefficients {}", file.display()))?;
        let of = coefficients.thresholds();
        all = GradeThresholds {
            relevant: Some(of.relevant),
            lower: Some(of.lower),
            upper: Some(of.upper),
            fully: Some(of.fully),
            partially: Some(of.partially),
            useful: Some(of.useful),
            quote: Some(of.quote),
            strip: Some(of.strip),
        };
    }
    for (name, value) in named {
        let mut fields = [
            ("relevant", &mut all.relevant),
            ("lower", &mut all.lower),
            ("upper", &mut all.upper),
            ("fully", &mut all.fully),
            ("partially", &mut all.partially),
            ("useful", &mut all.useful),
            ("quote", &mut all.quote),
            ("strip", &mut all.strip),
        ];
        let names = fields.each_ref().map(|(name, _)| *name);
        match fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, field)) => **field = Some(*value),
            None => bail!(
                "--threshold {name}: there is no such threshold{}; there are {}",
                did_you_mean(name, names),
                list_names(names)
            ),
        }
    }
    Ok(all)
}

/// The path, where it turned, and how it ended.
fn text(recorded: &WalkResult, response: &ReplayWalkResponse) -> String {
    let events = || response.events.iter().filter_map(|event| event.event.as_ref());
    let steps = events().filter_map(|event| match event {
        Event::StepFinished(finished) => finished.step.as_ref(),
        _ => None,
    });
    let turned = response.turn.as_ref().map(|turn| turn.step);
    let mut text = String::new();
    for step in steps {
        let marked = turned.is_some_and(|turned| step.number >= turned.max(1));
        let _ = writeln!(text, "{}", line(step, marked));
    }
    text.push_str(&match &response.turn {
        Some(turn) => told(turn),
        None => "the path is that of the record\n".to_owned(),
    });
    match (&response.end, events().next_back()) {
        (Some(end), _) => text.push_str(&ended(end)),
        (None, Some(Event::Finished(result))) => {
            let (now, before) = (result.status().as_str_name(), recorded.status().as_str_name());
            let name = |status: &str| status.trim_start_matches("WALK_STATUS_").to_lowercase();
            let _ = write!(text, "ends {}", name(now));
            if now != before {
                let _ = write!(text, " (recorded: {})", name(before));
            }
            if !result.reason.is_empty() {
                let _ = write!(text, ": {}", printable_line(&result.reason));
            }
            text.push('\n');
        }
        _ => {}
    }
    text
}

fn line(step: &Step, turned: bool) -> String {
    let mark = if turned { render::marked("≠") } else { " ".to_owned() };
    format!(
        "{mark} {:>3} {:<22} {:<16} {}",
        step.number,
        printable_line(&step.node),
        printable_line(&step.outcome),
        printable_line(&step.summary)
    )
    .trim_end()
    .to_owned()
}

fn told(turn: &Turn) -> String {
    let differs = |now: &str, before: &str| {
        if now == before {
            format!("`{}`", printable_line(now))
        } else {
            format!("`{}` (recorded: `{}`)", printable_line(now), printable_line(before))
        }
    };
    let mut text = match turn.step {
        0 => format!(
            "the path turned at its beginning: {}",
            differs(&turn.next, &turn.recorded_next)
        ),
        step => format!(
            "the path turned at step {step} `{}`: {}",
            printable_line(&turn.node),
            differs(&turn.outcome, &turn.recorded_outcome)
        ),
    };
    if turn.step > 0 && !turn.next.is_empty() {
        let _ = write!(text, ", and so to {}", differs(&turn.next, &turn.recorded_next));
    }
    if !turn.reason.is_empty() {
        let _ = write!(text, "\n  because {}", printable_line(&turn.reason));
    }
    text.push('\n');
    text
}

fn ended(end: &RecordEnd) -> String {
    format!(
        "here the record ends: step {} `{}` calls {}: {}\n",
        end.step,
        printable_line(&end.node),
        printable_line(&end.method),
        printable_line(&end.missing)
    )
}
