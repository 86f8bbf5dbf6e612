//! An analyzed question, and whether a text contains an answer of the expected kind that the question itself does not
//! contain.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::kind::Kind;
use super::overlap::Weighted;
use super::place::names_place;
use super::view::{View, Word, word};
use emend_text::Script;

/// English time expressions without a number.
static TIMES: Lexicon = LazyLock::new(|| lexicon(include_str!("lexicon/times.txt")));
/// English number words.
static COUNTS: Lexicon = LazyLock::new(|| lexicon(include_str!("lexicon/counts.txt")));
/// English words for persons by their role.
static ROLES: Lexicon = LazyLock::new(|| lexicon(include_str!("lexicon/roles.txt")));
/// English words for places other than names.
static PLACES: Lexicon = LazyLock::new(|| lexicon(include_str!("lexicon/places.txt")));

/// Beginning of a text in which an answer of the expected kind is sought, in bytes. What is found is looked up in the
/// question, so the time is the product of two lengths.
const MAX_EXPECTED_BYTES: usize = 8 << 10;

type Lexicon = LazyLock<HashSet<&'static str>>;

fn lexicon(words: &'static str) -> HashSet<&'static str> {
    words.split_ascii_whitespace().collect()
}

/// An analyzed question.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(super) view: View,
    pub(super) kind: Kind,
    /// The content words in order.
    pub(super) content: Vec<Word>,
    /// The content words with their weights.
    pub(super) weighted: Weighted,
}

impl Question {
    pub(crate) fn new(text: &str) -> Self {
        let view = View::new(text);
        let kind = Kind::of(text);
        let weighted = Weighted::new(view.content());
        let content = view.content().iter().map(|own| word(own)).collect();
        Self {
            view,
            kind,
            content,
            weighted,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.view.text
    }

    /// Whether it asks how something is done.
    pub(crate) fn asks_how(&self) -> bool {
        self.kind == Kind::How
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// The indices of the `limit` sentences of `passage` that share most of the question's words, in order.
    pub(crate) fn closest(&self, passage: &View, limit: usize) -> Vec<usize> {
        let shares = self.weighted.shares(passage, (0, 0), |_| false);
        let mut places: Vec<(usize, f64)> = shares.into_iter().enumerate().collect();
        places.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        places.truncate(limit);
        let mut places: Vec<usize> = places.into_iter().map(|(place, _)| place).collect();
        places.sort_unstable();
        places
    }

    /// Whether `text`, or its beginning if it is long, contains something of the expected kind that the question does not:
    /// 1 if so, 0 if not, ½ if the kind has no recognizable form.
    pub(super) fn expects(&self, text: &str) -> f64 {
        let text = text.get(..text.floor_char_boundary(MAX_EXPECTED_BYTES)).unwrap_or(text);
        let new = match self.kind {
            Kind::When => self.new_number(text, is_date) || self.new_word(text, &TIMES),
            Kind::HowMany => {
                self.new_number(text, |_, _| true)
                    || self.new_word(text, &COUNTS)
                    || text.chars().any(|c| "一二三四五六七八九十百千万萬億亿两兩".contains(c))
            }
            Kind::Who => self.new_name(text) || self.new_word(text, &ROLES),
            Kind::Where if text.chars().any(Script::is_cjk) && is_sentence(text) => names_place(text, self.text()),
            Kind::Where => self.new_name(text) || self.new_word(text, &PLACES),
            Kind::Why => {
                let lower = text.to_lowercase();
                [
                    "because",
                    "due to",
                    "since ",
                    " to ",
                    "caus",
                    "reason",
                    "so that",
                    "때문",
                    "위해",
                    "위하여",
                    "ため",
                    "から",
                    "ので",
                    "因为",
                    "因為",
                    "由于",
                    "由於",
                    "为了",
                    "為了",
                ]
                .iter()
                .any(|word| lower.contains(word))
            }
            Kind::How | Kind::Other => return 0.5,
        };
        f64::from(u8::from(new))
    }

    fn new_number(&self, text: &str, fits: impl Fn(&str, &str) -> bool) -> bool {
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let tail = &rest[start..];
            let end = tail
                .find(|c: char| !c.is_ascii_digit() && c != ',' && c != '.')
                .unwrap_or(tail.len());
            let digits = tail[..end].trim_end_matches([',', '.']);
            let number = digits.replace(',', "");
            if fits(&number, tail[end..].trim_start()) && !self.view.numbers.contains(&number) {
                return true;
            }
            rest = &tail[end..];
        }
        false
    }

    fn new_word(&self, text: &str, words: &Lexicon) -> bool {
        let lower = text.to_lowercase();
        lower
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| words.contains(word) && !self.view.lower.contains(word))
    }

    fn new_name(&self, text: &str) -> bool {
        if text.chars().any(Script::is_cjk) {
            return emend_text::content_words(text)
                .iter()
                .any(|own| !self.view.has(word(own)));
        }
        emend_text::names(text)
            .iter()
            .any(|name| !self.view.lower.contains(name.as_str()))
    }
}

/// Whether a text is a sentence or longer than a bare place name, which needs no preposition.
fn is_sentence(text: &str) -> bool {
    const SHORTEST: usize = 20;
    let text = text.trim_end();
    emend_text::ends_sentence(text) || text.chars().count() > SHORTEST
}

/// Whether a number looks like a year or part of a date.
fn is_date(number: &str, after: &str) -> bool {
    let year = number.len() == 4 && (number.starts_with('1') || number.starts_with("20"));
    let marked = [
        "年", "년", "月", "월", "日", "일", "世紀", "世纪", "세기", "bc", "BC", "AD", "s ",
    ]
    .iter()
    .any(|mark| after.starts_with(mark));
    let ordinal = ["st ", "nd ", "rd ", "th "].iter().any(|mark| after.starts_with(mark));
    year || marked || ordinal
}

#[cfg(test)]
mod tests;
