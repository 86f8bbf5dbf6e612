//! Several verdicts in one reply.

use serde_json::Deserializer;

use super::value::{Value, normalise, spoken};
use super::{Reader, Verdict, parse};

/// What the prompts call the things that are numbered.
const NUMBERED: &[&str] = &["strip", "passage", "조각", "문단", "断片", "文章", "片段"];

/// The verdicts on `count` numbered things: of a JSON array, of an object that holds one, one a line, or one after
/// another on a line. A single one that does not say is `None`; all of it is, where their number is not `count` or the
/// numbers they carry are not 1 to `count` in this order: nobody could tell which verdict is whose.
pub fn list(text: &str, count: usize) -> Option<Vec<Option<Verdict>>> {
    let said = spoken(text);
    let verdicts = match items(&said) {
        Some(items) => numbered(
            items
                .iter()
                .map(|item| (number_of(item), Reader::BINARY.value_of(item))),
        ),
        None => lines(&said),
    }?;
    (verdicts.len() == count).then_some(verdicts)
}

/// The verdicts alone, unless a number is not its place.
fn numbered(items: impl Iterator<Item = (Option<u64>, Option<Verdict>)>) -> Option<Vec<Option<Verdict>>> {
    (1..)
        .zip(items)
        .map(|(place, (number, verdict))| number.is_none_or(|number| number == place).then_some(verdict))
        .collect()
}

/// The first JSON array of objects, strings or truth values in `said`, or in an object in it; or objects one after
/// another. Numbers in brackets are no such array but labels.
fn items(said: &str) -> Option<Vec<Value>> {
    said.match_indices(['[', '{']).find_map(|(at, _)| {
        let mut values = Deserializer::from_str(&said[at..]).into_iter::<Value>();
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

/// The number that an item carries beside its verdict.
fn number_of(item: &Value) -> Option<u64> {
    ["strip", "passage", "number", "index", "id"]
        .iter()
        .find_map(|key| item.get(key)?.as_u64())
}

/// The lines that begin with a number, or all lines where none does, or the words of a single line.
fn lines(said: &str) -> Option<Vec<Option<Verdict>>> {
    let plain = normalise(said);
    let lines: Vec<(Option<u64>, &str)> = plain
        .lines()
        .filter(|line| line.contains(char::is_alphanumeric))
        .map(labelled)
        .collect();
    let with_number = lines.iter().any(|(number, _)| number.is_some());
    if let ([(None, line)], false) = (lines.as_slice(), with_number) {
        let words = line.split([',', ';', '、', '，']).flat_map(|part| {
            let part = part.trim();
            // "not relevant" is one verdict of two words, "yes no" are two.
            match Reader::BINARY.alone(part) {
                Some(_) => vec![part],
                None => part.split_whitespace().collect(),
            }
        });
        let verdicts: Option<Vec<Verdict>> = words.map(|word| Reader::BINARY.alone(word)).collect();
        return Some(match verdicts.filter(|verdicts| verdicts.len() > 1) {
            Some(verdicts) => verdicts.into_iter().map(Some).collect(),
            None => vec![parse(line)],
        });
    }
    numbered(
        lines
            .into_iter()
            .filter(|(number, _)| number.is_some() || !with_number)
            .map(|(number, rest)| (number, parse(rest))),
    )
}

/// A line's number and what follows it: `2. yes`, `[2] yes`, `strip 2: yes`.
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
