//! Graph files that somebody made up, or that somebody spoilt: none panics, none costs more to check than is allowed, and
//! every walk of one that is accepted ends within its worst case.

use std::{sync::Arc, time::Duration};

use emend_core::Deadline;
use emend_fuzz::{damaged, fuzz_cases};
use proptest::prelude::*;

use super::{
    super::{Events, WalkMetrics, scripted::Call, walk},
    bound::{block_on, capricious},
    walk_request_of,
};
use crate::{
    catalog::Catalog,
    graph::{Action, Effort, FinishStatus, Graph, MAX_STATES, Options},
};

/// Files of each kind that are tried.
const FILES: u32 = 300;
/// The check of a file and its formulas may explore so many times the states of one search at most.
const SEARCHES: usize = 5;

/// One change of a file: what is done, where, and with which word or byte.
type Change = (u8, u16, u16);

/// Words that mean something somewhere in a graph file.
fn words() -> Vec<String> {
    let mut words: Vec<String> = Action::ALL.iter().map(|action| action.name().to_owned()).collect();
    words.extend(
        FinishStatus::ALL
            .iter()
            .map(|status| format!("finish({})", status.name())),
    );
    words.extend(
        [
            "none",
            "0",
            "1",
            "9",
            "200",
            "9999",
            "-1",
            "1.5",
            "while",
            "else",
            "visits(generate)",
        ]
        .map(String::from),
    );
    words.extend(
        [
            "generate",
            "retrieve",
            "rewrite",
            "top_k",
            "max_retries",
            "recursion",
            "*",
            "&",
            "{}",
            "[]",
        ]
        .map(String::from),
    );
    words
}

fn changed(yaml: &str, changes: &[Change]) -> String {
    let words = words();
    let mut lines: Vec<String> = yaml.lines().map(str::to_owned).collect();
    for (kind, place, with) in changes {
        let (place, with) = (usize::from(*place), usize::from(*with));
        let at = place % lines.len();
        let other = lines[with % lines.len()].clone();
        match kind % 8 {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, other),
            2 => lines[at] = other,
            // A value that another line refers to.
            3 => name_value(&mut lines, at, with),
            // A value deep in others.
            4 => {
                let deep = place % 40;
                if let Some((key, value)) = lines[at].split_once(": ") {
                    let (open, close) = [("[", "]"), ("{a: ", "}")][with % 2];
                    lines[at] = format!("{key}: {}{value}{}", open.repeat(deep), close.repeat(deep));
                }
            }
            // Another word in place of one.
            5 | 6 => {
                let line = &lines[at];
                let own: Vec<&str> = line
                    .split([' ', ',', '{', '}', ':'])
                    .filter(|word| !word.is_empty())
                    .collect();
                if let Some(word) = own.get(with % own.len().max(1)) {
                    lines[at] = line.replacen(word, &words[(place + with) % words.len()], 1);
                }
            }
            _ => {
                let mut bytes = std::mem::take(&mut lines[at]).into_bytes();
                if !bytes.is_empty() {
                    let byte = with % bytes.len();
                    bytes[byte] = u8::try_from(place % 256).unwrap();
                }
                lines[at] = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
    }
    lines.join("\n")
}

/// Names the value of a line, and refers to it in place of the value of another one, which may come before, or be part of it.
fn name_value(lines: &mut [String], at: usize, with: usize) {
    let other = with % lines.len();
    if let Some((key, value)) = lines[at].split_once(':') {
        lines[at] = format!("{key}: &again{value}");
    }
    if let Some((key, _)) = lines[other].split_once(':') {
        let references = ["*again", "[*again, *again]", "{<<: *again, a: *again}"];
        lines[other] = format!("{key}: {}", references[with % references.len()]);
    }
}

/// Checks a file, and walks its graph over services that do anything at all if it is accepted. Whether it was.
fn tried(yaml: &str, rolls: &[u8]) -> Result<bool, TestCaseError> {
    let mut effort = Effort::default();
    let graph = match Graph::parse_within("own.yaml", yaml, &mut effort) {
        Ok(graph) => graph,
        Err(invalid) => {
            prop_assert!(!invalid.findings.is_empty());
            prop_assert!(effort.spent() <= MAX_STATES, "{}", effort.spent());
            return Ok(false);
        }
    };
    graph.formulas_within(&mut effort);
    prop_assert!(effort.spent() <= SEARCHES * MAX_STATES, "{}", effort.spent());

    let worst = graph.worst_case(&Options::defaults(graph.options())).unwrap();
    let services = capricious(rolls);
    let result = block_on(walk(
        walk_request_of(Arc::new(graph), &[]),
        &services,
        Deadline::after(Duration::from_secs(60)),
        &Events::none(),
        &WalkMetrics::default(),
    ))
    .unwrap();
    let searches = services
        .calls()
        .iter()
        .filter(|call| matches!(call, Call::Search(_)))
        .count() as u64;
    prop_assert!(
        result.steps.len() as u64 <= worst.steps,
        "{} > {worst:?}",
        result.steps.len()
    );
    prop_assert!(
        services.model_calls() <= worst.model_calls,
        "{} > {worst:?}",
        services.model_calls()
    );
    prop_assert!(searches <= worst.web_searches, "{searches} > {worst:?}");
    Ok(true)
}

#[test]
fn fuzz_bytes_are_no_graph() {
    let bytes = (prop::collection::vec(any::<u8>(), 0..400), ".{0,200}");
    fuzz_cases("bytes as a graph", FILES, bytes, |(bytes, tail)| {
        let text = format!("{}{tail}", String::from_utf8_lossy(&bytes));
        prop_assert!(!tried(&text, &[0])?);
        Ok(())
    });
}

#[test]
fn fuzz_r1_a_graph_that_was_changed_is_refused_or_ends_within_its_worst_case() {
    let catalog = Catalog::load(None).unwrap();
    let graphs: Vec<String> = catalog.iter().map(|graph| graph.source().to_owned()).collect();
    assert_eq!(graphs.len(), 8);
    let parts = (
        0..graphs.len(),
        prop::collection::vec(any::<Change>(), 0..4),
        prop::collection::vec(any::<u8>(), 1..40),
    );
    fuzz_cases("changed graphs", FILES, parts, |(graph, changes, rolls)| {
        let accepted = tried(&changed(&graphs[graph], &changes), &rolls)?;
        prop_assert!(accepted || !changes.is_empty());
        Ok(())
    });
}

#[test]
fn fuzz_graphs_with_anchors_and_nesting() {
    let catalog = Catalog::load(None).unwrap();
    let graphs: Vec<String> = catalog.iter().map(|graph| graph.source().to_owned()).collect();
    let words = [
        "&a ",
        "*a",
        "<<: *a",
        "[",
        "]",
        "{",
        "}",
        "{a: ",
        "- ",
        "? ",
        ": ",
        "|",
        ">",
        "!!",
        "!<x>",
        "---\n",
        "...\n",
        "%YAML 9.9\n",
        "\n",
        "\n  ",
        "\t",
        "#",
        "'",
        "\"",
        "visits(retrieve)",
        "99999999999",
        "0x",
        ".inf",
        "~",
    ];
    let parts = (damaged(graphs, words), prop::collection::vec(any::<u8>(), 1..40));
    fuzz_cases("graphs with anchors and nesting", FILES, parts, |(bytes, rolls)| {
        tried(&String::from_utf8_lossy(&bytes), &rolls).map(drop)
    });
}
