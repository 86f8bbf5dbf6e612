//! Extracts content words from Japanese text, without particles, inflections and question words.

use emend_text::Script;

use super::terms::between;

/// Hiragana function words, longest first among those with a common prefix.
const FUNCTION_WORDS: &[&str] = &[
    "どのように",
    "どのくらい",
    "どれくらい",
    "でしょうか",
    "ください",
    "について",
    "ましたか",
    "でしたか",
    "ありますか",
    "いますか",
    "という",
    "において",
    "とは",
    "ですか",
    "ますか",
    "ました",
    "でした",
    "である",
    "される",
    "された",
    "している",
    "していた",
    "した",
    "する",
    "して",
    "です",
    "ます",
    "だれ",
    "どこ",
    "いつ",
    "なぜ",
    "どう",
    "どの",
    "どれ",
    "どんな",
    "いくつ",
    "いくら",
    "なに",
    "なん",
    "これ",
    "それ",
    "あれ",
    "この",
    "その",
    "あの",
    "ここ",
    "そこ",
    "から",
    "まで",
    "より",
    "など",
    "ある",
    "いる",
    "こと",
    "もの",
    "ため",
    "とき",
    "よう",
    "また",
    "では",
    "には",
    "での",
    "への",
    "は",
    "が",
    "を",
    "に",
    "で",
    "と",
    "の",
    "も",
    "へ",
    "や",
    "か",
    "ね",
    "よ",
];
/// Kanji of question words and of requests for an answer.
const QUESTION_WORDS: &[&str] = &["何", "誰", "教", "下", "事", "為"];

/// The content words of `run`, which consists of kanji, hiragana and katakana.
pub(super) fn content(run: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut after_han = false;
    while let Some(first) = run[at..].chars().next() {
        let hiragana = Script::of(first) == Script::Hiragana;
        let end = run[at..]
            .find(|c| (Script::of(c) == Script::Hiragana) != hiragana)
            .map_or(run.len(), |length| at + length);
        let piece = &run[at..end];
        if hiragana {
            // Hiragana after a kanji is an inflection or a particle.
            if !after_han {
                found.extend(hiragana_words(piece));
            }
        } else {
            let piece = piece.trim_matches(['・', '·']);
            let asks = piece.starts_with('何') || QUESTION_WORDS.contains(&piece);
            if !asks && !piece.is_empty() {
                found.push(piece);
            }
        }
        after_han = !hiragana && piece.chars().next_back().is_some_and(|c| Script::of(c) == Script::Han);
        at = end;
    }
    found
}

/// The parts of `run` between function words that have at least three characters; shorter ones are more often
/// inflections.
fn hiragana_words(run: &str) -> Vec<&str> {
    let mut found = between(run, FUNCTION_WORDS);
    found.retain(|word| word.chars().count() >= 3);
    found
}

#[cfg(test)]
mod tests;
