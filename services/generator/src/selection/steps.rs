//! The steps of a numbered list, which are quoted together where the question asks how.

use std::ops::Range;

use emend_proto::v1::Passage;
use emend_text::{CodeBlock, code_blocks};

use super::Candidate;
use super::code::{in_block, indent, whole_lines};
use super::entries::beside;
use super::paragraph::continues;

/// What is looked at of the text around a step, in bytes.
const MAX_BYTES: usize = 8 << 10;
/// Most code points between two passages that may have one list.
const MAX_GAP: u32 = 100;
/// Most passages that a list is put together from.
const MAX_PASSAGES: usize = 5;

/// A numbered list, or what a passage has of it.
#[derive(Clone, Debug, Default)]
struct List {
    first: u32,
    last: u32,
    /// The sentences and the code of its entries, in order.
    places: Vec<(Range<usize>, bool)>,
}

impl List {
    fn has(&self, sentence: &Range<usize>) -> bool {
        let mut places = self.places.iter();
        places.any(|(place, _)| place.start <= sentence.start && sentence.start < place.end)
    }
}

/// Adds to each step of a numbered list the others, in order, where there are at most `most` sentences and pieces of code.
pub(super) fn with_steps(chosen: Vec<Candidate>, passages: &[Passage], most: usize) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::with_capacity(chosen.len());
    for candidate in chosen {
        let steps = whole_list(&candidate, passages);
        let steps = match (2..=most).contains(&steps.len()) {
            true => steps,
            false => vec![candidate],
        };
        for step in steps {
            if all.iter().all(|known| known.places.first() != step.places.first()) {
                all.push(step);
            }
        }
    }
    all
}

/// All steps of the list that a candidate is in, also those in passages before and after its own.
fn whole_list(candidate: &Candidate, passages: &[Passage]) -> Vec<Candidate> {
    let found = candidate.places.first().and_then(|(index, range)| {
        let lists = lists(&passages.get(*index)?.text, range);
        Some((*index, lists.into_iter().find(|list| list.has(range))?))
    });
    let Some(own) = found else { return Vec::new() };
    let mut all = vec![own];
    while all.len() < MAX_PASSAGES {
        let (Some((first, before)), Some((last, after))) = (all.first(), all.last()) else {
            break;
        };
        if let Some(earlier) = beyond(passages, *first, |list| list.last + 1 == before.first, true) {
            all.insert(0, earlier);
        } else if let Some(later) = beyond(passages, *last, |list| list.first == after.last + 1, false) {
            all.push(later);
        } else {
            break;
        }
    }
    let steps = all.into_iter().flat_map(|(index, list)| {
        let places = list.places.into_iter();
        places.filter_map(move |(place, is_code)| beside(candidate, passages, (index, place), is_code))
    });
    steps.collect()
}

/// The passage that stands before or after another one in its document, with the list in it that goes on there.
fn beyond(passages: &[Passage], of: usize, goes_on: impl Fn(&List) -> bool, before: bool) -> Option<(usize, List)> {
    let own = passages.get(of)?;
    let span = own.span?;
    let is_beside = |passage: &Passage| {
        let other = passage.span.unwrap_or_default();
        let gap = match before {
            true => span.start.checked_sub(other.end),
            false => other.start.checked_sub(span.end),
        };
        passage.document_id == own.document_id && !own.document_id.is_empty() && gap.is_some_and(|gap| gap <= MAX_GAP)
    };
    let others = passages.iter().enumerate().filter(|(_, passage)| is_beside(passage));
    let mut lists = others.flat_map(|(index, passage)| {
        let text = &passage.text;
        let edge = if before { text.len()..text.len() } else { 0..0 };
        lists(text, &edge).into_iter().map(move |list| (index, list))
    });
    lists.find(|(_, list)| goes_on(list))
}

/// The numbered lists of `text` near a place.
fn lists(text: &str, near: &Range<usize>) -> Vec<List> {
    let first = text.ceil_char_boundary(near.start.saturating_sub(MAX_BYTES));
    let last = text.floor_char_boundary(near.end.saturating_add(MAX_BYTES).min(text.len()));
    let around = text.get(first..last).unwrap_or_default();
    let code = code_blocks(text);
    let mut found: Vec<List> = Vec::new();
    let mut open = false;
    for sentence in emend_text::sentences(around) {
        let sentence = first + sentence.start..first + sentence.end;
        let (place, is_code) = place(text, &code, sentence.clone());
        let number = number(text, &sentence).filter(|_| !is_code);
        match (found.last_mut().filter(|_| open), number) {
            (Some(list), Some(number)) if number == list.last + 1 => {
                list.last = number;
                list.places.push((place, false));
            }
            (_, Some(number)) => {
                open = true;
                found.push(List {
                    first: number,
                    last: number,
                    places: vec![(place, false)],
                });
            }
            (Some(list), None) => {
                let before = list.places.last().map(|(place, _)| place.clone());
                let is_of_step = before.is_some_and(|before| {
                    is_code || is_indented(text, &sentence) || continues(text, &before, &sentence)
                });
                open = is_of_step;
                if is_of_step && list.places.iter().all(|(known, _)| known.start != place.start) {
                    list.places.push((place, is_code));
                }
            }
            (None, None) => {}
        }
    }
    found
}

/// What is quoted of a sentence, and whether it is code.
fn place(text: &str, code: &[CodeBlock], sentence: Range<usize>) -> (Range<usize>, bool) {
    match in_block(code, &sentence) {
        Some((block, inside)) => (whole_lines(text, inside, block), true),
        None => (sentence, false),
    }
}

/// The number of an entry of a list.
fn number(text: &str, sentence: &Range<usize>) -> Option<u32> {
    let own = text
        .get(sentence.clone())
        .filter(|own| emend_text::is_list_entry(own))?;
    let digits = own.len() - own.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    own.get(..digits)?.parse().ok()
}

/// Whether the line of a sentence is indented.
fn is_indented(text: &str, sentence: &Range<usize>) -> bool {
    let line = text.get(..sentence.start).and_then(|before| before.rfind('\n'));
    text.get(line.map_or(0, |end| end + 1)..)
        .is_some_and(|line| indent(line) >= 2)
}

#[cfg(test)]
mod tests;
