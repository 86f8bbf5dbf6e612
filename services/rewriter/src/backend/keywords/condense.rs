//! A follow-up question made to stand alone, as far as rules reach: its topic is put before it.

use emend_models::text::words;
use emend_proto::v1::ChatMessage;
use emend_proto::v1::chat_message::Role;

use super::reference::{Reference, reference, without_opener};
use super::terms::{Kind, Term, terms};

/// Terms of the last question in a topic.
const QUESTION_TERMS: usize = 4;
/// Names of the last answer in a topic.
const ANSWER_NAMES: usize = 2;

/// Ways to ask `question` without the conversation, best first. A question that stands alone stays as it is.
pub(super) fn candidates(question: &str, history: &[ChatMessage]) -> Vec<String> {
    let question = question.trim();
    let Some(reference) = reference(question) else {
        return vec![question.to_owned()];
    };
    let Some(asked) = last_question(history) else {
        return vec![question.to_owned()];
    };
    let asked_terms = terms(&asked.content);
    let answered = history.iter().rev().find(|message| message.role() == Role::Assistant);
    let answered_terms = answered.map(|message| terms(&message.content)).unwrap_or_default();
    let mut found = Vec::new();
    found.extend(swapped(question, &asked.content, &asked_terms));
    if reference == Reference::Person {
        found.extend(person(&asked_terms, &answered_terms).map(|name| with_name(question, &name)));
    }
    let topic = topic(question, &asked_terms, &answered_terms);
    if topic.is_empty() {
        found.push(question.to_owned());
    } else {
        found.push(format!("{}: {question}", topic.join(" ")));
        found.push(format!("{question} ({})", topic.join(", ")));
    }
    found
}

/// The last question of the user with a term in it: "And why?" has none, the one before it does.
fn last_question(history: &[ChatMessage]) -> Option<&ChatMessage> {
    let asked = || history.iter().rev().filter(|message| message.role() == Role::User);
    asked()
        .find(|message| reference(&message.content).is_none() && !terms(&message.content).is_empty())
        .or_else(|| asked().find(|message| !terms(&message.content).is_empty()))
}

/// The question's topic: what was asked about, its names first, and who or what the answer named.
fn topic(question: &str, asked: &[Term], answered: &[Term]) -> Vec<String> {
    let known = words(question);
    let new = |term: &&Term| words(&term.text).iter().any(|word| !known.contains(word));
    let mut sorted: Vec<&Term> = asked.iter().filter(new).collect();
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
    (name.kind == Kind::Name && bare == name.text && rest.len() < question.len() && asked.contains(&old.text))
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
mod tests {
    use super::*;

    fn condensed(history: &[&str], question: &str) -> String {
        let roles = [Role::User, Role::Assistant].into_iter().cycle();
        let history: Vec<ChatMessage> = history
            .iter()
            .zip(roles)
            .map(|(content, role)| ChatMessage {
                role: role.into(),
                content: (*content).to_owned(),
            })
            .collect();
        candidates(question, &history).remove(0)
    }

    #[test]
    fn a_question_that_stands_alone_is_left_alone() {
        let history = ["Where is the old mill?", "By the river Enz."];
        assert_eq!(
            condensed(&history, "How tall is Mount Kenya?"),
            "How tall is Mount Kenya?"
        );
        assert_eq!(condensed(&[], "How tall is it?"), "How tall is it?");
        assert_eq!(condensed(&["Why?", "Because."], "How tall is it?"), "How tall is it?");
    }

    #[test]
    fn the_topic_is_put_before_a_follow_up() {
        for (history, question, expected) in [
            (
                vec!["Where is the lighthouse of Cape Orna?", "It is in Velland."],
                "When was it built?",
                "Cape Orna lighthouse Velland: When was it built?",
            ),
            (
                vec!["What heats the old mill?", "A boiler.", "Why?", "It was cheap."],
                "Who installed it?",
                "heats old mill: Who installed it?",
            ),
            (
                vec!["한라산의 높이는 얼마인가요?", "1947m입니다."],
                "그것은 어디에 있나요?",
                "한라산 높이: 그것은 어디에 있나요?",
            ),
            (
                vec!["東京タワーの高さはどのくらいですか", "333メートルです。"],
                "それはいつ建てられましたか",
                "東京タワー 高 メートル: それはいつ建てられましたか",
            ),
            (
                vec!["埃菲尔铁塔在哪里？", "在巴黎。"],
                "它是什么时候建成的？",
                "埃菲尔铁塔: 它是什么时候建成的？",
            ),
        ] {
            assert_eq!(condensed(&history, question), expected);
        }
    }

    #[test]
    fn a_pronoun_gives_way_to_the_only_person_named() {
        let history = ["Who wrote Blue Rain?", "Blue Rain was written by Nina Holt in 1984."];
        let two_names = condensed(&history, "Where was she born?");
        assert!(
            two_names.contains("Blue Rain") && two_names.contains("Nina Holt"),
            "{two_names}"
        );
        let history = ["Who wrote Dustland?", "It was written by Nina Holt in 1984."];
        assert_eq!(condensed(&history, "Where was she born?"), "Where was Nina Holt born?");
        assert_eq!(
            condensed(&history, "What is her best novel?"),
            "What is Nina Holt's best novel?"
        );
        assert_eq!(condensed(&history, "Who met her?"), "Who met Nina Holt?");
    }

    #[test]
    fn one_name_takes_the_place_of_another() {
        let history = ["What is the population of Seoul?", "About 9 million."];
        assert_eq!(condensed(&history, "And Busan?"), "What is the population of Busan?");
        assert_eq!(
            condensed(&history, "What about Busan?"),
            "What is the population of Busan?"
        );
    }
}
