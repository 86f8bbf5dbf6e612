//! How sentences end, and how one follows another.

use crate::Script;

/// Whether `c` ends a sentence, in any of the scripts that are read.
pub fn is_sentence_end(c: char) -> bool {
    matches!(
        c,
        '.' | '!' | '?' | '…' | '。' | '！' | '？' | '｡' | '．' | '؟' | '।' | '‼' | '⁇' | '⁈' | '⁉'
    )
}

/// Whether `c` may stand between the mark that ends a sentence and the end of it: a closing quote, bracket or emphasis.
pub fn is_closing_mark(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '}' | '）' | '］' | '】' | '」' | '』' | '》' | '〉' | '*' | '_'
    )
}

/// Whether a text ends as a sentence does: with its mark, and what closes after it.
pub fn ends_sentence(text: &str) -> bool {
    last_mark(text).is_some_and(is_sentence_end)
}

/// Whether a text ends as a question does.
pub fn ends_question(text: &str) -> bool {
    last_mark(text).is_some_and(|mark| matches!(mark, '?' | '？' | '؟' | '⁇' | '⁈' | '⁉'))
}

fn last_mark(text: &str) -> Option<char> {
    text.trim_end().trim_end_matches(is_closing_mark).chars().next_back()
}

/// What stands between a text and the sentence that follows it: nothing at the start, after white space, and between
/// Chinese or Japanese sentences; else a space.
pub fn sentence_separator(before: &str, next: &str) -> &'static str {
    let unspaced = |c: char| Script::is_cjk(c) && Script::of(c) != Script::Hangul;
    match (before.chars().next_back(), next.chars().next()) {
        (None, _) => "",
        (Some(last), _) if last.is_whitespace() || matches!(last, '。' | '！' | '？' | '｡' | '」' | '』') => "",
        (Some(last), Some(first)) if unspaced(last) && unspaced(first) => "",
        _ => " ",
    }
}

#[cfg(test)]
mod tests;
