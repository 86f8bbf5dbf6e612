//! What is printed: a table for people, an object for programs.

use std::time::Duration;

use emend_testkit::repeated::{aligned, cores, milliseconds};
use serde_json::{Map, Value, json};

use crate::{
    Arguments, Kind, ROUND_TRIPS,
    measure::{Measured, Row},
    services::NAMES,
};

/// Heads of the table's columns; processor time is that of one walk.
const HEADS: [&str; 16] = [
    "model ms",
    "at once",
    "way",
    "walks",
    "p50 ms",
    "p99 ms",
    "walks/s",
    "cpu ms",
    "retriever",
    "grader",
    "generator",
    "rewriter",
    "web",
    "orchestrator",
    "model",
    "caller",
];

/// The floor that a row is compared with, where it was measured.
fn floor<'a>(measured: &'a Measured, row: &Row) -> Option<&'a Row> {
    let mut rows = measured.rows.iter();
    rows.find(|floor| floor.kind == Kind::Floor && floor.delay == row.delay && floor.concurrency == row.concurrency)
        .filter(|_| row.kind != Kind::Floor)
}

/// How many times the floor's a row's median, walks a second and processor time are.
fn ratios(row: &Row, floor: &Row) -> [f64; 3] {
    let cpu = |row: &Row| row.timings.each(row.cpu()).unwrap_or_default().as_secs_f64();
    [
        row.timings.percentile(50).as_secs_f64() / floor.timings.percentile(50).as_secs_f64(),
        row.timings.per_second() / floor.timings.per_second(),
        cpu(row) / cpu(floor),
    ]
}

/// How many times the shortest way through a slow model's calls the 99th percentile is.
fn over_critical_path(row: &Row) -> Option<f64> {
    let critical = row.delay * ROUND_TRIPS;
    (!critical.is_zero()).then(|| row.timings.percentile(99).as_secs_f64() / critical.as_secs_f64())
}

/// A table in plain text, and the lines around it.
pub(crate) fn table(arguments: &Arguments, measured: &Measured) -> String {
    let load = |load: Option<f64>| load.map_or_else(|| "unknown".to_owned(), |load| format!("{load:.2}"));
    let mut lines = vec![HEADS.map(str::to_owned)];
    for row in &measured.rows {
        let each = |used: Duration| row.timings.each(used).map_or_else(|| "-".to_owned(), milliseconds);
        let service = |place: usize| {
            row.services
                .get(place)
                .map_or_else(|| "-".to_owned(), |used| each(*used))
        };
        lines.push([
            row.delay.as_millis().to_string(),
            row.concurrency.to_string(),
            row.name.clone(),
            row.timings.count().to_string(),
            milliseconds(row.timings.percentile(50)),
            milliseconds(row.timings.percentile(99)),
            format!("{:.0}", row.timings.per_second()),
            each(row.cpu()),
            service(0),
            service(1),
            service(2),
            service(3),
            service(4),
            service(5),
            each(row.model),
            each(row.caller),
        ]);
    }
    let mut text = format!(
        "a walk through self-rag over {} passages, on {} cores; load {} before, {} after; {} rounds in turns\n\n{}\n",
        arguments.passages,
        cores(),
        load(measured.load[0]),
        load(measured.load[1]),
        arguments.rounds,
        aligned(&lines),
    );
    for row in &measured.rows {
        let at = format!(
            "{} at {}, model {} ms",
            row.name,
            row.concurrency,
            row.delay.as_millis()
        );
        if let Some(floor) = floor(measured, row) {
            let [p50, per_second, cpu] = ratios(row, floor);
            text.push_str(&format!(
                "{at}: {p50:.2} × the floor's p50, {per_second:.2} × its walks/s, {cpu:.2} × its cpu\n"
            ));
        }
        if let Some(ratio) = over_critical_path(row) {
            text.push_str(&format!("{at}: p99 is {ratio:.3} × {ROUND_TRIPS} calls of the model\n"));
        }
    }
    text.trim_end().to_owned()
}

/// Everything as one JSON object: times in microseconds, `null` for what was not measured.
pub(crate) fn json(arguments: &Arguments, measured: &Measured) -> String {
    let rows = measured.rows.iter().map(|row| {
        let each = |used: Duration| row.timings.each(used).map(microseconds);
        let services = NAMES.iter().zip(&row.services);
        let services: Map<String, Value> = services
            .map(|(name, used)| ((*name).to_owned(), json!(each(*used))))
            .collect();
        let ratios = floor(measured, row).map(|floor| ratios(row, floor));
        json!({
            "way": row.name,
            "model_delay_us": microseconds(row.delay),
            "concurrency": row.concurrency,
            "walks": row.timings.count(),
            "p50_us": microseconds(row.timings.percentile(50)),
            "p99_us": microseconds(row.timings.percentile(99)),
            "walks_per_second": row.timings.per_second(),
            "cpu_us": each(row.cpu()),
            "services_cpu_us": services,
            "model_cpu_us": each(row.model),
            "caller_cpu_us": each(row.caller),
            "to_floor": ratios.map(|[p50, per_second, cpu]| json!({
                "p50": p50,
                "walks_per_second": per_second,
                "cpu": cpu,
            })),
            "p99_to_critical_path": over_critical_path(row),
        })
    });
    json!({
        "cores": cores(),
        "load": measured.load,
        "passages": arguments.passages,
        "rounds": arguments.rounds,
        "rows": rows.collect::<Vec<_>>(),
    })
    .to_string()
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
