//! The one parser of verdicts (R5): reads them from replies in any format: bare words, sentences, labels, Markdown or JSON.
//!
//! Every function returns `None` if the reply has no clear verdict. Callers report such a grade as UNGRADED (R4), never as a
//! negative one: a graph that misses a "no." would not search the web.

mod likelihood;
mod list;
mod retrieval;
mod value;

use std::ops::ControlFlow;

pub use likelihood::{
    probabilities, probability, retrieval_probabilities, support_probabilities, support_score, utility_score,
};
pub use list::list;
pub use retrieval::{Retrieval, retrieval};
use value::{Value, VerdictField, normalise, strip_reasoning};

/// A binary verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Yes.
    Yes,
    /// No.
    No,
}

impl Verdict {
    /// Whether the verdict is yes.
    pub fn is_yes(self) -> bool {
        self == Self::Yes
    }
}

/// The degree to which the evidence supports a sentence (Self-RAG's ISSUP).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Support {
    /// Fully supported.
    Full,
    /// Partially supported.
    Partial,
    /// Not supported or contradicted.
    No,
}

/// Words for yes that also count at the start of a longer reply.
const YES: &[&str] = &[
    "yes",
    "yep",
    "yeah",
    "true",
    "oui",
    "ja",
    "sí",
    "sim",
    "да",
    "예",
    "네",
    "넵",
    "응",
    "그렇습니다",
    "그렇다",
    "맞습니다",
    "はい",
    "ええ",
    "そうです",
    "是",
    "是的",
    "对",
    "對",
    "对的",
    "對的",
];
/// Words for no that also count at the start of a longer reply.
const NO: &[&str] = &[
    "no",
    "nope",
    "false",
    "non",
    "nein",
    "não",
    "нет",
    "아니오",
    "아니요",
    "아뇨",
    "아니",
    "아닙니다",
    "아니다",
    "いいえ",
    "いえ",
    "違います",
    "否",
    "不",
    "不是",
    "不是的",
    "不对",
    "不對",
    "不正确",
    "不正確",
];
/// Words for yes that count only as the whole reply.
const YES_ALONE: &[&str] = &[
    "y",
    "relevant",
    "supported",
    "grounded",
    "useful",
    "correct",
    "관련",
    "관련 있음",
    "관련있음",
    "참",
    "関連あり",
    "相关",
    "相關",
    "有",
    "正确",
    "正確",
];
/// Words for no that count only as the whole reply.
const NO_ALONE: &[&str] = &[
    "n",
    "irrelevant",
    "not relevant",
    "unsupported",
    "not supported",
    "not grounded",
    "ungrounded",
    "useless",
    "not useful",
    "incorrect",
    "무관",
    "관련 없음",
    "관련없음",
    "거짓",
    "関連なし",
    "不相关",
    "不相關",
    "无关",
    "無關",
    "没有",
    "沒有",
    "无",
    "無",
];
/// Words that may follow a leading "no" without a comma. "No doubt it is" means yes.
const AFTER_NO: &[&str] = &[
    "it", "the", "this", "that", "these", "they", "there", "i", "because", "document", "passage", "answer",
];

/// Parses yes or no from a bare word, a sentence that starts or ends with one, `label: yes`, or a JSON object.
pub fn parse(text: &str) -> Option<Verdict> {
    Parser::BINARY.parse(text)
}

/// Parses one of a closed set of values, each named by a set of words.
struct Parser<T: 'static> {
    /// The value of a word that also counts at the start of a longer reply.
    leading_word: fn(&str) -> Option<T>,
    /// The value of a word or phrase that counts only as the whole reply.
    whole_reply: fn(&str) -> Option<T>,
    /// Whether the value's English words start phrases with another meaning, such as "no doubt".
    begins_phrases: fn(&T) -> bool,
    /// The value of a JSON boolean, 1 or 0.
    from_bool: fn(bool) -> T,
}

impl Parser<Verdict> {
    const BINARY: Self = Self {
        leading_word: |word| {
            if YES.contains(&word) {
                Some(Verdict::Yes)
            } else {
                NO.contains(&word).then_some(Verdict::No)
            }
        },
        whole_reply: |word| {
            if YES_ALONE.contains(&word) {
                Some(Verdict::Yes)
            } else {
                NO_ALONE.contains(&word).then_some(Verdict::No)
            }
        },
        begins_phrases: |verdict| !verdict.is_yes(),
        from_bool: |value| if value { Verdict::Yes } else { Verdict::No },
    };
}

impl<T: PartialEq> Parser<T> {
    fn parse(&self, text: &str) -> Option<T> {
        let reply = strip_reasoning(text);
        if let Some(value) = value::json(&reply) {
            return self.json_value(&value);
        }
        let plain = normalise(&reply);
        if let Some(found) = self.exact(&plain) {
            return Some(found);
        }
        if let Some(labelled) = value::labelled(&plain) {
            return self.exact(&labelled).or_else(|| self.leading(&labelled));
        }
        if let Some(found) = self.leading(&plain) {
            return Some(found);
        }
        if value::first_word(&plain).is_some_and(|word| (self.leading_word)(word).is_some()) {
            return None;
        }
        let last = plain
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .and_then(|line| self.exact(line));
        last.or_else(|| {
            unanimous(
                value::quoted(&reply)
                    .iter()
                    .filter_map(|word| self.exact(&normalise(word))),
            )
        })
    }

    /// The value of the verdict in a JSON value.
    fn json_value(&self, value: &Value) -> Option<T> {
        match value.verdict()? {
            Value::Bool(value) => Some((self.from_bool)(*value)),
            Value::Number(number) if number.as_f64() == Some(1.0) => Some((self.from_bool)(true)),
            Value::Number(number) if number.as_f64() == Some(0.0) => Some((self.from_bool)(false)),
            Value::String(word) => {
                let plain = normalise(word);
                self.exact(&plain).or_else(|| self.leading(&plain))
            }
            _ => None,
        }
    }

    /// The value if `plain` is exactly one of the words, up to punctuation and polite endings.
    fn exact(&self, plain: &str) -> Option<T> {
        let word = plain.trim_matches(|c: char| !c.is_alphanumeric());
        let word = ["です", "でした", "입니다", "이다", "요"]
            .iter()
            .find_map(|ending| {
                word.strip_suffix(ending)
                    .filter(|stem| (self.leading_word)(stem).is_some())
            })
            .unwrap_or(word);
        (self.whole_reply)(word).or_else(|| (self.leading_word)(word))
    }

    /// The value at the start of `plain`, unless the words after it retract it.
    fn leading(&self, plain: &str) -> Option<T> {
        let start = plain.trim_start_matches(|c: char| !c.is_alphanumeric());
        let end = start.find(|c: char| !c.is_alphanumeric()).unwrap_or(start.len());
        let (first, rest) = start.split_at(end);
        let found = self
            .exact(first)
            .filter(|_| (self.leading_word)(first).is_some() || rest.trim().is_empty())?;
        let joined = rest.starts_with([' ', '/', '|']);
        let mut words = rest
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        let next = words.next().unwrap_or_default();
        let opposite = |word: &str| (self.leading_word)(word).is_some_and(|other| other != found);
        let hedged = matches!(next, "and" | "or" | "nor" | "but") && words.next().is_some_and(opposite);
        if hedged || (joined && opposite(next)) {
            return None;
        }
        let ascii = first.is_ascii() && (self.begins_phrases)(&found);
        let adjective = ascii && rest.starts_with(' ') && rest.trim_start().starts_with(char::is_alphanumeric);
        if adjective && !AFTER_NO.contains(&next) {
            None
        } else {
            Some(found)
        }
    }
}

/// The common value if all values are equal.
fn unanimous<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// Parses a utility from 1 to 5: `4`, `4/5`, `Score: 4`, `[Utility:4]`, `4점`, `{"utility": 4}`.
pub fn utility(text: &str) -> Option<u8> {
    let reply = strip_reasoning(text);
    let within = |number: f64| (number.fract() == 0.0 && (1.0..=5.0).contains(&number)).then_some(number as u8);
    if let Some(value) = value::json(&reply) {
        return match value.verdict()? {
            Value::Number(number) => within(number.as_f64()?),
            Value::String(word) => rating(&normalise(word)).and_then(within),
            _ => None,
        };
    }
    let plain = normalise(&reply);
    let labelled = value::labelled(&plain);
    rating(labelled.as_deref().unwrap_or(&plain)).and_then(within)
}

/// The number that `plain` starts with, or its only number. The 5 of "of 5" or "/5" is the scale, not a rating.
fn rating(plain: &str) -> Option<f64> {
    let mut numbers = Vec::new();
    let mut rest = plain;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = &rest[..start];
        let tail = &rest[start..];
        let end = tail
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(tail.len());
        let written = tail[..end].trim_end_matches('.');
        let negative = before.ends_with('-') && !before.trim_end_matches('-').ends_with(char::is_alphanumeric);
        let range = before.ends_with(['-', '–', '~']) && !numbers.is_empty() && before.trim().chars().count() == 1;
        let scale = before.trim_end().ends_with('/') || before.trim_end().ends_with("of");
        if range {
            return None;
        }
        if !scale {
            let number: f64 = written.parse().ok()?;
            numbers.push(if negative { -number } else { number });
        }
        rest = &tail[end..];
    }
    let opens = plain
        .trim_start_matches(|c: char| !c.is_alphanumeric() && c != '-')
        .starts_with(|c: char| c.is_ascii_digit());
    match numbers.as_slice() {
        [number] => Some(*number),
        [number, ..] if opens => Some(*number),
        _ => None,
    }
}

/// Parses full, partial or no support: Self-RAG's tokens, the words of the JSON schema, or yes and no.
pub fn support(text: &str) -> Option<Support> {
    let reply = strip_reasoning(text);
    if let Some(value) = value::json(&reply) {
        return match value.verdict()? {
            Value::String(word) => degree(&normalise(word)),
            Value::Bool(supported) => Some(if *supported { Support::Full } else { Support::No }),
            _ => None,
        };
    }
    let plain = normalise(&reply);
    degree(value::labelled(&plain).as_deref().unwrap_or(&plain))
}

const PARTIAL: &[&str] = &["partial", "partly", "not fully", "부분", "일부", "部分", "一部"];
const UNSUPPORTED: &[&str] = &[
    "not support",
    "no support",
    "unsupported",
    "contradict",
    "not grounded",
    "ungrounded",
    "지지하지 않",
    "지지되지 않",
    "근거 없",
    "뒷받침하지 않",
    "모순",
    "支持しない",
    "支持されない",
    "矛盾",
    "不支持",
    "无支持",
    "無支持",
    "未支持",
];
const FULL: &[&str] = &[
    "full",
    "supported",
    "grounded",
    "entail",
    "완전",
    "전부",
    "완벽",
    "完全",
    "全部",
    "支持",
];

/// The degree of support named in the first line. Partial is matched before unsupported before full, because "not fully
/// supported" contains the words of all three.
fn degree(plain: &str) -> Option<Support> {
    let line = plain.lines().find(|line| !line.trim().is_empty())?;
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    let short = line.chars().count() <= 80;
    let found = [
        (PARTIAL, Support::Partial),
        (UNSUPPORTED, Support::No),
        (FULL, Support::Full),
    ]
    .iter()
    .try_for_each(|(words, support)| {
        if short && has(words) {
            ControlFlow::Break(*support)
        } else {
            ControlFlow::Continue(())
        }
    });
    match found {
        ControlFlow::Break(support) => Some(support),
        ControlFlow::Continue(()) => match Parser::BINARY.exact(line).or_else(|| Parser::BINARY.leading(line))? {
            Verdict::Yes => Some(Support::Full),
            Verdict::No => Some(Support::No),
        },
    }
}

#[cfg(test)]
mod tests;
