//! Answers compared with right ones as text.

use std::collections::HashMap;

use emend_text::Script;
use unicode_normalization::UnicodeNormalization as _;

/// Whether `answer` contains one of `answers`, whatever the case and width of the letters and the spaces between.
#[must_use]
pub(super) fn contains(answer: &str, answers: &[String]) -> bool {
    let answer = folded(answer);
    answers
        .iter()
        .map(|right| folded(right))
        .any(|right| !right.is_empty() && answer.contains(&right))
}

/// Whether `answer` has the same tokens as one of `answers`, as SQuAD's exact match.
#[must_use]
pub(super) fn exact(answer: &str, answers: &[String], lang: &str) -> bool {
    let answer = tokens(answer, lang);
    !answer.is_empty() && answers.iter().any(|right| tokens(right, lang) == answer)
}

/// SQuAD's F1: the harmonic mean of the shares of the answer's tokens and of the right answer's tokens that both have,
/// 0–1, of the right answer where it is highest.
#[must_use]
pub(super) fn f1(answer: &str, answers: &[String], lang: &str) -> f64 {
    let answer = tokens(answer, lang);
    answers
        .iter()
        .map(|right| overlap(&answer, &tokens(right, lang)))
        .fold(0.0, f64::max)
}

fn overlap(answer: &[String], right: &[String]) -> f64 {
    let mut left: HashMap<&str, u32> = HashMap::new();
    for token in right {
        *left.entry(token).or_default() += 1;
    }
    let mut common = 0u32;
    for token in answer {
        if let Some(count) = left.get_mut(token.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    if common == 0 {
        return 0.0;
    }
    2.0 * f64::from(common) / (answer.len() + right.len()) as f64
}

/// Words; a Chinese, Japanese or Korean character is one by itself, because words there are not set apart, or carry
/// their particles with them. Punctuation is dropped, and so are the articles of English.
fn tokens(text: &str, lang: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    for c in folded(text).chars() {
        if Script::is_cjk(c) || c == ' ' {
            tokens.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            tokens.extend((c != ' ').then(|| c.to_string()));
        } else if c.is_alphanumeric() {
            word.push(c);
        }
    }
    tokens.extend((!word.is_empty()).then_some(word));
    if lang == "en" || lang.starts_with("en-") {
        tokens.retain(|token| !matches!(token.as_str(), "a" | "an" | "the"));
    }
    tokens
}

/// NFKC in lower case, with one space wherever there are some.
fn folded(text: &str) -> String {
    let text: String = text.nfkc().flat_map(char::to_lowercase).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
