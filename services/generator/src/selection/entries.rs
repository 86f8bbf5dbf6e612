//! The entries of a list and the lines of code that a sentence introduces, such as "Take these steps:".

use std::ops::Range;

use emend_proto::v1::Passage;

use super::{Candidate, content, key, unmarked};

/// What a block of code begins and ends with.
const FENCE: &str = "```";
/// Columns by which a block of code without fences is indented.
const INDENT: usize = 4;

/// Adds the entries that a sentence introduces, at most `most` for each.
pub(crate) fn with_entries(chosen: Vec<Candidate>, passages: &[Passage], most: usize) -> Vec<Candidate> {
    let mut all = Vec::with_capacity(chosen.len());
    for candidate in chosen {
        let entries = entries(&candidate, passages, most);
        all.push(candidate);
        for entry in entries {
            if all.iter().all(|known: &Candidate| known.key != entry.key) {
                all.push(entry);
            }
        }
    }
    all
}

fn entries(candidate: &Candidate, passages: &[Passage], most: usize) -> Vec<Candidate> {
    let place = candidate.places.first();
    let Some((index, passage)) = place.and_then(|(index, _)| Some((*index, passages.get(*index)?))) else {
        return Vec::new();
    };
    let range = place.map(|(_, range)| range.clone()).unwrap_or_default();
    let (introduced, is_code) = introduced(&passage.text, range);
    let entries = introduced.into_iter().take(most).filter_map(|sentence| {
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
            places: vec![(index, place)],
            key: key(&own),
            words: content(&own),
            text: own,
            is_code,
            ..candidate.clone()
        })
    });
    entries.collect()
}

/// The entries or lines that a sentence introduces, and whether they are code.
pub(super) fn introduced(text: &str, sentence: Range<usize>) -> (Vec<Range<usize>>, bool) {
    let said = text
        .get(sentence.clone())
        .unwrap_or_default()
        .trim_end_matches(['*', '_']);
    if !said.ends_with([':', '：']) {
        return (Vec::new(), false);
    }
    let code = lines_of_code(text, sentence.clone());
    if !code.is_empty() {
        return (code, true);
    }
    let after = emend_text::sentences(text).into_iter();
    let after = after.filter(|entry| entry.start >= sentence.end);
    let listed = after.take_while(|entry| text.get(entry.clone()).is_some_and(emend_text::is_list_entry));
    (listed.collect(), false)
}

/// The lines of the block of code that follows a sentence, without those that are empty.
fn lines_of_code(text: &str, sentence: Range<usize>) -> Vec<Range<usize>> {
    let line_start = text
        .get(..sentence.start)
        .map_or(0, |before| before.rfind('\n').map_or(0, |at| at + 1));
    let own_indent = text.get(line_start..).map_or(0, indent);
    let mut at = sentence.end;
    let (mut fenced, mut lines) = (false, Vec::new());
    for line in text.get(sentence.end..).unwrap_or_default().split_inclusive('\n') {
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
        } else if fenced || indent(line) >= own_indent + INDENT && !emend_text::is_list_entry(said) {
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
