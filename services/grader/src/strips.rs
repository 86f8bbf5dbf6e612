//! Cutting a passage into strips.

use emend_proto::v1::StripUnit;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Default number of sentences in a strip, that of Corrective RAG.
const SENTENCES: u32 = 3;
/// Default number of words in a strip.
const WORDS: u32 = 50;

/// How a passage is cut into strips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Groups of this many sentences, at least 1.
    Sentences(usize),
    /// Groups of this many words, at least 1.
    Words(usize),
    /// The passage as it is.
    Whole,
}

impl Cut {
    /// The cut that a valid request asks for.
    pub(crate) fn of(unit: StripUnit, size: Option<u32>) -> Self {
        let size = |default| usize::try_from(size.unwrap_or(default)).unwrap_or(usize::MAX).max(1);
        match unit {
            StripUnit::Unspecified | StripUnit::Sentences => Self::Sentences(size(SENTENCES)),
            StripUnit::Words => Self::Words(size(WORDS)),
            StripUnit::Passage => Self::Whole,
        }
    }

    /// The strips of `text` as byte ranges: in order, disjoint, and together all of the text except
    /// white space. A text of white space has none.
    pub(crate) fn ranges(self, text: &str) -> Vec<Range<usize>> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        match self {
            Self::Whole => std::iter::once(0..text.len()).collect(),
            Self::Sentences(size) => emend_text::sentences(text)
                .chunks(size)
                .filter_map(|group| Some(group.first()?.start..group.last()?.end))
                .collect(),
            Self::Words(size) => words(text, size),
        }
    }
}

/// Groups of `size` words, each with the punctuation around it. Words are those of Unicode's default segmentation, which
/// cuts Chinese and Hiragana into characters and leaves Katakana, Hangul and alphabets in runs.
fn words(text: &str, size: usize) -> Vec<Range<usize>> {
    let mut cuts = vec![0];
    let mut end = 0;
    for (index, (start, word)) in text.unicode_word_indices().enumerate() {
        if index > 0 && index % size == 0 {
            cuts.push(end + between(&text[end..start]));
        }
        end = start + word.len();
    }
    cuts.push(text.len());
    cuts.windows(2)
        .filter_map(|pair| {
            let (start, end) = (*pair.first()?, *pair.last()?);
            let piece = &text[start..end];
            let start = start + (piece.len() - piece.trim_start().len());
            Some(start..start + piece.trim().len())
        })
        .collect()
}

/// Where a new strip begins in the text between two words: at the last white space, or before
/// opening brackets and quotes.
fn between(gap: &str) -> usize {
    match gap.rfind(char::is_whitespace) {
        Some(space) => space,
        None => gap
            .trim_end_matches([
                '(', '[', '{', '（', '［', '「', '『', '【', '《', '〈', '“', '‘', '«', '¿', '¡',
            ])
            .len(),
    }
}

#[cfg(test)]
mod tests;
