//! Extracts search terms from a text in their original form: quoted phrases, names, numbers, and other content words.
//!
//! The index compares stems and character bigrams. A query needs terms that people, models and web search engines can
//! read too.

use std::collections::HashSet;
use std::ops::Range;

use emend_text::{Script, names, rarity, sentences, words};
use unicode_normalization::UnicodeNormalization;

use super::{chinese, japanese, korean};
use crate::queries::normalized;

/// The kind of a term, in the order in which a search should keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Quoted,
    Name,
    Number,
    Word,
}

/// A search term.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    pub(super) text: String,
    pub(super) kind: Kind,
    /// The informativeness, about 0.5–4.
    pub(super) weight: f64,
}

/// Pairs of quotation marks.
const QUOTES: &[(char, char)] = &[
    ('"', '"'),
    ('“', '”'),
    ('„', '“'),
    ('«', '»'),
    ('「', '」'),
    ('『', '』'),
    ('《', '》'),
    ('〈', '〉'),
];
/// Maximum length of a quoted phrase in characters. A longer one is a quotation, not a term.
const MAX_QUOTED: usize = 80;
/// Words that may connect two parts of a name.
const NAME_CONNECTORS: &[&str] = &[
    "of", "the", "de", "del", "della", "der", "den", "di", "da", "do", "du", "la", "le", "van", "von", "bin", "al", "y",
];
/// Request verbs at the start of a sentence, which do not say what is asked for.
pub(super) const REQUESTS: &[&str] = &[
    "explain",
    "describe",
    "tell",
    "list",
    "give",
    "show",
    "define",
    "summarize",
    "summarise",
    "compare",
];
/// CJK counters and date units that follow a number directly.
const UNITS: &[char] = &[
    '年', '月', '日', '人', '個', '个', '回', '円', '元', '歳', '岁', '歲', '世', '号', '號', '時', '时', '分',
];

/// The distinct terms of `text`, in order.
pub(super) fn terms(text: &str) -> Vec<Term> {
    let plain: String = text.nfkc().collect();
    let named: HashSet<String> = names(&plain).into_iter().collect();
    let starts: HashSet<usize> = sentences(&plain).into_iter().map(|range| range.start).collect();
    let japanese = plain
        .chars()
        .any(|c| matches!(Script::of(c), Script::Hiragana | Script::Katakana));
    let mut reader = Reader {
        plain: &plain,
        named,
        starts,
        japanese,
        found: Vec::new(),
    };
    reader.read();
    let mut seen = HashSet::new();
    reader
        .found
        .into_iter()
        .filter(|term| seen.insert(normalized(&term.text)))
        .collect()
}

/// Whether a word is a function word.
pub(super) fn is_filler(word: &str) -> bool {
    !words(word).iter().any(|word| rarity(word) > 0.2)
}

struct Reader<'a> {
    plain: &'a str,
    /// Names in lower case.
    named: HashSet<String>,
    /// Byte offsets of the starts of sentences.
    starts: HashSet<usize>,
    japanese: bool,
    found: Vec<Term>,
}

/// An alphabetic word or a number, which may become part of a longer name.
struct Token<'a> {
    text: &'a str,
    range: Range<usize>,
    is_name: bool,
    is_number: bool,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        let plain = self.plain;
        let mut pending: Vec<Token<'a>> = Vec::new();
        let mut at = 0;
        while let Some(c) = plain[at..].chars().next() {
            if let Some(inner) = quoted(plain, at) {
                self.flush(&mut pending);
                self.push(&plain[inner.clone()], Kind::Quoted);
                at = inner.end + plain[inner.end..].chars().next().map_or(0, char::len_utf8);
                continue;
            }
            match Script::of(c) {
                Script::Alphabet | Script::Digit => {
                    let token = self.token(at);
                    at = token.range.end;
                    // In "in Paris. London" the punctuation separates two names.
                    if pending
                        .last()
                        .is_some_and(|last| !plain[last.range.end..token.range.start].trim_matches(' ').is_empty())
                    {
                        self.flush(&mut pending);
                    }
                    pending.push(token);
                }
                Script::Hangul => {
                    self.flush(&mut pending);
                    let end = run_end(plain, at, |c| Script::of(c) == Script::Hangul);
                    if let Some(word) = korean::content(&plain[at..end]) {
                        self.push(word, Kind::Word);
                    }
                    at = end;
                }
                Script::Han | Script::Hiragana | Script::Katakana => {
                    self.flush(&mut pending);
                    // The middle dot joins the parts of a foreign name.
                    let end = run_end(plain, at, |c| {
                        matches!(Script::of(c), Script::Han | Script::Hiragana | Script::Katakana)
                            || c == '・'
                            || c == '·'
                    });
                    let run = &plain[at..end];
                    let parts = if self.japanese {
                        japanese::content(run)
                    } else {
                        chinese::content(run)
                    };
                    for part in parts {
                        let foreign =
                            part.chars().any(|c| Script::of(c) == Script::Katakana) || part.contains(['・', '·']);
                        self.push(part, if foreign { Kind::Name } else { Kind::Word });
                    }
                    at = end;
                }
                Script::Other => at += c.len_utf8(),
            }
        }
        self.flush(&mut pending);
    }

    /// The word or number that starts at `at`.
    fn token(&self, at: usize) -> Token<'a> {
        let rest = &self.plain[at..];
        let mut end = 0;
        let mut chars = rest.char_indices().peekable();
        while let Some((index, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| Script::of(*next));
            let joins = |c: char| match c {
                '-' | '\'' | '’' | '_' | '&' => matches!(next, Some(Script::Alphabet | Script::Digit)),
                '.' | ',' | ':' => next == Some(Script::Digit) && rest[..index].ends_with(|c: char| c.is_ascii_digit()),
                '+' | '#' => true,
                _ => false,
            };
            let mark = matches!(c, '\u{300}'..='\u{36f}');
            if matches!(Script::of(c), Script::Alphabet | Script::Digit) || mark || joins(c) {
                end = index + c.len_utf8();
            } else {
                break;
            }
        }
        let is_number = rest[..end].chars().all(|c| !c.is_alphabetic());
        let mut consumed = end;
        if is_number {
            let korean = &rest[end..run_end(rest, end, |c| Script::of(c) == Script::Hangul)];
            if let Some(unit) = korean::unit(korean).filter(|unit| !unit.is_empty()) {
                consumed = end + korean.len();
                end += unit.len();
            } else if let Some(unit) = rest[end..].chars().next().filter(|c| UNITS.contains(c)) {
                end += unit.len_utf8();
                consumed = end;
            }
        }
        let text = rest[..end].trim_end_matches(['\'', '’', '-']);
        let text = text
            .strip_suffix("'s")
            .or_else(|| text.strip_suffix("’s"))
            .unwrap_or(text);
        let lower = text.to_lowercase();
        let parts = || {
            lower
                .split(['-', '\'', '’', '_', '&', '+', '#'])
                .chain([lower.as_str()])
        };
        // "GPT-4" and "al-Mansur" are names that do not start with a capitalized word.
        let mixed = text.chars().skip(1).any(char::is_uppercase)
            || (text.chars().any(|c| c.is_ascii_digit()) && text.chars().any(char::is_uppercase));
        let is_name =
            !is_number && (mixed || parts().any(|part| self.named.contains(part))) && !self.is_request(&lower, at);
        Token {
            text,
            range: at..at + consumed,
            is_name,
            is_number,
        }
    }

    fn is_request(&self, lower: &str, at: usize) -> bool {
        lower == "please" || (self.starts.contains(&at) && REQUESTS.contains(&lower))
    }

    /// Converts adjacent tokens to terms, merging names and their connectors into one term.
    fn flush(&mut self, pending: &mut Vec<Token<'a>>) {
        let tokens = std::mem::take(pending);
        let mut first = 0;
        while first < tokens.len() {
            let token = &tokens[first];
            let mut last = first;
            if token.is_name {
                loop {
                    let joined = tokens[last + 1..]
                        .iter()
                        .take(2)
                        .take_while(|next| NAME_CONNECTORS.contains(&next.text))
                        .count();
                    let Some(next) = tokens.get(last + 1 + joined) else {
                        break;
                    };
                    if !(next.is_name || (joined == 0 && next.is_number && next.text.len() <= 3)) {
                        break;
                    }
                    last += 1 + joined;
                }
            }
            let range = token.range.start..tokens[last].range.start + tokens[last].text.len();
            if token.is_name {
                self.push(&self.plain[range], Kind::Name);
            } else if token.is_number {
                self.push(token.text, Kind::Number);
            } else if !is_filler(token.text) && !self.is_request(&token.text.to_lowercase(), token.range.start) {
                self.push(token.text, Kind::Word);
            }
            first = last + 1;
        }
    }

    fn push(&mut self, text: &str, kind: Kind) {
        let text = text.trim();
        let rarest = words(text).iter().map(|word| rarity(word)).fold(0.0, f64::max);
        let weight = match kind {
            Kind::Quoted => 3.0 + rarest / 10.0,
            Kind::Name => 2.0 + rarest / 2.0,
            Kind::Number => 1.8,
            Kind::Word if text.chars().any(Script::is_cjk) => 0.8 + 0.1 * text.chars().count().min(6) as f64,
            Kind::Word => rarest,
        };
        if text.contains(char::is_alphanumeric) {
            self.found.push(Term {
                text: text.to_owned(),
                kind,
                weight,
            });
        }
    }
}

/// The parts of `run` before, between and after the first of `words` that begins at each place.
pub(super) fn between<'a>(run: &'a str, words: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < run.len() {
        if let Some(word) = words.iter().find(|word| run[at..].starts_with(*word)) {
            found.push(&run[start..at]);
            at += word.len();
            start = at;
        } else {
            at += run[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    found.push(&run[start..]);
    found
}

fn run_end(text: &str, start: usize, belongs: impl Fn(char) -> bool) -> usize {
    text[start..]
        .find(|c| !belongs(c))
        .map_or(text.len(), |length| start + length)
}

/// The byte range inside the quotes of the quoted phrase that starts at `at`.
fn quoted(text: &str, at: usize) -> Option<Range<usize>> {
    let open = text[at..].chars().next()?;
    let start = at + open.len_utf8();
    // A mark that closes further away is not of this phrase, and is not sought for every mark that opens.
    let most = text[start..]
        .char_indices()
        .nth(MAX_QUOTED + 2)
        .map_or(text.len(), |(end, _)| start + end);
    let text = &text[..most];
    let end = if open == '\'' || open == '‘' {
        // Within words these marks are apostrophes.
        let free = |c: Option<char>| !c.is_some_and(|c| Script::of(c) == Script::Alphabet);
        if !free(text[..at].chars().next_back()) {
            return None;
        }
        let closes = |(place, c): &(usize, char)| {
            matches!(c, '\'' | '’') && free(text[start + place + c.len_utf8()..].chars().next())
        };
        start + text[start..].char_indices().find(closes)?.0
    } else {
        let (_, close) = QUOTES.iter().find(|(mark, _)| *mark == open)?;
        start + text[start..].find(*close)?
    };
    let inner = &text[start..end];
    let fits = inner.contains(char::is_alphanumeric) && inner.chars().count() <= MAX_QUOTED && !inner.contains('\n');
    fits.then_some(start..end)
}

#[cfg(test)]
mod tests;
