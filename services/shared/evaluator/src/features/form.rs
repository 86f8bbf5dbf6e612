//! Features of the expected form of an answer: the unit of its number, the class of its noun, and whether it adds
//! something to the question.
//!
//! In Chinese, Japanese and Korean a counter or a noun follows the question word. In other languages the unit and the
//! class are 0.

use unicode_normalization::UnicodeNormalization as _;

use super::kind::is_japanese;
use super::question::Question;
use super::view::View;
use emend_text::Script;

/// Question words that ask for a number of the noun that follows. 何 does so in Japanese only.
const COUNTING: &[&str] = &["多少", "几", "幾", "몇", "哪一", "哪", "何"];
/// Question words that ask for one of the kind that follows.
const NAMING: &[&str] = &[
    "什么",
    "什麼",
    "哪一",
    "哪",
    "何の",
    "何という",
    "どんな",
    "どの",
    "무슨",
    "어느",
    "어떤",
];
/// Measure words that may stand between 哪 and the noun.
const MEASURES: &str = "个個种種位条條座家所部支些片颗顆項项";
/// The maximum length of the noun that gives the class, in characters.
const MAX_NOUN: usize = 4;

/// How well the form of an answer fits the question.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Form {
    /// 1 if a number has the expected unit, −1 if all numbers have other units, −½ without a number, 0 if unknown.
    pub(super) unit: f64,
    /// 1 if the answer ends with a character of the noun that the question asks for, as in 哪条河 and 黄河; otherwise
    /// 0.
    pub(super) class: f64,
    /// 1 if the question contains the answer; otherwise 0.
    pub(super) repeats: f64,
}

impl Form {
    pub(super) fn new(question: &Question, answer: &View) -> Self {
        let question_text = folded(question.text());
        let answer_text = folded(&answer.text);
        let (question_letters, answer_letters) = (letters(&question_text), letters(&answer_text));
        let repeats = !answer_letters.is_empty() && question_letters.contains(&answer_letters);
        let last = answer_letters.chars().next_back();
        let noun = noun(&question_text);
        let class = last.is_some_and(|last| noun.contains(&last));
        Self {
            unit: counter(&question_text).map_or(0.0, |expected| unit(expected, &answer_text)),
            class: f64::from(u8::from(class)),
            repeats: f64::from(u8::from(repeats)),
        }
    }
}

/// Normalizes width and case.
fn folded(text: &str) -> String {
    text.nfkc().flat_map(char::to_lowercase).collect()
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// The counter that a question asks for: 年 of 哪一年, 人 of 何人.
fn counter(question: &str) -> Option<char> {
    let japanese = is_japanese(question);
    COUNTING.iter().find_map(|word| {
        question.match_indices(word).find_map(|(at, _)| {
            let after = skip_square(question[at + word.len()..].trim_start());
            let next = after.chars().next().filter(|c| c.is_alphabetic() || *c == '%')?;
            let counts = match *word {
                "哪" | "哪一" => next == '年',
                "何" => japanese && !matches!(Script::of(next), Script::Hiragana),
                _ => true,
            };
            counts.then_some(next)
        })
    })
}

fn skip_square(text: &str) -> &str {
    text.strip_prefix("平方")
        .or_else(|| text.strip_prefix("立方"))
        .unwrap_or(text)
}

fn unit(expected: char, answer: &str) -> f64 {
    let is_digit = |c: char| c.is_ascii_digit() || "一二三四五六七八九十百千万萬億亿两兩".contains(c);
    let (mut found, mut other) = (false, false);
    let mut rest = answer;
    while let Some(start) = rest.find(is_digit) {
        let tail = &rest[start..];
        let end = tail
            .find(|c: char| !is_digit(c) && c != '.' && c != ',')
            .unwrap_or(tail.len());
        rest = &tail[end..];
        found = true;
        match skip_square(rest.trim_start())
            .chars()
            .next()
            .filter(|c| c.is_alphabetic())
        {
            Some(unit) if is_same_counter(unit, expected) => return 1.0,
            Some(_) => other = true,
            None => {}
        }
    }
    match (found, other) {
        (false, _) => -0.5,
        (true, true) => -1.0,
        (true, false) => 0.0,
    }
}

/// Whether two counters are equal, or variants of the same character.
fn is_same_counter(left: char, right: char) -> bool {
    const VARIANTS: [&str; 6] = ["个個", "岁歲歳", "万萬", "亿億", "条條", "种種"];
    left == right
        || VARIANTS
            .iter()
            .any(|variants| variants.contains(left) && variants.contains(right))
}

/// The characters of the noun after a question word in [`NAMING`].
fn noun(question: &str) -> Vec<char> {
    let noun = NAMING.iter().find_map(|word| {
        let at = question.find(word)?;
        let after = question[at + word.len()..].trim_start();
        let after = if word.starts_with('哪') {
            after.trim_start_matches(|c| MEASURES.contains(c))
        } else {
            after
        };
        let noun: Vec<char> = after
            .chars()
            .take_while(|c| Script::is_cjk(*c) && Script::of(*c) != Script::Hiragana)
            .take(MAX_NOUN)
            .collect();
        (!noun.is_empty()).then_some(noun)
    });
    noun.unwrap_or_default()
}

#[cfg(test)]
mod tests;
