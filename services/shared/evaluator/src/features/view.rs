//! Text analysis, done once per text.

use std::collections::HashSet;
use std::ops::Range;

use emend_text as text;

/// An analyzed text: sentences, words, numbers and names.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) text: String,
    /// Byte ranges of the sentences; one range over the whole text if there is no sentence.
    pub(crate) sentences: Vec<Range<usize>>,
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
}

impl View {
    pub(crate) fn new(text: &str) -> Self {
        let mut sentences = text::sentences(text);
        if sentences.is_empty() {
            sentences.push(0..text.len());
        }
        let words: Vec<Vec<String>> = sentences
            .iter()
            .map(|range| text::words(&text[range.clone()]))
            .collect();
        let sets: Vec<HashSet<String>> = words.iter().map(|words| words.iter().cloned().collect()).collect();
        Self {
            all: sets.iter().flatten().cloned().collect(),
            content: text::content_words(text),
            numbers: text::numbers(text).into_iter().collect(),
            names: text::names(text).into_iter().collect(),
            lower: text.to_lowercase(),
            text: text.to_owned(),
            sentences,
            words,
            sets,
        }
    }

    pub(crate) fn sentence(&self, index: usize) -> &str {
        self.sentences.get(index).map_or("", |range| &self.text[range.clone()])
    }

    /// The text of each sentence, in order. Only white space is left out between them.
    pub(crate) fn sentence_texts(&self) -> Vec<String> {
        (0..self.sentences.len())
            .map(|index| self.sentence(index).to_owned())
            .collect()
    }

    /// All words in order.
    pub(super) fn sequence(&self) -> Vec<&str> {
        self.words.iter().flatten().map(String::as_str).collect()
    }
}
