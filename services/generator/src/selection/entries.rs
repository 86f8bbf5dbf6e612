//! What a sentence introduces: the entries of a list or the lines of code after "Take these steps:", and the sentences after
//! a label in bold, such as "**Error 7.** Restart it."

use std::ops::Range;

use emend_proto::v1::Passage;

use super::code::FENCE;
use super::{Candidate, content, key, unmarked};

/// Columns by which a block of code without fences is indented.
const INDENT: usize = 4;
/// What is looked at of the text after a sentence, in bytes.
const MAX_BYTES: usize = 8 << 10;
/// Most sentences that are quoted with a label.
const MAX_LABELLED: usize = 2;

/// Adds what the sentences introduce, at most `most` for each. `chosen` are in document order.
pub(crate) fn with_entries(chosen: Vec<Candidate>, passages: &[Passage], most: usize) -> Vec<Candidate> {
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

fn entries(candidate: &Candidate, passages: &[Passage], most: usize) -> Vec<Candidate> {
    let Some((index, range)) = candidate.places.first() else {
        return Vec::new();
    };
    let Some(passage) = passages.get(*index) else {
        return Vec::new();
    };
    let introduced = introduced(&passage.text, range);
    let is_code = matches!(introduced, Introduced::Code(_));
    let entries = introduced.ranges().into_iter().take(most).filter_map(|sentence| {
        let place = if is_code {
            sentence
        } else {
            unmarked(&passage.text, sentence)
        };
        let own = passage.text.get(place.clone())?;
        let own = if is_code {
            own.to_owned()
        } else {
            emend_text::without_marks(own)
        };
        Some(Candidate {
            places: vec![(*index, place)],
            key: key(&own),
            words: content(&own),
            text: own,
            is_code,
            ..candidate.clone()
        })
    });
    entries.collect()
}

/// What a sentence introduces.
pub(super) enum Introduced {
    /// The entries of a list, or the sentences after a label.
    Text(Vec<Range<usize>>),
    /// Lines of code.
    Code(Vec<Range<usize>>),
}

impl Introduced {
    pub(super) fn ranges(self) -> Vec<Range<usize>> {
        match self {
            Self::Text(ranges) | Self::Code(ranges) => ranges,
        }
    }
}

/// What a sentence of `text` introduces.
pub(super) fn introduced(text: &str, sentence: &Range<usize>) -> Introduced {
    let said = text.get(sentence.clone()).unwrap_or_default();
    let is_label = is_bold(said);
    if !is_label && !said.trim_end_matches(['*', '_']).ends_with([':', '：']) {
        return Introduced::Text(Vec::new());
    }
    let line = text.get(..sentence.start).and_then(|before| before.rfind('\n'));
    let own_indent = text.get(line.map_or(0, |end| end + 1)..).map_or(0, indent);
    let after = text.get(sentence.end..).unwrap_or_default();
    let after = &after[..after.floor_char_boundary(MAX_BYTES)];
    let code = lines_of_code(after, own_indent);
    let placed = |ranges: Vec<Range<usize>>| {
        let placed = ranges
            .into_iter()
            .map(|range| sentence.end + range.start..sentence.end + range.end);
        placed.collect()
    };
    if !code.is_empty() {
        return Introduced::Code(placed(code));
    }
    let said = |entry: &Range<usize>| after.get(entry.clone()).unwrap_or_default();
    let mut sentences = emend_text::sentences(after).into_iter().peekable();
    let is_entry = |entry: &Range<usize>| emend_text::is_list_entry(said(entry));
    if !is_label || sentences.peek().is_some_and(is_entry) {
        return Introduced::Text(placed(sentences.take_while(is_entry).collect()));
    }
    let mut last = 0;
    let labelled = sentences.take_while(|entry| {
        let between = after.get(last..entry.start).unwrap_or_default();
        last = entry.end;
        between.matches('\n').count() < 2 && !emend_text::starts_block(said(entry)) && !is_bold(said(entry))
    });
    Introduced::Text(placed(labelled.take(MAX_LABELLED).collect()))
}

/// Whether all of a sentence is in bold.
fn is_bold(sentence: &str) -> bool {
    let inside = ["**", "__"]
        .iter()
        .find_map(|mark| sentence.strip_prefix(mark)?.strip_suffix(mark));
    inside.is_some_and(|inside| !inside.is_empty() && !inside.contains("**"))
}

/// The lines of the block of code that a text begins with, after a line that is indented so far; without empty ones.
fn lines_of_code(text: &str, indented: usize) -> Vec<Range<usize>> {
    let (mut at, mut fenced, mut lines) = (0, false, Vec::new());
    for line in text.split_inclusive('\n') {
        let start = at + indent(line);
        at += line.len();
        let said = line.trim();
        if said.is_empty() {
            continue;
        }
        if said.starts_with(FENCE) {
            if fenced || !lines.is_empty() {
                break;
            }
            fenced = true;
        } else if fenced || indent(line) >= indented + INDENT && !emend_text::is_list_entry(said) {
            lines.push(start..start + said.len());
        } else {
            break;
        }
    }
    lines
}

/// White space that a line begins with, in bytes.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
