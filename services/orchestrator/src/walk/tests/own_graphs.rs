//! Graph files that somebody made up, or that somebody spoilt: none panics, none costs more to check than is allowed, and
//! every walk of one that is accepted ends within its worst case.

use std::{sync::Arc, time::Duration};

use emend_core::Deadline;
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
        match kind % 5 {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, other),
            2 => lines[at] = other,
            // Another word in place of one.
            3 => {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: FILES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_are_no_graph_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), tail in ".{0,200}") {
        let text = format!("{}{tail}", String::from_utf8_lossy(&bytes));
        prop_assert!(!tried(&text, &[0])?);
    }

    #[test]
    fn r1_a_graph_that_was_changed_is_refused_or_ends_within_its_worst_case(
        graph in 0..8_usize,
        changes in prop::collection::vec(any::<Change>(), 0..4),
        rolls in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let catalog = Catalog::load(None).unwrap();
        let yaml = changed(catalog.iter().nth(graph).unwrap().source(), &changes);
        let accepted = tried(&yaml, &rolls)?;
        prop_assert!(accepted || !changes.is_empty());
    }
}
