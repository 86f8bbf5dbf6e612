//! What a run of Japanese says, without particles, endings and question words.

use emend_text::Script;

/// Hiragana that holds sentences together, longest first where one starts with another.
const BINDING: &[&str] = &[
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
/// Chinese characters that ask, or ask for an answer.
const ASKING: &[&str] = &["何", "誰", "教", "下", "事", "為"];

/// The parts of `run`, of Chinese characters, hiragana and katakana, that say something.
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
            // After a Chinese character it is the ending of a verb or adjective, or a particle.
            if !after_han {
                found.extend(hiragana_words(piece));
            }
        } else {
            let piece = piece.trim_matches(['・', '·']);
            let asks = piece.starts_with('何') || ASKING.contains(&piece);
            if !asks && !piece.is_empty() {
                found.push(piece);
            }
        }
        after_han = !hiragana && piece.chars().next_back().is_some_and(|c| Script::of(c) == Script::Han);
        at = end;
    }
    found
}

/// What is left of `run` between words that bind: at least three characters, since two are more often an ending.
fn hiragana_words(run: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < run.len() {
        if let Some(binding) = BINDING.iter().find(|binding| run[at..].starts_with(*binding)) {
            found.push(&run[start..at]);
            at += binding.len();
            start = at;
        } else {
            at += run[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    found.push(&run[start..]);
    found.retain(|word| word.chars().count() >= 3);
    found
}

#[cfg(test)]
mod tests;
