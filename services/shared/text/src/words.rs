//! Word tokenization for comparison: words are normalized (NFKC) and lowercased. English words are stemmed; Chinese,
//! Japanese and Korean runs become character bigrams.

use std::collections::HashSet;
use std::iter::Peekable;
use std::str::Chars;

use unicode_normalization::UnicodeNormalization;

use super::language::{Language, language};
use super::script::Script;
use super::sentences::sentences;
use super::stop::{is_common, is_stop};

/// Beginning of a text that shows its language, in bytes.
const MAX_LANGUAGE_BYTES: usize = 8 << 10;

/// The letters and digits of `text` in lower case: what is left of it whatever the spaces, the punctuation and the marks.
pub fn letters(text: &str) -> impl Iterator<Item = char> {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase)
}

/// The words of `text`, in order. `creates`, `created` and `create` are one word; `1,000` is `1000`; `東京都` is `東京`
/// and `京都`.
pub fn words(text: &str) -> Vec<String> {
    let plain: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let mut found = Vec::new();
    let mut chars = plain.chars().peekable();
    while let Some(&c) = chars.peek() {
        match Script::of(c) {
            Script::Digit => found.push(number(&mut chars)),
            Script::Alphabet => {
                let word = run(&mut chars, |c| {
                    Script::of(c) == Script::Alphabet || is_combining_mark(c)
                });
                // Skip the clitics of "it's" and "don't".
                if !(found
                    .last()
                    .is_some_and(|_: &String| matches!(word.as_str(), "s" | "t" | "re" | "ll" | "ve" | "d"))
                    && after_apostrophe(&plain, &chars, &word))
                {
                    found.push(stem(&word));
                }
            }
            Script::Hangul => push_bigrams(&run(&mut chars, |c| Script::of(c) == Script::Hangul), &mut found),
            Script::Han | Script::Hiragana | Script::Katakana => {
                let in_run = |c| matches!(Script::of(c), Script::Han | Script::Hiragana | Script::Katakana);
                push_bigrams(&run(&mut chars, in_run), &mut found);
            }
            Script::Other => {
                chars.next();
            }
        }
    }
    found
}

/// The words of `text` without the stop words of its language, or all words if every one is a stop word.
pub fn content_words(text: &str) -> Vec<String> {
    let all = words(text);
    let language = language_of_beginning(text);
    let content: Vec<String> = all.iter().filter(|word| !is_stop(word, language)).cloned().collect();
    if content.is_empty() { all } else { content }
}

/// The numbers of `text`, without thousands separators. English number words from two to twelve become digits.
pub fn numbers(text: &str) -> Vec<String> {
    const NUMBER_WORDS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    ];
    let plain: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let mut found = Vec::new();
    let mut chars = plain.chars().peekable();
    while let Some(&c) = chars.peek() {
        match Script::of(c) {
            Script::Digit => found.push(number(&mut chars)),
            Script::Alphabet => {
                let word = run(&mut chars, |c| Script::of(c) == Script::Alphabet);
                // "one" is a pronoun more often than a number.
                if let Some(value) = NUMBER_WORDS
                    .iter()
                    .position(|name| *name == word)
                    .filter(|value| *value > 1)
                {
                    found.push(value.to_string());
                }
            }
            _ => {
                chars.next();
            }
        }
    }
    found
}

/// Likely names in `text`, in lower case and unstemmed: capitalized words within a sentence, katakana, or Latin letters
/// within Chinese, Japanese or Korean text. In German, where every noun has a capital, only a word with a further one is.
pub fn names(text: &str) -> Vec<String> {
    let plain: String = text.nfkc().collect();
    let starts: HashSet<usize> = sentences(&plain).into_iter().map(|range| range.start).collect();
    let cjk =
        plain.chars().filter(|c| Script::is_cjk(*c)).count() * 4 > plain.chars().filter(|c| c.is_alphabetic()).count();
    let language = language_of_beginning(&plain);
    let mut found = Vec::new();
    let mut at = 0;
    while at < plain.len() {
        let rest = &plain[at..];
        let script = rest.chars().next().map_or(Script::Other, Script::of);
        let same =
            |c: char| Script::of(c) == script || (script == Script::Alphabet && (is_combining_mark(c) || c == '-'));
        let length = rest
            .find(|c| !same(c))
            .unwrap_or(rest.len())
            .max(rest.chars().next().map_or(1, char::len_utf8));
        let run = rest[..length].trim_matches('-');
        let letters = run.chars().count();
        let capital = run.chars().next().is_some_and(char::is_uppercase);
        let named = match script {
            Script::Katakana => letters >= 2,
            Script::Alphabet if cjk => letters >= 2,
            Script::Alphabet if language == Language::Other("de") => capital && has_further_capital(run),
            Script::Alphabet if starts.contains(&at) => {
                capital && letters > 1 && (has_further_capital(run) || !is_common_word(run, language))
            }
            Script::Alphabet => capital && letters >= 2 && !is_stop(&run.to_lowercase(), language),
            _ => false,
        };
        if named {
            found.push(run.to_lowercase());
        }
        at += length;
    }
    found
}

/// The weight of a word of [`words`], about 0–2, as an estimate of its inverse document frequency. Without a corpus, it
/// is estimated from length, script and a list of common English words.
pub fn rarity(word: &str) -> f64 {
    if is_stop(word, Language::En) {
        return 0.1;
    }
    let mut scripts = word.chars().map(Script::of);
    match scripts.next() {
        Some(Script::Digit) => 1.3,
        Some(Script::Alphabet) if is_common(word) => 0.5,
        Some(Script::Alphabet) => 0.5 + 0.1 * word.chars().count().min(10) as f64,
        Some(Script::Hangul) => 0.9,
        Some(first) => {
            let hiragana = std::iter::once(first)
                .chain(scripts)
                .filter(|script| *script == Script::Hiragana)
                .count();
            [1.1, 0.5, 0.15][hiragana.min(2)]
        }
        None => 0.0,
    }
}

fn has_further_capital(word: &str) -> bool {
    word.chars().skip(1).any(char::is_uppercase)
}

/// Whether a word that starts a sentence is capitalized only because of its position.
fn is_common_word(run: &str, language: Language) -> bool {
    let lower = run.to_lowercase();
    is_stop(&lower, language) || is_common(&lower) || is_common(&stem(&lower))
}

fn language_of_beginning(text: &str) -> Language {
    language(text.get(..text.floor_char_boundary(MAX_LANGUAGE_BYTES)).unwrap_or(text))
}

fn is_combining_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

fn run(chars: &mut Peekable<Chars<'_>>, belongs: impl Fn(char) -> bool) -> String {
    let mut found = String::new();
    while let Some(c) = chars.next_if(|c| belongs(*c)) {
        found.push(c);
    }
    found
}

/// Reads a number with its decimal point, without thousands separators.
fn number(chars: &mut Peekable<Chars<'_>>) -> String {
    let mut found = String::new();
    loop {
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            found.push(digit);
        }
        let mut ahead = chars.clone();
        match (ahead.next(), ahead.next()) {
            (Some(mark @ ('.' | ',')), Some('0'..='9')) => {
                chars.next();
                if mark == '.' {
                    found.push('.');
                }
            }
            _ => return found,
        }
    }
}

fn after_apostrophe(plain: &str, rest: &Peekable<Chars<'_>>, word: &str) -> bool {
    let left: usize = rest.clone().map(char::len_utf8).sum();
    let start = plain.len() - left - word.len();
    plain[..start].ends_with(['\'', '’'])
}

fn push_bigrams(run: &str, found: &mut Vec<String>) {
    let chars: Vec<char> = run.chars().collect();
    if let [single] = chars.as_slice() {
        found.push(single.to_string());
    }
    found.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
}

/// Stems an English word: removes plural, tense and adverb endings. Words in other languages pass through unless they
/// look English.
pub(super) fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() <= 3 {
        return word.to_owned();
    }
    let cut = |ending: &str| word.strip_suffix(ending).filter(|left| left.len() >= 3);
    let base = if let Some(left) = cut("ies").or_else(|| cut("ied")) {
        format!("{left}y")
    } else if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        word.to_owned()
    } else if let Some(left) = cut("ingly")
        .or_else(|| cut("edly"))
        .or_else(|| cut("ing"))
        .or_else(|| cut("ed"))
    {
        undouble(left)
    } else if let Some(left) = cut("es").or_else(|| cut("ly")).or_else(|| cut("s")) {
        left.to_owned()
    } else {
        word.to_owned()
    };
    let base = if base.len() > 3 {
        base.strip_suffix('e').unwrap_or(&base).to_owned()
    } else {
        base
    };
    match base.strip_suffix('y') {
        Some(left) if left.len() >= 3 => format!("{left}i"),
        _ => base,
    }
}

/// Removes a doubled final consonant: `stopp` → `stop`.
fn undouble(left: &str) -> String {
    let bytes = left.as_bytes();
    match bytes {
        [.., a, b] if a == b && left.len() > 3 && !matches!(b, b'l' | b's' | b'z' | b'e' | b'o') => {
            left[..left.len() - 1].to_owned()
        }
        _ => left.to_owned(),
    }
}

#[cfg(test)]
mod tests;
