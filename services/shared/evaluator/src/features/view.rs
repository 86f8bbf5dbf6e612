//! Text analysis, done once per text.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::PassageText;
use emend_text as text;

/// An analyzed text: sentences, words, numbers and names.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) text: String,
    /// Byte ranges of the sentences; one range over the whole text if there is no sentence.
    pub(crate) sentences: Vec<Range<usize>>,
    /// What each sentence says: its text, or for a row of a table its values behind the names of their columns.
    said: Vec<String>,
    /// The words of each sentence in order.
    pub(super) words: Vec<Vec<String>>,
    /// The words of each sentence as a set.
    pub(super) sets: Vec<HashSet<String>>,
    /// All words.
    pub(super) all: HashSet<String>,
    /// The content words in order.
    pub(super) content: Vec<String>,
    /// Numbers as digits.
    pub(super) numbers: HashSet<String>,
    /// Names, lower case.
    pub(super) names: HashSet<String>,
    /// The text in lower case.
    pub(super) lower: String,
    /// The words of the title and of the headings; none without them.
    pub(super) title: HashSet<String>,
    /// The title and the headings in lower case.
    pub(super) lower_title: String,
    /// See [`PassageText::rank`].
    pub(super) rank: usize,
}

impl View {
    pub(crate) fn new(text: &str) -> Self {
        Self::of_passage(PassageText::from(text))
    }

    /// A text that is part of a document with a title.
    pub(crate) fn of_passage(PassageText { title, text, rank }: PassageText<'_>) -> Self {
        let mut sentences = text::sentences(text);
        if sentences.is_empty() {
            sentences.push(0..text.len());
        }
        let rows = text::table_rows(text).into_iter();
        let rows: HashMap<usize, String> = rows.map(|row| (row.range.start, row.text)).collect();
        let said: Vec<String> = sentences
            .iter()
            .map(|range| match rows.get(&range.start) {
                Some(row) if !row.is_empty() => row.clone(),
                _ => text[range.clone()].to_owned(),
            })
            .collect();
        let headings = said.iter().map(String::as_str).filter(|said| said.starts_with('#'));
        let title: String = [title].into_iter().chain(headings).collect::<Vec<_>>().join("\n");
        let words: Vec<Vec<String>> = said.iter().map(|said| text::words(said)).collect();
        let sets: Vec<HashSet<String>> = words.iter().map(|words| words.iter().cloned().collect()).collect();
        Self {
            all: sets.iter().flatten().cloned().collect(),
            content: text::content_words(text),
            numbers: text::numbers(text).into_iter().collect(),
            names: text::names(text).into_iter().collect(),
            lower: text.to_lowercase(),
            title: text::words(&title).into_iter().collect(),
            lower_title: title.to_lowercase(),
            rank,
            text: text.to_owned(),
            sentences,
            said,
            words,
            sets,
        }
    }

    /// What a sentence says.
    pub(crate) fn sentence(&self, index: usize) -> &str {
        self.said.get(index).map_or("", String::as_str)
    }

    /// The text of each sentence as it stands, in order. Only white space is left out between them.
    pub(crate) fn sentence_texts(&self) -> Vec<String> {
        let ranges = self.sentences.iter().cloned();
        ranges.map(|range| self.text[range].to_owned()).collect()
    }

    /// All words in order.
    pub(super) fn sequence(&self) -> Vec<&str> {
        self.words.iter().flatten().map(String::as_str).collect()
    }
}
