//! The parts of a question that asks for several things.

use std::borrow::Cow;

use super::language::language;
use super::script::Script;
use super::stop::is_stop;
use super::words::content_words;

/// A longer question is one part, in bytes: nobody asks for two things in so many words.
const MAX_BYTES: usize = 1 << 10;
/// Most parts; the last one holds the rest.
const MAX_PARTS: usize = 3;
/// Minimum content words of a part. With fewer it speaks of what another part names: "and how does it work".
const MIN_WORDS: usize = 2;
/// The same in character bigrams.
const MIN_PAIRS: usize = 4;

/// What may stand between two parts.
const BETWEEN: [&str; 15] = [
    "?",
    "？",
    ";",
    "；",
    " and ",
    " und ",
    " et ",
    " y ",
    " e ",
    " en ",
    ",",
    "，",
    "、",
    "그리고",
    "以及",
];
/// Question words in letters.
const ASKING: [&str; 65] = [
    "what", "who", "whom", "whose", "when", "where", "why", "how", "which", "wer", "wen", "wem", "wann", "wo", "wohin",
    "woher", "warum", "wie", "wieviel", "was", "welche", "welcher", "welches", "welchem", "welchen", "qui", "que",
    "quel", "quelle", "quels", "quelles", "où", "quand", "comment", "combien", "pourquoi", "quién", "qué", "cuál",
    "dónde", "cuándo", "cómo", "cuánto", "cuánta", "cuántos", "cuántas", "chi", "quale", "quali", "dove", "quando",
    "quanto", "quanti", "quem", "qual", "onde", "quanto", "quantos", "wat", "waar", "wanneer", "hoe", "hoeveel",
    "welke", "waarom",
];
/// Question words of Korean, Japanese and Chinese, or what is common to several.
const ASKING_CJK: [&str; 33] = [
    "언제",
    "누가",
    "누구",
    "어디",
    "무엇",
    "뭐",
    "몇",
    "얼마",
    "왜",
    "어떻게",
    "어느",
    "어떤",
    "무슨",
    "며칠",
    "誰",
    "だれ",
    "いつ",
    "どこ",
    "何",
    "いくら",
    "いくつ",
    "どの",
    "どう",
    "なぜ",
    "谁",
    "什么",
    "什麼",
    "哪",
    "多少",
    "几",
    "怎么",
    "怎麼",
    "如何",
];

/// Words for "and" in a language, by its code. What is one in Dutch, "en", is a preposition in French and Spanish.
const AND: [(&str, &[&str]); 7] = [
    ("en", &["and"]),
    ("de", &["und"]),
    ("fr", &["et"]),
    ("es", &["y", "e"]),
    ("it", &["e", "ed"]),
    ("pt", &["e"]),
    ("nl", &["en"]),
];
/// Words before two things that are compared with each other, not asked about one by one.
const AMONG: [&str; 7] = ["between", "zwischen", "entre", "tra", "fra", "tussen", "both"];
/// Most words of one of two things.
const MAX_THING: usize = 4;

/// Divides a question into those that it asks, in order; most ask one.
///
/// It is divided after a question mark, at "and", in Chinese, Japanese and Korean at a comma, where something is asked on both
/// sides and either side names what it speaks of: "Who approves leave, and how many days are there?" has two parts, "What is a
/// walk and how does it end?" has one. Two things at its end that the same is asked of are a part each: "price of a Mini and of a
/// Maxi" has the parts "price of a Mini" and "price of a Maxi".
#[must_use]
pub fn parts(question: &str) -> Vec<Cow<'_, str>> {
    let mut found = Vec::new();
    let mut rest = question.trim();
    while rest.len() <= MAX_BYTES && found.len() + 1 < MAX_PARTS {
        let Some((part, next)) = first_part(rest) else { break };
        found.push(Cow::Borrowed(part));
        rest = next;
    }
    if found.is_empty()
        && rest.len() <= MAX_BYTES
        && let Some(things) = of_two_things(rest)
    {
        return things.map(Cow::Owned).into();
    }
    found.push(Cow::Borrowed(rest));
    found
}

/// What a question asks of each of the two things that it ends with. Before both is the same preposition, "for regex and for
/// walkdir", or they look like names, "in Bern and Thun".
fn of_two_things(question: &str) -> Option<[String; 2]> {
    let asked = question.trim_end_matches(|c: char| !c.is_alphanumeric());
    let language = language(question);
    let is_common = |word: &str| is_stop(&word.to_lowercase(), language);
    let words: Vec<&str> = asked.split_whitespace().collect();
    let (_, ands) = AND.iter().find(|(code, _)| *code == language.code())?;
    let and = words.iter().rposition(|word| ands.contains(word))?;
    let (before, after) = (words.get(..and)?, words.get(and + 1..)?);
    let common = before.iter().rposition(|word| is_common(word))?;
    let (head, first) = before.split_at(common + 1);
    let second = match after.split_first()? {
        (preposition, second) if head.last()?.eq_ignore_ascii_case(preposition) => second,
        _ if is_name(first.first()?) && is_name(after.first()?) => after,
        _ => return None,
    };
    let is_thing = |words: &[&str]| (1..=MAX_THING).contains(&words.len()) && !words.iter().any(|word| is_common(word));
    let head = head.join(" ");
    let is_compared = words.iter().any(|word| AMONG.contains(&word.to_lowercase().as_str()));
    let is_divided = is_thing(first) && is_thing(second) && !is_compared && !content_words(&head).is_empty();
    is_divided.then(|| [first, second].map(|thing| format!("{head} {}", thing.join(" "))))
}

/// Whether a word looks like a name: with a capital letter, a digit, or a mark inside.
fn is_name(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.chars()
        .any(|c| c.is_uppercase() || c.is_numeric() || matches!(c, '_' | '-' | '.' | '/'))
}

/// The first part of a question, and what is left of it.
fn first_part(question: &str) -> Option<(&str, &str)> {
    let mut cuts: Vec<(usize, usize)> = BETWEEN
        .iter()
        .flat_map(|mark| question.match_indices(mark))
        .map(|(at, mark)| (at, at + mark.len()))
        .collect();
    cuts.sort_unstable();
    cuts.into_iter().find_map(|(end, start)| {
        let part = question.get(..end)?.trim().trim_end_matches(',');
        let next = question.get(start..)?.trim();
        // After a comma alone "which" says more of the same.
        let is_listed = question.get(end..start) == Some(",") && !has_cjk(next);
        (!is_listed && is_part(part) && begins_part(next)).then_some((part, next))
    })
}

/// Whether a text asks for something that it names.
fn is_part(text: &str) -> bool {
    let is_asking = match has_cjk(text) {
        true => ASKING_CJK.iter().any(|word| text.contains(word)),
        false => words(text).any(|word| ASKING.contains(&word.as_str())),
    };
    is_asking && content_words(text).len() >= if has_cjk(text) { MIN_PAIRS } else { MIN_WORDS }
}

/// Whether a text begins with a part: in letters with a question word, with another word before it at most.
fn begins_part(text: &str) -> bool {
    let begins = || words(text).take(2).any(|word| ASKING.contains(&word.as_str()));
    (has_cjk(text) || begins()) && is_part(text)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

fn has_cjk(text: &str) -> bool {
    text.chars().any(Script::is_cjk)
}

#[cfg(test)]
mod tests;
