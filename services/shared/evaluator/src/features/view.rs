//! Text analysis, done once per text.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::OnceLock;

use crate::PassageText;
use emend_core::limits::MAX_TITLE_BYTES;
use emend_text::{self as text, Language};

/// Most sentences of a text. The last one holds the rest of a longer text: no piece of evidence needs two thousand
/// sentences, and each of them costs features and memory.
pub(crate) const MAX_SENTENCES: usize = 2000;
/// Characters of a heading that a sentence is embedded behind.
const MAX_HEADING_CHARS: usize = 60;
/// Most names of a text that are looked for in other texts: those that come first.
const MAX_NAMES: usize = 100;
/// Beginning of a text that shows its language, in bytes.
const MAX_LANGUAGE_BYTES: usize = 8 << 10;

/// A normalized word, by its hash: words are only compared. Two of a million words are confused once in ten million texts.
pub(super) type Word = u64;

/// The [`Word`] of a word of [`text::words`].
pub(super) fn word(word: &str) -> Word {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

/// An analyzed text: sentences, words, numbers and names. It takes some ten bytes for each byte of the text at most.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) text: String,
    /// Byte ranges of the sentences; one range over the whole text if there is no sentence.
    pub(crate) sentences: Vec<Range<usize>>,
    /// What rows of tables say, by the index of their sentence: their values behind the names of their columns.
    rows: HashMap<usize, String>,
    /// The words of all sentences in order.
    words: Vec<Word>,
    /// Where the words of each sentence end in `words`.
    ends: Vec<usize>,
    /// Each word with each sentence that has it, sorted.
    places: Vec<(Word, u32)>,
    /// Numbers as digits.
    pub(super) numbers: HashSet<String>,
    /// The text in lower case.
    pub(super) lower: String,
    /// The title.
    own_title: String,
    /// The words of the title and of the headings; none without them.
    pub(super) title: HashSet<Word>,
    /// The title and the headings in lower case.
    pub(super) lower_title: String,
    /// See [`PassageText::rank`].
    pub(super) rank: usize,
    /// See [`PassageText::unnamed`].
    pub(crate) unnamed: f64,
    // What only some features need, made when it is asked for.
    content: OnceLock<Vec<String>>,
    names: OnceLock<Vec<String>>,
    language: OnceLock<Language>,
    letters: OnceLock<String>,
    unmarked: OnceLock<Vec<String>>,
}

impl View {
    pub(crate) fn new(text: &str) -> Self {
        Self::of_passage(PassageText::from(text))
    }

    /// A text that is part of a document with a title.
    pub(crate) fn of_passage(passage: PassageText<'_>) -> Self {
        let PassageText { title, text, .. } = passage;
        let mut sentences = text::sentences(text);
        if sentences.len() > MAX_SENTENCES {
            sentences.truncate(MAX_SENTENCES);
            if let Some(last) = sentences.last_mut() {
                last.end = text.trim_end().len();
            }
        }
        if sentences.is_empty() {
            sentences.push(0..text.len());
        }
        let of_table = text::table_rows(text).into_iter();
        let mut of_table: HashMap<usize, String> = of_table.map(|row| (row.range.start, row.text)).collect();
        let mut rows = HashMap::new();
        for (index, range) in sentences.iter().enumerate() {
            if let Some(row) = of_table.remove(&range.start).filter(|row| !row.is_empty()) {
                rows.insert(index, row);
            }
        }
        let said = |index: usize, range: &Range<usize>| {
            let own = text.get(range.clone()).unwrap_or_default();
            rows.get(&index).map_or(own, String::as_str)
        };
        let (mut words, mut ends, mut places) = (Vec::new(), Vec::with_capacity(sentences.len()), Vec::new());
        let mut titles = title
            .get(..title.floor_char_boundary(MAX_TITLE_BYTES))
            .unwrap_or_default()
            .to_owned();
        let own_title = titles.clone();
        for (index, range) in sentences.iter().enumerate() {
            let said = said(index, range);
            if said.starts_with('#') {
                titles.push('\n');
                titles.push_str(said);
            }
            let start = words.len();
            words.extend(text::words(said).iter().map(|own| word(own)));
            ends.push(words.len());
            let number = u32::try_from(index).unwrap_or(u32::MAX);
            places.extend(words.iter().skip(start).map(|own| (*own, number)));
        }
        places.sort_unstable();
        places.dedup();
        places.shrink_to_fit();
        words.shrink_to_fit();
        Self {
            numbers: text::numbers(text).into_iter().collect(),
            lower: text.to_lowercase(),
            own_title,
            title: text::words(&titles).iter().map(|own| word(own)).collect(),
            lower_title: titles.to_lowercase(),
            rank: passage.rank,
            unnamed: passage.unnamed,
            text: text.to_owned(),
            sentences,
            rows,
            words,
            ends,
            places,
            content: OnceLock::new(),
            names: OnceLock::new(),
            language: OnceLock::new(),
            letters: OnceLock::new(),
            unmarked: OnceLock::new(),
        }
    }

    /// What a sentence says: its text, or for a row of a table its values behind the names of their columns.
    pub(crate) fn sentence(&self, index: usize) -> &str {
        let range = self.sentences.get(index).cloned();
        let own = range.and_then(|range| self.text.get(range)).unwrap_or_default();
        self.rows.get(&index).map_or(own, String::as_str)
    }

    /// What stands before the sentences where they are read as answers: the heading at the start of the text, or else the title,
    /// with a colon; `None` if there is neither.
    pub(crate) fn lead(&self) -> Option<String> {
        let first = self.sentence(0);
        let heading = if first.starts_with('#') { first } else { &self.own_title };
        let heading = heading.trim_start_matches(['#', ' ']).trim_end();
        let end = heading.char_indices().nth(MAX_HEADING_CHARS);
        let heading = heading.get(..end.map_or(heading.len(), |(end, _)| end))?;
        (!heading.is_empty()).then(|| format!("{heading}:"))
    }

    /// Whether a sentence is a heading of the text.
    pub(crate) fn is_heading(&self, index: usize) -> bool {
        self.sentence(index).starts_with('#')
    }

    /// Whether a sentence is a row of a table.
    pub(super) fn is_row(&self, index: usize) -> bool {
        self.rows.contains_key(&index)
    }

    /// The text of each sentence as it stands, in order. Only white space is left out between them.
    pub(crate) fn sentence_texts(&self) -> Vec<String> {
        let ranges = self.sentences.iter().cloned();
        ranges.map(|range| self.text[range].to_owned()).collect()
    }

    /// All words in order.
    pub(super) fn sequence(&self) -> &[Word] {
        &self.words
    }

    /// The words of a sentence in order.
    pub(super) fn sentence_words(&self, index: usize) -> &[Word] {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before));
        let range = start.copied().unwrap_or(0)..self.ends.get(index).copied().unwrap_or(0);
        self.words.get(range).unwrap_or_default()
    }

    /// The words of a sentence, each once.
    pub(super) fn sentence_set(&self, index: usize) -> HashSet<Word> {
        self.sentence_words(index).iter().copied().collect()
    }

    /// Whether any sentence has the word.
    pub(super) fn has(&self, word: Word) -> bool {
        self.places_of(word).next().is_some()
    }

    /// The sentences that have the word, in order.
    pub(super) fn places_of(&self, word: Word) -> impl Iterator<Item = usize> + '_ {
        let start = self.places.partition_point(|(other, _)| *other < word);
        let from = self.places.get(start..).unwrap_or_default().iter();
        from.take_while(move |(other, _)| *other == word)
            .map(|(_, sentence)| *sentence as usize)
    }

    /// All words, each once.
    pub(super) fn distinct(&self) -> impl Iterator<Item = Word> + '_ {
        self.places
            .chunk_by(|(a, _), (b, _)| a == b)
            .filter_map(|run| Some(run.first()?.0))
    }

    /// The content words in order.
    pub(super) fn content(&self) -> &[String] {
        self.content.get_or_init(|| text::content_words(&self.text))
    }

    /// The names that come first, lower case, each once.
    pub(super) fn names(&self) -> &[String] {
        self.names.get_or_init(|| {
            let mut seen = HashSet::new();
            let names = text::names(&self.text).into_iter();
            names.filter(|name| seen.insert(name.clone())).take(MAX_NAMES).collect()
        })
    }

    pub(super) fn language(&self) -> Language {
        *self.language.get_or_init(|| {
            let end = self.text.floor_char_boundary(MAX_LANGUAGE_BYTES);
            text::language(self.text.get(..end).unwrap_or_default())
        })
    }

    /// The letters and digits in lower case.
    pub(super) fn letters(&self) -> &str {
        self.letters.get_or_init(|| text::letters(&self.text).collect())
    }

    /// The letters and digits of each sentence in lower case, without the marks of Markdown.
    pub(super) fn unmarked(&self) -> &[String] {
        self.unmarked.get_or_init(|| {
            let sentences = (0..self.sentences.len()).map(|index| text::without_marks(self.sentence(index)));
            sentences.map(|sentence| text::letters(&sentence).collect()).collect()
        })
    }
}

#[cfg(test)]
mod tests;
