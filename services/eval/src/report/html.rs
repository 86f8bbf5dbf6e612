//! The report as one page, with plots and the questions that went wrong.

use anyhow::Result;
use emend_text::excerpt;
use serde::Serialize;

use super::{Failure, NOTHING, Report, Run, hundredths, number, percent, points};
use crate::{
    data::Expect,
    plot::{self, About, Axis, Bars, Figure, Line, Lines, Series, Stacked, Table},
    qa::sample::spread,
    score::{
        Ending, Walk,
        metrics::{By, Group, Kind, Metrics, quantile},
    },
};

/// Questions that went wrong, at most.
const ROWS: usize = 200;

/// Longest text of a cell, in characters.
const MAX_TEXT_CHARS: usize = 400;

/// Points of a distribution: each twentieth.
const TWENTIETHS: usize = 20;

/// What the template shows.
#[derive(Serialize)]
struct Page<'a> {
    run: &'a Run,
    measured_on: String,
    figures: Vec<Figure>,
    sections: Vec<Section>,
    failures: Vec<Failure>,
    wrong: Vec<Wrong<'a>>,
    wrong_total: usize,
}

/// A group of questions.
#[derive(Serialize)]
struct Section {
    title: String,
    retrieval: Option<String>,
    tables: Vec<Captioned>,
}

#[derive(Serialize)]
struct Captioned {
    caption: String,
    table: Table,
}

/// A walk whose outcome was not correct.
#[derive(Serialize)]
struct Wrong<'a> {
    question: String,
    expected: String,
    got: String,
    status: &'static str,
    steps: usize,
    graph: &'a str,
    set: &'a str,
    id: &'a str,
    lang: &'a str,
    kind: &'static str,
}

/// The page.
///
/// # Errors
/// The template names what is not there.
pub(super) fn page(report: &Report, walks: &[Walk<'_>]) -> Result<String> {
    let wrong_total = walks.iter().filter(|walk| !walk.correct).count();
    let context = Page {
        run: &report.run,
        measured_on: report.measured_on(),
        figures: figures(report, walks)?,
        sections: report.shown().map(|group| section(report, group)).collect(),
        failures: report.failures.iter().map(failure).collect(),
        wrong: wrong(&report.run.graphs, walks),
        wrong_total,
    };
    plot::page(include_str!("report.html.jinja"), &context)
}

fn failure(failure: &Failure) -> Failure {
    Failure {
        message: excerpt(&failure.message, MAX_TEXT_CHARS),
        ..failure.clone()
    }
}

/// At most so many walks whose outcome was not correct, as many of each graph as it comes to; of a graph by set and id.
fn wrong<'a>(graphs: &[String], walks: &'a [Walk<'a>]) -> Vec<Wrong<'a>> {
    let of = |graph: &String| {
        let wrong = walks.iter().filter(|walk| !walk.correct && walk.graph == graph);
        let mut wrong: Vec<_> = wrong.collect();
        wrong.sort_by_key(|walk| walk.case.key());
        wrong
    };
    let by_graph: Vec<_> = graphs.iter().map(of).collect();
    let quotas = spread(ROWS, &by_graph.iter().map(Vec::len).collect::<Vec<_>>());
    let row = |walk: &'a Walk<'a>| Wrong {
        question: excerpt(&walk.case.question, MAX_TEXT_CHARS),
        expected: match walk.case.expect {
            Expect::Local | Expect::Web => excerpt(&walk.case.answers.join(" / "), MAX_TEXT_CHARS),
            Expect::None | Expect::Absent => "an abstention".to_owned(),
        },
        got: excerpt(walk.error.as_deref().unwrap_or(&walk.answer), MAX_TEXT_CHARS),
        status: walk.status.name(),
        steps: walk.steps,
        graph: walk.graph,
        set: &walk.case.set,
        id: &walk.case.id,
        lang: &walk.case.lang,
        kind: walk.case.expect.name(),
    };
    let chosen = by_graph.into_iter().zip(quotas);
    chosen
        .flat_map(|(wrong, quota)| wrong.into_iter().take(quota).map(row))
        .collect()
}

fn figures(report: &Report, walks: &[Walk<'_>]) -> Result<Vec<Figure>> {
    let Some(all) = report.groups.iter().find(|group| group.by == By::All) else {
        return Ok(Vec::new());
    };
    Ok(vec![
        correct(&report.run.graphs, &all.kinds)?,
        endings(&report.run.graphs, &all.kinds)?,
        latencies(&report.run.graphs, walks)?,
    ])
}

fn correct(graphs: &[String], kinds: &[Kind]) -> Result<Figure> {
    let series = |(index, graph): (usize, &String)| {
        let metrics = || kinds.iter().map(|kind| kind.graphs.get(index));
        Series {
            name: graph.clone(),
            colour: index,
            shares: metrics().map(|metrics| metrics?.correct.share).collect(),
            intervals: metrics().map(|metrics| metrics?.correct_interval).collect(),
        }
    };
    let bars = Bars {
        about: About {
            id: "correct",
            title: "Correct outcomes by kind".to_owned(),
            description: "Bars of the share of correct outcomes, one for each graph, grouped by where the answer is; \
                      lines show 95 % intervals. The numbers are in the table below."
                .to_owned(),
        },
        category: "kind".to_owned(),
        categories: kinds.iter().map(|kind| kind.expect.to_owned()).collect(),
        series: graphs.iter().enumerate().map(series).collect(),
    };
    bars.figure()
}

fn endings(graphs: &[String], kinds: &[Kind]) -> Result<Figure> {
    let all: &[Metrics] = kinds
        .iter()
        .find(|kind| kind.expect == "all")
        .map_or(&[], |kind| &kind.graphs);
    let series = |ending: Ending| Series {
        name: ending.name().to_owned(),
        colour: match ending {
            Ending::Answered => 2,
            Ending::Unverified => 1,
            Ending::Ungrounded => 7,
            Ending::Abstained => 4,
            Ending::Error => 5,
        },
        shares: all.iter().map(|metrics| metrics.ending(ending).share).collect(),
        intervals: Vec::new(),
    };
    let bars = Stacked {
        about: About {
            id: "endings",
            title: "How walks ended".to_owned(),
            description:
                "One bar for each graph, divided into the shares of its walks that ended answered, unverified, \
                      ungrounded, abstained and with an error. The numbers are in the table below."
                    .to_owned(),
        },
        category: "graph".to_owned(),
        categories: graphs.to_vec(),
        series: Ending::ALL.into_iter().map(series).collect(),
    };
    bars.figure()
}

fn latencies(graphs: &[String], walks: &[Walk<'_>]) -> Result<Figure> {
    let line = |(colour, graph): (usize, &String)| {
        let ended = walks
            .iter()
            .filter(|walk| walk.graph == graph && walk.status != Ending::Error);
        let mut ms: Vec<f64> = ended.map(|walk| walk.ms).collect();
        ms.sort_by(f64::total_cmp);
        let point = |twentieth: usize| {
            let share = twentieth as f64 / TWENTIETHS as f64;
            quantile(&ms, share).map(|ms| (ms, share))
        };
        Line {
            name: graph.clone(),
            colour,
            points: (1..=TWENTIETHS).filter_map(point).collect(),
            marked: false,
        }
    };
    let lines: Vec<_> = graphs.iter().enumerate().map(line).collect();
    let all = || lines.iter().flat_map(|line| &line.points).map(|(ms, _)| *ms);
    // The whole decades that hold every point.
    let decade = |ms: f64, round: fn(f64) -> f64| 10f64.powf(round(ms.max(0.1).log10()));
    let low = decade(all().fold(f64::INFINITY, f64::min).min(1e6), f64::floor);
    let high = decade(all().fold(0.0, f64::max), f64::ceil).max(10.0 * low);
    let plot = Lines {
        about: About {
            id: "latency",
            title: "How long walks took".to_owned(),
            description: "One line for each graph: the share of its walks, upwards, that took at most so many \
                      milliseconds, to the right on a logarithmic axis. The numbers are in the table below."
                .to_owned(),
        },
        x: Axis {
            label: "milliseconds".to_owned(),
            low,
            high,
            logarithmic: true,
            decimals: 0,
        },
        y: Axis::share("share of walks that took at most"),
        diagonal: false,
        lines,
    };
    plot.figure()
}

fn section(report: &Report, group: &Group) -> Section {
    let found = &group.retrieval;
    let failed = match found.errors {
        0 => String::new(),
        errors => format!("; {errors} searches failed"),
    };
    let captioned = |caption: &str, table: Table| Captioned {
        caption: caption.to_owned(),
        table,
    };
    Section {
        title: match group.by {
            By::All => "All questions".to_owned(),
            By::Set => format!("Set {}", group.name),
            By::Lang => format!("Language {}", group.name),
        },
        retrieval: (found.hit_at_1.of > 0 || found.errors > 0).then(|| {
            format!(
                "Retrieval, before any correction: hit@1 {} %, hit@5 {} % of {} local questions{failed}.",
                percent(found.hit_at_1),
                percent(found.hit_at_5),
                found.hit_at_1.of
            )
        }),
        tables: vec![
            captioned("Outcomes, % of the questions of the kind", outcomes(report, group)),
            captioned(
                "What a walk cost, and what was done where it was right and wrong",
                costs(report, group),
            ),
        ],
    }
}

fn outcomes(report: &Report, group: &Group) -> Table {
    let interval = |metrics: &Metrics| {
        metrics.correct_interval.map_or_else(
            || NOTHING.to_owned(),
            |[low, high]| format!("{}–{}", hundredths(Some(low)), hundredths(Some(high))),
        )
    };
    let mut rows = Vec::new();
    for index in 0..report.run.graphs.len() {
        for kind in &group.kinds {
            let Some(metrics) = kind.graphs.get(index) else {
                continue;
            };
            rows.push(vec![
                metrics.graph.clone(),
                kind.expect.to_owned(),
                metrics.questions.to_string(),
                percent(metrics.correct),
                interval(metrics),
                metrics.difference.as_ref().map(points).unwrap_or_default(),
                percent(metrics.exact),
                hundredths(metrics.f1),
                percent(metrics.answered),
                percent(metrics.unverified),
                percent(metrics.ungrounded),
                percent(metrics.abstained),
                percent(metrics.web_used),
                metrics.errors.count.to_string(),
            ]);
        }
    }
    let versus = format!("vs {}", report.run.graphs.first().map_or("", String::as_str));
    Table {
        columns: columns(&[
            "graph",
            "kind",
            "questions",
            "correct",
            "95 %",
            &versus,
            "exact",
            "F1",
            "answered",
            "unverified",
            "ungrounded",
            "abstained",
            "web used",
            "errors",
        ]),
        rows,
    }
}

fn costs(report: &Report, group: &Group) -> Table {
    let all = group.kinds.iter().find(|kind| kind.expect == "all");
    let speed = |graph: &str| match group.by {
        By::All => Some(report.walks_per_second(graph)),
        By::Set => {
            let mut speeds = report.speed.iter();
            let of = speeds.find(|speed| speed.set == group.name && speed.graph == graph);
            of.map(|speed| speed.walks_per_second)
        }
        By::Lang => None,
    };
    let row = |metrics: &Metrics| {
        vec![
            metrics.graph.clone(),
            number(speed(&metrics.graph), 2),
            number(metrics.steps_mean, 1),
            metrics.steps_max.to_string(),
            number(metrics.model_calls_mean, 1),
            number(metrics.tokens_mean, 0),
            number(metrics.latency_p50_ms, 0),
            number(metrics.latency_p95_ms, 0),
            percent(metrics.abstained_rightly),
            percent(metrics.abstained_wrongly),
            percent(metrics.web_rightly),
            percent(metrics.web_wrongly),
        ]
    };
    Table {
        columns: columns(&[
            "graph",
            "walks/s",
            "steps, mean",
            "most",
            "model calls",
            "tokens",
            "p50 ms",
            "p95 ms",
            "abstained rightly, %",
            "abstained wrongly, %",
            "web rightly, %",
            "web wrongly, %",
        ]),
        rows: all
            .map(|kind| kind.graphs.iter().map(row).collect())
            .unwrap_or_default(),
    }
}

fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}
