//! Replies of every form, damaged.

use emend_fuzz::{damaged, fuzz};

use super::*;
use crate::verdict::value::MAX_STARTS;

/// Replies of each form that models use.
const REPLIES: [&str; 26] = [
    "yes",
    "No.",
    "**Yes**, it names the year.",
    "Answer: no",
    "The score is yes",
    "The document names the city.\n\nyes",
    "<think>no, or is it?</think>yes",
    "```json\n{\"binary_score\": \"yes\"}\n```",
    "{\"reason\": \"no date, but a name\", \"relevant\": \"yes\"}",
    "{\"grade\": {\"binary_score\": \"no\"}}",
    "{'score': 'yes'} yes",
    "[\"yes\", \"no\"]",
    "{\"verdicts\": [\"yes\", \"no\", \"yes\"]}",
    "[{\"relevant\": \"no\"}, {\"relevant\": \"yes\"}]",
    "1. yes\n2. no",
    "- [1] yes\n- [2] no",
    "yes, no",
    "Fully supported",
    "[Partially supported]",
    "{\"support\": \"no support / contradictory\"}",
    "[Utility:5]",
    "{\"utility\": 4}",
    "[Retrieval]",
    "[Continue to Use Evidence]",
    "はい、関連しています。",
    "예입니다",
];

/// What is put between.
const WORDS: [&str; 36] = [
    "\n",
    "\r\n",
    "\n\n",
    "\n- ",
    "\n1. ",
    "\n2) ",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "{\"a\":",
    "{\"binary_score\":",
    "\"",
    "'",
    "\\",
    ",",
    ":",
    "```",
    "```json\n",
    "**",
    "<think>",
    "</think>",
    "yes",
    "no",
    "yes/no",
    "not ",
    "5",
    "-1",
    "1e999",
    "null",
    "true",
    "예",
    "。",
    "\0",
    "\u{202e}",
];

#[test]
fn fuzz_verdicts() {
    fuzz("verdicts", damaged(REPLIES, WORDS), |bytes| {
        let text = String::from_utf8_lossy(&bytes);
        let read = |text: &str| {
            let lists: Vec<_> = (0..4).map(|length| list(text, length)).collect();
            (parse(text), support(text), retrieval(text), utility(text), lists)
        };
        let found = read(&text);
        for (length, verdicts) in found.4.iter().enumerate() {
            let lengths = verdicts.as_ref().map(Vec::len);
            prop_assert!(
                lengths.is_none_or(|found| found == length),
                "{:?} of {}",
                verdicts,
                length
            );
        }
        // White space around a reply says nothing.
        prop_assert_eq!(read(&format!(" \n{text}\n\n")), found);
        Ok(())
    });
}

#[test]
fn replies_that_are_not_damaged_are_read() {
    for reply in REPLIES {
        let any = parse(reply).is_some()
            || support(reply).is_some()
            || retrieval(reply).is_some()
            || utility(reply).is_some()
            || (2..4).any(|length| list(reply, length).is_some());
        assert!(any, "{reply}");
    }
}

#[test]
fn json_is_looked_for_at_the_first_places_where_it_may_begin() {
    let object = "{\"a\": true}";
    let two = "[{\"a\": true}, {\"a\": false}]";
    let after = |open: &str, times: usize, json: &str| format!("{} {json}", open.repeat(times));
    assert_eq!(parse(&after("{ ", MAX_STARTS - 1, object)), Some(Verdict::Yes));
    assert!(list(&after("[ ", MAX_STARTS - 1, two), 2).is_some());
    assert_eq!(parse(&after("{ ", MAX_STARTS, object)), None);
    assert_eq!(list(&after("[ ", MAX_STARTS, two), 2), None);
    // Numbers in brackets are labels and no JSON.
    let lines: String = (1..=2000).map(|number| format!("[{number}] yes\n")).collect();
    assert_eq!(list(&lines, 2000), Some(vec![Some(Verdict::Yes); 2000]));
    // Of many labels the last holds.
    let labels = format!("{}no", "score: ".repeat(50_000));
    assert_eq!(parse(&labels), Some(Verdict::No));
}
