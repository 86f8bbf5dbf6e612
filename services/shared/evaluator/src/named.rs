//! Which passages are of a document that the question names?
//!
//! "minimum Rust version of base64 0.22" names a folder, and the files of many others have such a sentence.

use std::collections::HashSet;

use emend_core::Turns;
use emend_text as text;

use super::EvaluateError;

/// How much less likely a passage is to answer whose document is named less than another: by so much the logarithm of the odds
/// falls, for the whole of a question.
const WEIGHT: f64 = 2.0;

/// How much more of the question the name of another passage's document has than that of its own, 0–1, for each of the `sources`
/// in order: paths or addresses, of which the [name](emend_text::source_name) is taken. 0 for all where no name has a word of it.
///
/// # Errors
/// [`EvaluateError::Stopped`] when the computation is broken off.
pub async fn unnamed<'a>(
    question: &str,
    sources: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<f64>, EvaluateError> {
    let names: Vec<String> = sources.into_iter().map(text::source_name).collect();
    if names.iter().all(|name| Some(name) == names.first()) {
        return Ok(vec![0.0; names.len()]);
    }
    let question = question.to_owned();
    let bytes = question.len() + names.iter().map(String::len).sum::<usize>();
    Ok(Turns::shared().piece(bytes, move || gaps(&question, &names)).await?)
}

fn gaps(question: &str, names: &[String]) -> Vec<f64> {
    let asked: HashSet<String> = text::content_words(question).into_iter().collect();
    let all: f64 = asked.iter().map(|word| text::rarity(word)).sum();
    let share = |name: &String| {
        let words: HashSet<String> = text::words(name).into_iter().collect();
        let both: Vec<&String> = asked.intersection(&words).collect();
        // A year alone names no document.
        if !both.iter().any(|word| word.contains(char::is_alphabetic)) {
            return 0.0;
        }
        both.into_iter().map(|word| text::rarity(word)).sum::<f64>() / all
    };
    let shares: Vec<f64> = names.iter().map(share).collect();
    let most = shares.iter().copied().fold(0.0, f64::max);
    shares.into_iter().map(|share| most - share).collect()
}

/// A probability with less of it for what is [`unnamed`].
pub(crate) fn less_likely(probability: f64, unnamed: f64) -> f64 {
    let odds = (-WEIGHT * unnamed).exp();
    probability * odds / (1.0 - probability + probability * odds)
}

#[cfg(test)]
mod tests;
