//! Condenses a follow-up question into a standalone one, by rules.
//!
//! A question without a reference to the conversation is unchanged. One that begins with "and", refers back ("it",
//! "그것", "それ", "它") or is elliptic ("Opening hours?") gets the topic of the conversation appended in brackets:
//! `And who wrote it? (Blue Rain)`. That reads as a question, adds the topic's words to a search, and keeps the user's
//! own words. A pronoun is replaced by a person if only one was named, and in "And Busan?" the new name replaces the
//! old one.
//!
//! The topic is what the user asked about last: its names and words, the names asked about since, and two names of the
//! last answer.
//!
//! Limits: there is no language understanding. Two topics in one question are both added, pronouns of the same kind are
//! not distinguished, a topic in another language is not translated, and anything before the last topic is ignored. Few
//! references are recognized in languages other than English, Korean, Japanese and Chinese.

use emend_proto::v1::ChatMessage;
use emend_proto::v1::chat_message::Role;
use emend_text::{Language, language, words};

use super::reference::{Reference, reference, without_opener};
use super::terms::{Kind, Term, terms};
use emend_core::limits::MAX_QUESTION_BYTES;

/// Maximum terms of the questions in a topic.
const QUESTION_TERMS: usize = 4;
/// Maximum names of the last answer in a topic.
const ANSWER_NAMES: usize = 2;
/// Maximum length of a topic term in characters. A longer one is text without spaces.
const MAX_TERM: usize = 60;

/// English words for events rather than things. A topic with a name leaves them out.
const EVENT_WORDS: &[&str] = &[
    "become",
    "became",
    "begin",
    "began",
    "begun",
    "born",
    "build",
    "built",
    "buy",
    "bought",
    "call",
    "called",
    "close",
    "closed",
    "come",
    "comes",
    "came",
    "design",
    "designed",
    "die",
    "died",
    "direct",
    "directed",
    "end",
    "ended",
    "find",
    "found",
    "go",
    "went",
    "happen",
    "happened",
    "invent",
    "invented",
    "live",
    "lived",
    "made",
    "make",
    "off",
    "open",
    "opened",
    "out",
    "paint",
    "painted",
    "play",
    "played",
    "publish",
    "published",
    "release",
    "released",
    "said",
    "say",
    "sell",
    "sold",
    "sing",
    "sang",
    "start",
    "started",
    "take",
    "took",
    "up",
    "win",
    "won",
    "write",
    "wrote",
    "written",
];
/// Capitalized words at the start of a message that are not names, and polite phrases.
const NOT_NAMES: &[&str] = &[
    "anybody",
    "anyone",
    "anything",
    "everybody",
    "everyone",
    "everything",
    "nobody",
    "none",
    "nothing",
    "somebody",
    "someone",
    "something",
    "hello",
    "hey",
    "hi",
    "great",
    "ok",
    "okay",
    "sure",
    "thank",
    "thanks",
    "안녕",
    "안녕하세요",
    "감사",
    "감사합니다",
    "고마워",
    "고마워요",
    "你好",
    "您好",
    "谢谢",
    "謝謝",
];

/// Condenses `question` into a standalone question of at most [`MAX_QUESTION_BYTES`] (8 KiB). Returns it unchanged if
/// it stands alone or its topic is unknown.
pub(super) fn condensed(question: &str, history: &[ChatMessage]) -> String {
    if history.is_empty() {
        return question.to_owned();
    }
    let fits = |candidate: &String| candidate.len() <= MAX_QUESTION_BYTES;
    let condensed = follow_up(question.trim(), history).filter(fits);
    condensed.unwrap_or_else(|| question.to_owned())
}

/// Completes a follow-up question; `None` if it stands alone or its topic is unknown.
fn follow_up(question: &str, history: &[ChatMessage]) -> Option<String> {
    let reference = reference(question)?;
    let answered = history.iter().rev().find(|message| message.role() == Role::Assistant);
    let answered_terms = answered.map(|message| named(&message.content)).unwrap_or_default();
    let asked = QuestionTopic::last(history);
    let (text, asked_terms) = match &asked {
        Some(asked) => (asked.text.as_str(), asked.terms.as_slice()),
        // Without a topic of the user's questions, only the names of the answer are left.
        None => ("", [].as_slice()),
    };
    if let Some(with_replaced_name) = with_replaced_name(question, text, asked_terms) {
        return Some(with_replaced_name);
    }
    if reference == Reference::Person
        && let Some(name) = person(asked_terms, &answered_terms)
    {
        return Some(with_replaced_pronoun(question, &name));
    }
    let topic = topic(question, asked_terms, &answered_terms);
    (!topic.is_empty()).then(|| with_topic(question, &topic))
}

/// The topic of the user's last questions.
struct QuestionTopic {
    /// The last standalone question.
    text: String,
    /// Its terms, after the names that were asked about since.
    terms: Vec<Term>,
}

impl QuestionTopic {
    /// Reads the user's messages in order. A standalone question begins a topic, "And Busan?" replaces its name, and
    /// any other follow-up adds its names.
    fn last(history: &[ChatMessage]) -> Option<Self> {
        let mut last: Option<Self> = None;
        for message in history.iter().filter(|message| message.role() == Role::User) {
            let said = message.content.trim();
            let found = named(said);
            if found.is_empty() {
                continue;
            }
            last = Some(match last {
                Some(asked) if reference(said).is_some() => match with_replaced_name(said, &asked.text, &asked.terms) {
                    Some(text) => Self::new(text),
                    None => asked.with(found),
                },
                _ => Self::new(said.to_owned()),
            });
        }
        last
    }

    fn new(text: String) -> Self {
        Self {
            terms: named(&text),
            text,
        }
    }

    fn with(mut self, found: Vec<Term>) -> Self {
        let mut names: Vec<Term> = found.into_iter().filter(|term| term.kind <= Kind::Name).collect();
        self.terms
            .retain(|term| names.iter().all(|name| name.text != term.text));
        names.append(&mut self.terms);
        Self { terms: names, ..self }
    }
}

/// Appends the topic to `question`, in the brackets of its language.
fn with_topic(question: &str, topic: &[String]) -> String {
    match language(question) {
        Language::Ja | Language::Zh | Language::ZhHant => format!("{question}（{}）", topic.join("、")),
        _ => format!("{question} ({})", topic.join(", ")),
    }
}

/// The topic to append: the terms that were asked about, names first, and the names of the answer.
fn topic(question: &str, asked: &[Term], answered: &[Term]) -> Vec<String> {
    let known = words(question);
    let new = |term: &&Term| {
        words(&term.text).iter().any(|word| !known.contains(word)) && term.text.chars().count() <= MAX_TERM
    };
    let has_name = asked.iter().any(|term| term.kind <= Kind::Name);
    let is_relevant = |term: &&Term| !(has_name && term.kind == Kind::Word && is_one_of(EVENT_WORDS, term));
    let mut sorted: Vec<&Term> = asked.iter().filter(new).filter(is_relevant).collect();
    sorted.sort_by_key(|term| term.kind);
    let mut found: Vec<String> = sorted
        .into_iter()
        .take(QUESTION_TERMS)
        .map(|term| term.text.clone())
        .collect();
    let names = answered.iter().filter(|term| term.kind <= Kind::Name).filter(new);
    for name in names.take(ANSWER_NAMES) {
        if !found.contains(&name.text) {
            found.push(name.text.clone());
        }
    }
    found
}

/// The terms of a message without [`NOT_NAMES`].
fn named(message: &str) -> Vec<Term> {
    let mut found = terms(message);
    found.retain(|term| !is_one_of(NOT_NAMES, term));
    found
}

fn is_one_of(words: &[&str], term: &Term) -> bool {
    words.contains(&term.text.to_lowercase().as_str())
}

/// Replaces the name in the last question: "What is the population of Seoul?", "And Busan?" → "What is the population
/// of Busan?". `None` unless each question names one thing.
fn with_replaced_name(question: &str, asked: &str, asked_terms: &[Term]) -> Option<String> {
    let rest = without_opener(question);
    let own = terms(rest);
    let [name] = own.as_slice() else { return None };
    let mut names = asked_terms.iter().filter(|term| term.kind == Kind::Name);
    let (Some(old), None) = (names.next(), names.next()) else {
        return None;
    };
    // The name must be all that follows the opener.
    let bare = rest.trim_end_matches(['?', '.', '!', ' ']);
    (name.kind == Kind::Name && bare == name.text && asked.contains(&old.text))
        .then(|| asked.replacen(&old.text, &name.text, 1))
}

/// The only person in the last turn: the only name of two words or more.
fn person(asked: &[Term], answered: &[Term]) -> Option<String> {
    let mut names: Vec<&str> = asked
        .iter()
        .chain(answered)
        .filter(|term| term.kind == Kind::Name && term.text.contains(' '))
        .map(|term| term.text.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [name] => Some((*name).to_owned()),
        _ => None,
    }
}

/// Replaces the first pronoun in `question` by `name`.
fn with_replaced_pronoun(question: &str, name: &str) -> String {
    let mut written = String::new();
    let mut rest = question;
    while let Some(start) = rest.find(char::is_alphabetic) {
        let length = rest[start..]
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(rest.len() - start);
        let (word, after) = (&rest[start..start + length], &rest[start + length..]);
        let is_possessive = match word.to_lowercase().as_str() {
            "he" | "him" | "she" => Some(false),
            "his" | "hers" => Some(true),
            // "her" is possessive before a word, and a personal pronoun at the end.
            "her" => Some(after.starts_with(' ')),
            _ => None,
        };
        written.push_str(&rest[..start]);
        if let Some(is_possessive) = is_possessive {
            return format!("{written}{name}{}{after}", if is_possessive { "'s" } else { "" });
        }
        written.push_str(word);
        rest = after;
    }
    question.to_owned()
}

#[cfg(test)]
mod tests;
