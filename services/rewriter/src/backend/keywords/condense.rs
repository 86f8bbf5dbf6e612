//! A follow-up question made to stand alone, as far as rules reach.
//!
//! A question that leans on nothing stays as it is. One that begins with "and", points back ("it", "그것", "それ", "它") or
//! is cut short ("Opening hours?") gets the topic of the conversation after it, in brackets: `And who wrote it? (Blue
//! Rain)`. That reads as a question, brings the topic's words to a search, and leaves the user's own words alone. A
//! pronoun gives way to the only person who was named, and in "And Busan?" the new name takes the place of the old one.
//!
//! The topic is what the user asked about last: its names and words, the names of what was asked in between, and two names
//! of the last answer. Nothing here understands the conversation: with two topics in one question both come along, a
//! pronoun is not told from another of its kind, a topic in another language is not translated, what was said before the
//! last topic is forgotten, and in languages other than English, Korean, Japanese and Chinese little is recognised.

use emend_proto::v1::ChatMessage;
use emend_proto::v1::chat_message::Role;
use emend_text::{Language, language, words};

use super::reference::{Reference, reference, without_opener};
use super::terms::{Kind, Term, terms};
use emend_core::limits::MAX_QUESTION_BYTES;

/// Terms of the questions in a topic.
const QUESTION_TERMS: usize = 4;
/// Names of the last answer in a topic.
const ANSWER_NAMES: usize = 2;
/// Longest term of a topic in characters; a longer one is a text without spaces.
const MAX_TERM: usize = 60;

/// English words that say what became of a thing rather than which thing it is: a thing with a name needs none of them.
const HAPPENED: &[&str] = &[
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
/// Words with a capital at the start of a message that name nobody, and what people say out of politeness.
const NAMELESS: &[&str] = &[
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

/// `question` as it is asked without the conversation, at most 8 KiB; itself where it stands alone or nothing can be done.
pub(super) fn condensed(question: &str, history: &[ChatMessage]) -> String {
    if history.is_empty() {
        return question.to_owned();
    }
    let fits = |candidate: &String| candidate.len() <= MAX_QUESTION_BYTES;
    let condensed = follow_up(question.trim(), history).filter(fits);
    condensed.unwrap_or_else(|| question.to_owned())
}

/// `question` with what it leaves open; none where it leaves nothing open or nothing is known to close it with.
fn follow_up(question: &str, history: &[ChatMessage]) -> Option<String> {
    let reference = reference(question)?;
    let answered = history.iter().rev().find(|message| message.role() == Role::Assistant);
    let answered_terms = answered.map(|message| named(&message.content)).unwrap_or_default();
    let asked = Asked::last(history);
    let (text, asked_terms) = match &asked {
        Some(asked) => (asked.text.as_str(), asked.terms.as_slice()),
        // The user never asked about anything: what the answer names is all there is.
        None => ("", [].as_slice()),
    };
    if let Some(swapped) = swapped(question, text, asked_terms) {
        return Some(swapped);
    }
    if reference == Reference::Person
        && let Some(name) = person(asked_terms, &answered_terms)
    {
        return Some(with_name(question, &name));
    }
    let topic = topic(question, asked_terms, &answered_terms);
    (!topic.is_empty()).then(|| with_topic(question, &topic))
}

/// What the user asked about last.
struct Asked {
    /// The last question that stood alone.
    text: String,
    /// Its terms, after the names that were asked about since.
    terms: Vec<Term>,
}

impl Asked {
    /// Reads the questions in order: one that stands alone begins a topic, "And Busan?" changes its name, and any other
    /// follow-up adds the names that it brings.
    fn last(history: &[ChatMessage]) -> Option<Self> {
        let mut last: Option<Self> = None;
        for message in history.iter().filter(|message| message.role() == Role::User) {
            let said = message.content.trim();
            let found = named(said);
            if found.is_empty() {
                continue;
            }
            last = Some(match last {
                Some(asked) if reference(said).is_some() => match swapped(said, &asked.text, &asked.terms) {
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

/// `question` with the topic after it, in the brackets of its language.
fn with_topic(question: &str, topic: &[String]) -> String {
    match language(question) {
        Language::Ja | Language::Zh | Language::ZhHant => format!("{question}（{}）", topic.join("、")),
        _ => format!("{question} ({})", topic.join(", ")),
    }
}

/// The question's topic: what was asked about, its names first, and who or what the answer named.
fn topic(question: &str, asked: &[Term], answered: &[Term]) -> Vec<String> {
    let known = words(question);
    let new = |term: &&Term| {
        words(&term.text).iter().any(|word| !known.contains(word)) && term.text.chars().count() <= MAX_TERM
    };
    let has_name = asked.iter().any(|term| term.kind <= Kind::Name);
    let tells = |term: &&Term| !(has_name && term.kind == Kind::Word && is_one_of(HAPPENED, term));
    let mut sorted: Vec<&Term> = asked.iter().filter(new).filter(tells).collect();
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

/// The terms of a message, without those that name nothing.
fn named(message: &str) -> Vec<Term> {
    let mut found = terms(message);
    found.retain(|term| !is_one_of(NAMELESS, term));
    found
}

fn is_one_of(words: &[&str], term: &Term) -> bool {
    words.contains(&term.text.to_lowercase().as_str())
}

/// "What is the population of Seoul?", "And Busan?" → "What is the population of Busan?", where each names one thing.
fn swapped(question: &str, asked: &str, asked_terms: &[Term]) -> Option<String> {
    let rest = without_opener(question);
    let own = terms(rest);
    let [name] = own.as_slice() else { return None };
    let mut names = asked_terms.iter().filter(|term| term.kind == Kind::Name);
    let (Some(old), None) = (names.next(), names.next()) else {
        return None;
    };
    // What follows the opener has to be the name and nothing else.
    let bare = rest.trim_end_matches(['?', '.', '!', ' ']);
    (name.kind == Kind::Name && bare == name.text && asked.contains(&old.text))
        .then(|| asked.replacen(&old.text, &name.text, 1))
}

/// The one person that the last turn was about: the only name of two words or more.
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

/// `question` with `name` in the place of its first pronoun.
fn with_name(question: &str, name: &str) -> String {
    let mut written = String::new();
    let mut rest = question;
    while let Some(start) = rest.find(char::is_alphabetic) {
        let length = rest[start..]
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(rest.len() - start);
        let (word, after) = (&rest[start..start + length], &rest[start + length..]);
        let owns = match word.to_lowercase().as_str() {
            "he" | "him" | "she" => Some(false),
            "his" | "hers" => Some(true),
            // "her" owns what follows it, and is who at the end.
            "her" => Some(after.starts_with(' ')),
            _ => None,
        };
        written.push_str(&rest[..start]);
        if let Some(owns) = owns {
            return format!("{written}{name}{}{after}", if owns { "'s" } else { "" });
        }
        written.push_str(word);
        rest = after;
    }
    question.to_owned()
}

#[cfg(test)]
mod tests;
