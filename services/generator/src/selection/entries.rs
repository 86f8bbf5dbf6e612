//! What a sentence introduces: the entries of a list or the lines of code after "Take these steps:", and the sentences after
//! a label in bold, such as "**Error 7.** Restart it."

use std::ops::Range;

use emend_proto::v1::Passage;

use super::code::{indent, leading_lines};
use super::paragraph::continues;
use super::steps::with_steps;
use super::{Candidate, content, key, unmarked};

/// What is looked at of the text after a sentence, in bytes.
const MAX_BYTES: usize = 8 << 10;
/// Most sentences that are quoted with a label.
const MAX_LABELLED: usize = 2;

/// Adds what the sentences introduce, at most `most` for each, what introduces them where they are entries of a list, and
/// where the question asks how, the other steps of a numbered list. `chosen` are in document order.
pub(crate) fn with_entries(
    question: &str,
    chosen: Vec<Candidate>,
    passages: &[Passage],
    most: usize,
) -> Vec<Candidate> {
    let chosen = match emend_evaluator::asks_how(question) {
        true => with_steps(chosen, passages, most),
        false => chosen,
    };
    let mut all: Vec<Candidate> = Vec::with_capacity(chosen.len());
    // Where the last of what was introduced ends.
    let mut quoted = None;
    for candidate in chosen {
        let is_quoted = |(index, range): &(usize, Range<usize>)| {
            quoted.is_some_and(|(passage, end)| passage == *index && range.start < end)
        };
        if candidate.places.first().is_some_and(is_quoted) {
            continue;
        }
        let entries = entries(&candidate, passages, most);
        all.extend(introduction(&candidate, passages).filter(|own| all.iter().all(|known| known.key != own.key)));
        all.push(candidate);
        for entry in entries {
            quoted = entry.places.first().map(|(index, range)| (*index, range.end));
            if all.iter().all(|known| known.key != entry.key) {
                all.push(entry);
            }
        }
    }
    all
}

/// What stands at a place near a candidate, to be quoted with it.
pub(super) fn beside(
    candidate: &Candidate,
    passages: &[Passage],
    (index, range): (usize, Range<usize>),
    is_code: bool,
) -> Option<Candidate> {
    let passage = passages.get(index)?;
    let place = match is_code {
        true => range,
        false => unmarked(&passage.text, range),
    };
    let own = passage.text.get(place.clone())?;
    let text = match is_code {
        true => own.to_owned(),
        false => emend_text::without_marks(own),
    };
    Some(Candidate {
        places: vec![(index, place)],
        key: key(&text),
        words: content(&text),
        text,
        is_code,
        ..candidate.clone()
    })
}

fn entries(candidate: &Candidate, passages: &[Passage], most: usize) -> Vec<Candidate> {
    let Some((index, range)) = candidate.places.first() else {
        return Vec::new();
    };
    let Some(passage) = passages.get(*index) else {
        return Vec::new();
    };
    let introduced = introduced(&passage.text, range);
    let is_code = introduced.is_code;
    let entries = introduced.ranges.into_iter().take(most);
    entries
        .filter_map(|range| beside(candidate, passages, (*index, range), is_code))
        .collect()
}

/// The sentence that introduces the list that a candidate is an entry of, "What we do not pay:".
fn introduction(candidate: &Candidate, passages: &[Passage]) -> Option<Candidate> {
    let (index, range) = candidate.places.first()?;
    let text = &passages.get(*index)?.text;
    let first = text.ceil_char_boundary(range.start.saturating_sub(MAX_BYTES));
    let before = text.get(first..range.end)?;
    let mut sentences = emend_text::sentences(before).into_iter().rev();
    let said = |sentence: &Range<usize>| before.get(sentence.clone()).unwrap_or_default();
    let is_entry = |sentence: &Range<usize>| emend_text::is_list_entry(said(sentence));
    let own = sentences.next().filter(is_entry)?;
    let mut after = own;
    for sentence in sentences {
        let is_within = is_entry(&sentence) || continues(before, &sentence, &after);
        if said(&sentence).trim_end_matches(['*', '_']).ends_with([':', '：']) && !is_entry(&sentence) {
            return beside(
                candidate,
                passages,
                (*index, first + sentence.start..first + sentence.end),
                false,
            );
        }
        if !is_within {
            return None;
        }
        after = sentence;
    }
    None
}

/// What a sentence introduces: the entries of a list, lines of code, or the sentences after a label.
#[derive(Default)]
struct Introduced {
    ranges: Vec<Range<usize>>,
    is_code: bool,
}

/// Whether a sentence of `text` introduces anything.
pub(super) fn introduces(text: &str, sentence: &Range<usize>) -> bool {
    !introduced(text, sentence).ranges.is_empty()
}

fn introduced(text: &str, sentence: &Range<usize>) -> Introduced {
    let said = text.get(sentence.clone()).unwrap_or_default();
    let is_label = is_bold(said);
    if !is_label && !said.trim_end_matches(['*', '_']).ends_with([':', '：']) {
        return Introduced::default();
    }
    let line = text.get(..sentence.start).and_then(|before| before.rfind('\n'));
    let own_indent = text.get(line.map_or(0, |end| end + 1)..).map_or(0, indent);
    let end = text.floor_char_boundary(sentence.end.saturating_add(MAX_BYTES));
    let after = text.get(sentence.end..end).unwrap_or_default();
    let in_text = |range: Range<usize>| sentence.end + range.start..sentence.end + range.end;
    let code = leading_lines(after, own_indent);
    if !code.is_empty() {
        return Introduced {
            ranges: code.into_iter().map(in_text).collect(),
            is_code: true,
        };
    }
    let mut sentences = emend_text::sentences(after).into_iter().map(in_text).peekable();
    let is_entry = |entry: &Range<usize>| text.get(entry.clone()).is_some_and(emend_text::is_list_entry);
    let is_list = !is_label || sentences.peek().is_some_and(is_entry);
    let mut last = sentence.clone();
    let of_it = sentences.take_while(|next| {
        let is_beside = continues(text, &last, next);
        let is_part = match is_list {
            // An entry may have several sentences.
            true => is_entry(next) || (last != *sentence && is_beside),
            false => is_beside && !text.get(next.clone()).is_some_and(is_bold),
        };
        last = next.clone();
        is_part
    });
    let ranges = of_it.take(if is_list { usize::MAX } else { MAX_LABELLED }).collect();
    Introduced { ranges, is_code: false }
}

/// Whether all of a sentence is in bold.
fn is_bold(sentence: &str) -> bool {
    let inside = ["**", "__"]
        .iter()
        .find_map(|mark| sentence.strip_prefix(mark)?.strip_suffix(mark));
    inside.is_some_and(|inside| !inside.is_empty() && !inside.contains("**"))
}

#[cfg(test)]
mod tests;
