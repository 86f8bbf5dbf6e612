//! What is printed: a table for people, an object for programs.

use std::time::Duration;

use emend_testkit::repeated::{aligned, cores, milliseconds};
use serde_json::{Value, json};

use crate::{
    measure::{Measured, Pair, Plan, Row, Soak},
    processes::Cpu,
};

/// Heads of the table's columns.
const HEADS: [&str; 10] = [
    "workload",
    "at once",
    "walks",
    "p50 ms",
    "p99 ms",
    "walks/s",
    "orchestrator cpu ms",
    "services cpu ms",
    "caller cpu ms",
    "orchestrator MiB",
];

/// The two kinds of a pair, by name. Only for walks does the orchestrator do anything.
fn rows(pair: &Pair) -> [(&'static str, &Row, bool); 2] {
    [("walk", &pair.walk, true), ("bare", &pair.bare, false)]
}

/// The least and the greatest of some numbers.
fn range<T: Copy>(numbers: &[T], less: fn(T, T) -> T, more: fn(T, T) -> T) -> Option<(T, T)> {
    let least = numbers.iter().copied().reduce(less)?;
    Some((least, numbers.iter().copied().reduce(more)?))
}

/// A table in plain text, and the lines around it.
pub(crate) fn table(plan: &Plan, measured: &Measured) -> String {
    let load = |load: Option<f64>| load.map_or_else(|| "unknown".to_owned(), |load| format!("{load:.2}"));
    let mut text = format!(
        "the orchestrator's own cost, on {} cores; load {} before, {} after\nbare: the same calls over {}; {} rounds in turns; \
         cpu is per walk\n\n",
        cores(),
        load(measured.load[0]),
        load(measured.load[1]),
        match plan.bare {
            crate::workload::Bare::Tonic => "plain channels of tonic",
            crate::workload::Bare::Chassis => "the chassis' channels",
        },
        plan.rounds,
    );
    let mut lines = vec![HEADS.map(str::to_owned)];
    for pair in &measured.pairs {
        for (name, row, orchestrated) in rows(pair) {
            let cpu = |whose| row.cpu(whose).map(milliseconds);
            let cell = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
            lines.push([
                name.to_owned(),
                pair.concurrency.to_string(),
                row.timings.count().to_string(),
                milliseconds(row.timings.percentile(50)),
                milliseconds(row.timings.percentile(99)),
                format!("{:.0}", row.timings.per_second()),
                cell(cpu(|cpu: Cpu| cpu.orchestrator).filter(|_| orchestrated)),
                cell(cpu(|cpu: Cpu| cpu.services)),
                cell(cpu(|cpu: Cpu| cpu.caller)),
                cell(pair.rss.map(mebibytes).filter(|_| orchestrated)),
            ]);
        }
    }
    text.push_str(&aligned(&lines));
    text.push('\n');
    for pair in &measured.pairs {
        text.push_str(&format!("walk / bare at {}: {:.2}", pair.concurrency, pair.ratio()));
        if let Some((least, most)) = range(&pair.ratios, f64::min, f64::max) {
            text.push_str(&format!(" (by round {least:.2} to {most:.2})"));
        }
        text.push('\n');
    }
    if let Some(soak) = &measured.soak {
        text.push_str(&soaked(soak));
    }
    text.trim_end().to_owned()
}

/// The long run in a line.
fn soaked(soak: &Soak) -> String {
    let mut text = format!(
        "soak: {} walks, {} at once, {:.0} walks/s",
        soak.walks, soak.concurrency, soak.per_second
    );
    if let Some((least, most)) = range(&soak.rss, u64::min, u64::max)
        && let (Some(first), Some(last)) = (soak.rss.first(), soak.rss.last())
    {
        text.push_str(&format!(
            "; orchestrator MiB after the first tenth: first {}, min {}, max {}, last {} ({} looks)",
            mebibytes(*first),
            mebibytes(least),
            mebibytes(most),
            mebibytes(*last),
            soak.rss.len()
        ));
    }
    text
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / (1024.0 * 1024.0))
}

/// Everything as one JSON object: times in microseconds, memory in bytes, `null` for what the system does not tell.
pub(crate) fn json(plan: &Plan, measured: &Measured) -> String {
    let row = |(name, row, orchestrated): (&str, &Row, bool), pair: &Pair| {
        let cpu = |whose| row.cpu(whose).map(microseconds);
        json!({
            "workload": name,
            "concurrency": pair.concurrency,
            "walks": row.timings.count(),
            "p50_us": microseconds(row.timings.percentile(50)),
            "p99_us": microseconds(row.timings.percentile(99)),
            "walks_per_second": row.timings.per_second(),
            "orchestrator_cpu_us": cpu(|cpu: Cpu| cpu.orchestrator).filter(|_| orchestrated),
            "services_cpu_us": cpu(|cpu: Cpu| cpu.services),
            "caller_cpu_us": cpu(|cpu: Cpu| cpu.caller),
            "orchestrator_rss": pair.rss.filter(|_| orchestrated),
        })
    };
    let pairs = measured.pairs.iter();
    let of_rows: Vec<Value> = pairs
        .clone()
        .flat_map(|pair| rows(pair).map(|kind| row(kind, pair)))
        .collect();
    let ratios = pairs.map(|pair| {
        json!({
            "concurrency": pair.concurrency,
            "walk_to_bare_p50": pair.ratio(),
            "by_round": pair.ratios,
        })
    });
    let soak = measured.soak.as_ref().map(|soak| {
        let range = range(&soak.rss, u64::min, u64::max);
        json!({
            "walks": soak.walks,
            "concurrency": soak.concurrency,
            "walks_per_second": soak.per_second,
            "looks": soak.rss.len(),
            "rss_first": soak.rss.first(),
            "rss_min": range.map(|(least, _)| least),
            "rss_max": range.map(|(_, most)| most),
            "rss_last": soak.rss.last(),
        })
    });
    json!({
        "cores": cores(),
        "load": measured.load,
        "bare": plan.bare.name(),
        "rounds": plan.rounds,
        "rows": of_rows,
        "ratios": ratios.collect::<Vec<_>>(),
        "soak": soak,
    })
    .to_string()
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
