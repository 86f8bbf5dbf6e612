//! Parses lists of verdicts.

use serde_json::{Deserializer, Map};

use super::value::{MAX_STARTS, Value, normalise, strip_reasoning};
use super::{Parser, Verdict, parse};

/// Nouns before an item's number, as in "strip 2".
const NUMBERED: &[&str] = &["strip", "passage", "조각", "문단", "断片", "文章", "片段"];

/// Parses the verdicts on `count` numbered items: from a JSON object with the items' numbers as keys, a JSON array, an
/// object that contains one, one verdict per line, or several verdicts on one line.
///
/// An unclear verdict is `None` in the list. The whole result is `None` if the number of verdicts is not `count` or the
/// items are not numbered 1 to `count` in order, because the verdicts cannot be assigned to items then.
pub fn list(text: &str, count: usize) -> Option<Vec<Option<Verdict>>> {
    let reply = strip_reasoning(text);
    let verdicts = match items(&reply) {
        Some(items) => match items.as_slice() {
            [Value::Object(map)] if let Some(numbered) = by_number(map) => in_order(numbered.into_iter()),
            items => in_order(
                items
                    .iter()
                    .map(|item| (number_of(item), Parser::BINARY.json_value(item))),
            ),
        },
        None => lines(&reply),
    }?;
    (verdicts.len() == count).then_some(verdicts)
}

/// Removes the numbers of the verdicts. `None` if a number differs from the position in the list, counted from 1.
fn in_order(items: impl Iterator<Item = (Option<u64>, Option<Verdict>)>) -> Option<Vec<Option<Verdict>>> {
    (1..)
        .zip(items)
        .map(|(position, (number, verdict))| number.is_none_or(|number| number == position).then_some(verdict))
        .collect()
}

/// Finds the first JSON array of objects, strings or booleans in `reply`, directly or in an object, or a sequence of
/// objects, that begins at one of the first [`MAX_STARTS`] places. Numbers in brackets are labels, not such an array.
fn items(reply: &str) -> Option<Vec<Value>> {
    let mut starts = reply.match_indices(['[', '{']).take(MAX_STARTS);
    starts.find_map(|(at, _)| {
        let mut values = Deserializer::from_str(&reply[at..]).into_iter::<Value>();
        let first = values.next()?.ok()?;
        let items = match &first {
            Value::Array(items) => items.clone(),
            Value::Object(map) => match map.values().find_map(Value::as_array) {
                Some(items) => items.clone(),
                None => std::iter::once(first).chain(values.map_while(Result::ok)).collect(),
            },
            _ => return None,
        };
        let verdict = |item: &Value| match item {
            Value::Object(map) => !map.is_empty(),
            item => item.is_string() || item.is_boolean(),
        };
        (!items.is_empty() && items.iter().all(verdict)).then_some(items)
    })
}

/// The verdicts of an object whose keys are the items' numbers, in the order of the numbers. `None` if a key has none.
fn by_number(map: &Map<String, Value>) -> Option<Vec<(Option<u64>, Option<Verdict>)>> {
    let mut verdicts = map
        .iter()
        .map(|(key, verdict)| {
            let digits = key.trim_start_matches(|c: char| !c.is_ascii_digit());
            Some((Some(digits.parse().ok()?), Parser::BINARY.json_value(verdict)))
        })
        .collect::<Option<Vec<_>>>()?;
    verdicts.sort_by_key(|(number, _)| *number);
    Some(verdicts)
}

/// The number of an item, next to its verdict.
fn number_of(item: &Value) -> Option<u64> {
    ["strip", "passage", "number", "index", "id"]
        .iter()
        .find_map(|key| item.get(key)?.as_u64())
}

/// Parses a verdict per line: of the numbered lines, or of all lines if none is numbered. A single line may contain
/// several verdicts.
fn lines(reply: &str) -> Option<Vec<Option<Verdict>>> {
    let plain = normalise(reply);
    let lines: Vec<(Option<u64>, &str)> = plain
        .lines()
        .filter(|line| line.contains(char::is_alphanumeric))
        .map(labelled)
        .collect();
    let with_number = lines.iter().any(|(number, _)| number.is_some());
    if let ([(None, line)], false) = (lines.as_slice(), with_number) {
        let words = line.split([',', ';', '、', '，']).flat_map(|part| {
            let part = part.trim();
            // "not relevant" is one verdict of two words, "yes no" is two verdicts.
            match Parser::BINARY.exact(part) {
                Some(_) => vec![part],
                None => part.split_whitespace().collect(),
            }
        });
        let verdicts: Option<Vec<Verdict>> = words.map(|word| Parser::BINARY.exact(word)).collect();
        return Some(match verdicts.filter(|verdicts| verdicts.len() > 1) {
            Some(verdicts) => verdicts.into_iter().map(Some).collect(),
            None => vec![parse(line)],
        });
    }
    in_order(
        lines
            .into_iter()
            .filter(|(number, _)| number.is_some() || !with_number)
            .map(|(number, rest)| (number, parse(rest))),
    )
}

/// Splits a line into its number and the rest: `2. yes`, `[2] yes`, `strip 2: yes`.
fn labelled(line: &str) -> (Option<u64>, &str) {
    let bare = |text: &'static str| line.trim_start().strip_prefix(text).map(str::trim_start);
    let start = NUMBERED.iter().find_map(|word| bare(word)).unwrap_or(line);
    let start = start.trim_start_matches(|c: char| !c.is_alphanumeric());
    let digits = start.find(|c: char| !c.is_ascii_digit()).unwrap_or(start.len());
    match start[..digits].parse() {
        Ok(number) => (
            Some(number),
            start[digits..].trim_start_matches(|c: char| !c.is_alphanumeric()),
        ),
        Err(_) => (None, line),
    }
}
