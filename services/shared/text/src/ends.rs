//! Sentence-ending punctuation, and the separator between sentences.

use crate::Script;

/// Whether `c` is a sentence terminator, in any supported script.
pub fn is_sentence_end(c: char) -> bool {
    matches!(
        c,
        '.' | '!' | '?' | '…' | '。' | '！' | '？' | '｡' | '．' | '؟' | '।' | '‼' | '⁇' | '⁈' | '⁉'
    )
}

/// Whether `c` is a closing mark that may follow a sentence terminator: a closing quote, bracket or emphasis mark.
pub fn is_closing_mark(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '}' | '）' | '］' | '】' | '」' | '』' | '》' | '〉' | '*' | '_'
    )
}

/// Whether `text` ends with a sentence terminator. Trailing white space and closing marks are ignored.
pub fn ends_sentence(text: &str) -> bool {
    last_mark(text).is_some_and(is_sentence_end)
}

/// Whether `text` ends with a question mark. Trailing white space and closing marks are ignored.
pub fn ends_question(text: &str) -> bool {
    last_mark(text).is_some_and(|mark| matches!(mark, '?' | '？' | '؟' | '⁇' | '⁈' | '⁉'))
}

fn last_mark(text: &str) -> Option<char> {
    text.trim_end().trim_end_matches(is_closing_mark).chars().next_back()
}

/// The separator to put between `before` and the sentence `next`.
///
/// Empty if `before` is empty or ends with white space, and between Chinese or Japanese sentences; otherwise a space.
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
