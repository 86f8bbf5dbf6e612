//! The names in a PromQL expression.
//!
//! A scanner of names, not a parser: Prometheus finds what is no PromQL. What it takes for a metric is one, or this test
//! says that there is no such metric.

use std::collections::BTreeMap;

/// Labels by metric; of `sum by (a) (…)` the labels are those of every metric in the expression.
pub(crate) type Names = BTreeMap<String, Vec<String>>;

/// Words that stand where a metric could.
const WORDS: [&str; 12] = [
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
    "and",
    "or",
    "unless",
    "offset",
    "bool",
    "inf",
];

/// The metrics of an expression, each with the labels that it is asked for.
pub(crate) fn names(expression: &str) -> Names {
    let tokens = tokens(expression);
    let mut names = Names::new();
    let mut grouped = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        if !is_name(token) {
            continue;
        }
        let next = tokens.get(at).map_or("", String::as_str);
        if ["by", "without", "on", "ignoring"].contains(&token.as_str()) && next == "(" {
            while let Some(label) = tokens.get(at).filter(|token| *token != ")") {
                grouped.extend(is_name(label).then(|| label.clone()));
                at += 1;
            }
        } else if !["(", "by", "without"].contains(&next) && !WORDS.contains(&token.as_str()) {
            let labels = names.entry(token.clone()).or_default();
            if next == "{" {
                while let Some(label) = tokens.get(at).filter(|token| *token != "}") {
                    labels.extend(is_name(label).then(|| label.clone()));
                    at += 1;
                }
            }
        }
    }
    for labels in names.values_mut() {
        labels.extend(grouped.iter().cloned());
        labels.sort();
        labels.dedup();
    }
    names
}

fn is_name(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
}

/// Names and single characters; strings, numbers, durations and variables of Grafana are left out.
fn tokens(expression: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = expression.chars().peekable();
    let is_part = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':');
    while let Some(letter) = rest.next() {
        let mut word = || {
            let mut word = String::from(letter);
            while let Some(letter) = rest.next_if(is_part) {
                word.push(letter);
            }
            word
        };
        match letter {
            '"' => while rest.next().is_some_and(|letter| letter != '"') {},
            '$' | '0'..='9' => drop(word()),
            letter if letter.is_ascii_alphabetic() || letter == '_' => tokens.push(word()),
            letter if letter.is_whitespace() => {}
            letter => tokens.push(letter.into()),
        }
    }
    tokens
}

#[test]
fn metrics_and_their_labels_are_found_and_nothing_else() {
    let found = names(
        "histogram_quantile(0.95, sum by (le, node) (rate(a_bucket{x=~\"sum(b)\",y!=\"\"}[5m]))) > on (z) c or vector(0)",
    );
    let wanted = [
        ("a_bucket", &["le", "node", "x", "y", "z"][..]),
        ("c", &["le", "node", "z"]),
    ];
    let wanted = wanted.map(|(name, labels)| (name.to_owned(), labels.iter().map(|&label| label.to_owned()).collect()));
    assert_eq!(found, Names::from(wanted));
    assert_eq!(
        names("rate(a[$__rate_interval])").into_keys().collect::<Vec<_>>(),
        ["a"]
    );
}
