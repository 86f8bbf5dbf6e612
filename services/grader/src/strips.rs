//! Cutting a passage into strips.

use std::ops::Range;

use emend_models::text;
use emend_proto::v1::StripUnit;
use unicode_segmentation::UnicodeSegmentation;

/// Sentences of a strip where a request names no number: Corrective RAG's.
const SENTENCES: u32 = 3;
/// Words of a strip where a request names no number.
const WORDS: u32 = 50;

/// What a strip is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// So many sentences, at least 1.
    Sentences(usize),
    /// So many words, at least 1.
    Words(usize),
    /// The passage as it is.
    Whole,
}

impl Cut {
    /// What a valid request asks for.
    pub(crate) fn of(unit: StripUnit, size: Option<u32>) -> Self {
        let size = |default| usize::try_from(size.unwrap_or(default)).unwrap_or(usize::MAX).max(1);
        match unit {
            StripUnit::Unspecified | StripUnit::Sentences => Self::Sentences(size(SENTENCES)),
            StripUnit::Words => Self::Words(size(WORDS)),
            StripUnit::Passage => Self::Whole,
        }
    }

    /// The strips of `text` as byte ranges: in order, disjoint and, but for white space, all of it. A text of white
    /// space has none.
    pub(crate) fn ranges(self, text: &str) -> Vec<Range<usize>> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        match self {
            Self::Whole => std::iter::once(0..text.len()).collect(),
            Self::Sentences(size) => text::sentences(text)
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

/// Where the next word's strip begins in what stands between two words: after the last white space, or before a bracket
/// or quote that opens.
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
mod tests {
    use super::*;

    fn of(cut: Cut, text: &str) -> Vec<&str> {
        cut.ranges(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn strips_are_cut_by_unit_and_size() {
        let text = " One is here. Two (so) is! Three, \"four\" five.\n";
        for (cut, expected) in [
            (
                Cut::Sentences(2),
                vec!["One is here. Two (so) is!", "Three, \"four\" five."],
            ),
            (Cut::Sentences(100), vec![text.trim()]),
            (
                Cut::Words(3),
                vec!["One is here.", "Two (so) is!", "Three, \"four\" five."],
            ),
            (
                Cut::Words(4),
                vec!["One is here. Two", "(so) is! Three, \"four\"", "five."],
            ),
            (Cut::Whole, vec![text]),
        ] {
            assert_eq!(of(cut, text), expected, "{cut:?}");
        }
        for cut in [Cut::Sentences(1), Cut::Words(1), Cut::Whole] {
            assert_eq!(of(cut, " \n"), Vec::<&str>::new());
            assert_eq!(of(cut, "…"), ["…"], "{cut:?}");
        }
    }

    #[test]
    fn words_are_found_where_there_are_no_spaces() {
        assert_eq!(
            of(Cut::Words(2), "東京「タワー」は、高い。"),
            ["東京", "「タワー」は、", "高い。"]
        );
        assert_eq!(
            of(Cut::Words(2), "등대는 31미터이다. 빨갛다!"),
            ["등대는 31미터이다.", "빨갛다!"]
        );
        assert_eq!(of(Cut::Words(3), "塔高31米。"), ["塔高31", "米。"]);
    }

    #[test]
    fn nothing_but_white_space_is_lost() {
        let text = "¿Qué? (Uno) dos… “tres”, 四、五。\t여섯 일곱 — 8.5 and e.g. nine; ";
        for size in 1..12 {
            for cut in [Cut::Words(size), Cut::Sentences(size)] {
                let kept: String = of(cut, text).concat();
                let plain = |text: &str| text.split_whitespace().collect::<String>();
                assert_eq!(plain(&kept), plain(text), "{cut:?}");
            }
        }
    }

    #[test]
    fn defaults_are_those_of_the_contract() {
        assert_eq!(Cut::of(StripUnit::Unspecified, None), Cut::Sentences(3));
        assert_eq!(Cut::of(StripUnit::Sentences, Some(7)), Cut::Sentences(7));
        assert_eq!(Cut::of(StripUnit::Words, None), Cut::Words(50));
        assert_eq!(Cut::of(StripUnit::Passage, Some(7)), Cut::Whole);
    }
}
