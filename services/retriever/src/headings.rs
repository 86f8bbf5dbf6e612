//! The headings above a passage: how many are stored of a section, and which of them a passage is given.

use std::collections::HashSet;

use emend_core::limits::{MAX_HEADING_CHARS, MAX_HEADINGS};

/// Bytes of the longest character.
const CHAR_BYTES: usize = 4;

/// Headings as they are stored: each on one line, at most so many and so long as the contract says.
pub(crate) fn bounded(headings: &[String]) -> Vec<String> {
    let lines = headings.iter().map(|heading| line(heading));
    lines.filter(|line| !line.is_empty()).take(MAX_HEADINGS).collect()
}

fn line(heading: &str) -> String {
    let line = emend_text::one_line(heading, CHAR_BYTES * MAX_HEADING_CHARS);
    match line.char_indices().nth(MAX_HEADING_CHARS) {
        Some((end, _)) => line[..end].trim_end().to_owned(),
        None => line,
    }
}

/// Of the headings of a section those above a passage of it: without the title, and without those that the passage's text
/// has as headings of its own. That it names one in a sentence does not tell its reader what it stands under.
pub(crate) fn above(title: &str, mut headings: Vec<String>, text: &str) -> Vec<String> {
    let title = line(title);
    headings.retain(|heading| *heading != title);
    if headings.is_empty() {
        return headings;
    }
    let sections = emend_text::sections(text).into_iter();
    let own: HashSet<String> = sections
        .flat_map(|section| section.headings)
        .map(|heading| line(&heading))
        .collect();
    headings.retain(|heading| !own.contains(heading));
    headings
}

#[cfg(test)]
mod tests;
