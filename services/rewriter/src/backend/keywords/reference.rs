//! Detects references of a question to the conversation before it.

use std::collections::HashSet;

use emend_text::{Language, language, names};

use super::elliptic::is_elliptic;
use super::terms::{is_filler, terms};

/// The kind of a reference to the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// A personal pronoun.
    Person,
    /// Another reference, or an elliptic question.
    Other,
}

const PERSON_PRONOUNS: &[&str] = &["he", "him", "his", "she", "her", "hers"];
const THING_PRONOUNS: &[&str] = &[
    "it", "its", "it's", "they", "them", "their", "theirs", "these", "those", "this",
];
/// Words that refer back without a noun.
const BACK_REFERENCES: &[&str] = &["else", "others", "latter", "former"];
/// Pronouns that may have their antecedent earlier in the same question: "Why did Apple move its plant?"
const PRONOUNS_WITH_ANTECEDENT: &[&str] = &["his", "her", "its", "their", "he", "she"];
/// Subordinating conjunctions, after which a pronoun refers to the main clause: "What happens to water when it
/// freezes?"
const SUBORDINATORS: &[&str] = &[
    "after", "although", "as", "because", "before", "if", "once", "since", "than", "that", "until", "when", "while",
];
/// Nouns with which "this" means the present, as in "this year".
const PRESENT_TIMES: &[&str] = &[
    "year",
    "month",
    "week",
    "morning",
    "afternoon",
    "evening",
    "century",
    "season",
];
const OPENERS: &[&str] = &["and", "but", "or", "so", "then", "also"];
const BEFORE_THAT: &[&str] = &[
    "about", "of", "for", "in", "to", "from", "with", "on", "by", "after", "before", "was", "is", "did", "does", "do",
    "like", "than", "is", "were", "are",
];
const AFTER_THAT: &[&str] = &[
    "is", "was", "has", "does", "did", "will", "would", "can", "one", "happen", "happened", "mean", "work",
];
/// Phrases with an expletive "it".
const EXPLETIVE_IT: &[&str] = &[
    "it take",
    "it takes",
    "it took",
    "is it possible",
    "is it true",
    "is it legal",
    "is it safe",
    "is it necessary",
    "is it worth",
    "time is it",
    "does it rain",
];

const KOREAN_POINTERS: &[&str] = &[
    "그것", "그거", "그건", "그게", "이것", "이거", "이건", "저것", "그들", "그녀", "그곳", "거기", "여기", "그때",
    "그중", "그는", "그가", "그를", "그의",
];
const KOREAN_WORDS: &[&str] = &[
    "그",
    "이",
    "걔",
    "그럼",
    "그러면",
    "그렇다면",
    "그런데",
    "그리고",
    "왜",
    "왜요",
];
const JAPANESE_POINTERS: &[&str] = &[
    "それ",
    "その",
    "そこ",
    "そちら",
    "そんな",
    "これ",
    "この",
    "あれ",
    "あの",
    "彼",
    "前者",
    "後者",
    "同氏",
];
const JAPANESE_OPENERS: &[&str] = &["では", "じゃあ", "また", "なぜ", "どうして", "他に", "ほかに"];
const CHINESE_POINTERS: &[&str] = &[
    "它", "他", "她", "这", "這", "那", "其", "此", "该", "該", "前者", "后者", "後者",
];
const CHINESE_OPENERS: &[&str] = &["那么", "那麼", "还有", "還有", "另外", "为什么", "為什麼"];
/// Words in which a demonstrative character is not a reference.
const NOT_DEMONSTRATIVE: &[&str] = &[
    "其他",
    "其它",
    "其实",
    "其實",
    "土耳其",
    "吉他",
    "他人",
    "应该",
    "應該",
    "因此",
    "彼岸",
    "那不勒斯",
    "刹那",
    "剎那",
    "伊比利亚",
];

/// Conjunctions that join a pronoun to its antecedent: "東京タワーとその周辺".
const CONJUNCTIONS: &[&str] = &[
    "と", "や", "、", "，", ",", "과", "와", "및", "和", "及", "与", "與", "跟",
];

/// The reference of `question` to the conversation; `None` if it stands alone.
pub(super) fn reference(question: &str) -> Option<Reference> {
    let question = question.trim();
    let language = language(question);
    let found = match language {
        Language::Ko => korean(question),
        Language::Ja => japanese(question),
        Language::Zh | Language::ZhHant => chinese(question),
        Language::En | Language::Other(_) => english(question),
    };
    found.or_else(|| is_elliptic(question, language).then_some(Reference::Other))
}

/// Strips an opener that only links `question` to the previous one: "And", "What about".
pub(super) fn without_opener(question: &str) -> &str {
    let lower = question.to_lowercase();
    let opener = ["what about", "how about", "and what about", "and"]
        .into_iter()
        .filter(|opener| {
            lower
                .strip_prefix(opener)
                .is_some_and(|rest| rest.starts_with([' ', ',']))
        });
    let length = opener.map(str::len).max().unwrap_or(0);
    question
        .get(length..)
        .unwrap_or(question)
        .trim_start_matches([' ', ','])
        .trim()
}

fn english(question: &str) -> Option<Reference> {
    let lower = question.to_lowercase().replace('’', "'");
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '\''))
        .filter(|word| !word.is_empty())
        .collect();
    let named: HashSet<String> = names(question).into_iter().collect();
    let has_antecedent = |at: usize| {
        let before = words.get(..at).unwrap_or_default();
        let owner = PRONOUNS_WITH_ANTECEDENT.contains(&words[at]) && before.iter().any(|word| named.contains(*word));
        let clause = before.last().is_some_and(|word| SUBORDINATORS.contains(word));
        owner
            || (clause
                && before
                    .iter()
                    .any(|word| !SUBORDINATORS.contains(word) && !is_filler(word)))
    };
    let open: Vec<&str> = (0..words.len())
        .filter(|at| !has_antecedent(*at))
        .map(|at| words[at])
        .collect();
    if open.iter().any(|word| PERSON_PRONOUNS.contains(word)) {
        return Some(Reference::Person);
    }
    let plain = words.join(" ");
    let empty = |word: &str| match word {
        "it" => EXPLETIVE_IT.iter().any(|empty| plain.contains(empty)),
        "this" => words
            .windows(2)
            .any(|pair| pair[0] == "this" && PRESENT_TIMES.contains(&pair[1])),
        _ => false,
    };
    let thing = |word: &&str| BACK_REFERENCES.contains(word) || (THING_PRONOUNS.contains(word) && !empty(word));
    let that = words.iter().enumerate().any(|(at, word)| {
        *word == "that"
            && (at + 1 == words.len()
                || (at > 0 && BEFORE_THAT.contains(&words[at - 1]))
                || words
                    .get(at + 1)
                    .is_some_and(|next| (at == 0 || at == 1) && AFTER_THAT.contains(next)))
    });
    let there = words.last().is_some_and(|word| *word == "there" || *word == "then");
    let opener = words.first().is_some_and(|word| OPENERS.contains(word))
        || plain.starts_with("what about")
        || plain.starts_with("how about");
    let short = words.len() <= 3 && words.iter().all(|word| is_filler(word));
    (open.iter().any(thing) || that || there || opener || short).then_some(Reference::Other)
}

fn korean(question: &str) -> Option<Reference> {
    let words: Vec<&str> = question
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let points = words.iter().enumerate().any(|(at, word)| {
        let points = KOREAN_WORDS.contains(word) || KOREAN_POINTERS.iter().any(|pointer| word.starts_with(pointer));
        points && !at.checked_sub(1).is_some_and(|before| joins(words[before]))
    });
    // "서울은요?" omits what is asked about Seoul.
    let cut = words.len() <= 2
        && words
            .last()
            .is_some_and(|word| word.trim_end_matches('요').ends_with(['은', '는']));
    (points || cut || terms(question).is_empty()).then_some(Reference::Other)
}

fn japanese(question: &str) -> Option<Reference> {
    let plain = blanked(question);
    let points = points(&plain, JAPANESE_POINTERS);
    let opener = JAPANESE_OPENERS.iter().any(|opener| plain.starts_with(opener));
    let ending = plain.trim_end_matches(['?', '？', '。', ' ']);
    let cut = (ending.ends_with('は') && !ending.ends_with("とは"))
        || ending.ends_with("はどう")
        || ending.ends_with("はどうですか");
    (points || opener || cut || terms(question).is_empty()).then_some(Reference::Other)
}

fn chinese(question: &str) -> Option<Reference> {
    let plain = blanked(question);
    let points = points(&plain, CHINESE_POINTERS);
    let ending = plain.trim_end_matches(['?', '？', '。', ' ']);
    let cut = ending.ends_with('呢') && ending.chars().count() <= 12;
    let opener = CHINESE_OPENERS.iter().any(|opener| plain.starts_with(opener)) && ending.chars().count() <= 8;
    (points || cut || opener || terms(question).is_empty()).then_some(Reference::Other)
}

/// Whether `plain` contains one of `pointers` without an antecedent before it.
fn points(plain: &str, pointers: &[&str]) -> bool {
    let places = pointers.iter().flat_map(|pointer| plain.match_indices(pointer));
    places.into_iter().any(|(at, _)| !joins(&plain[..at]))
}

/// Whether `before` contains a term and ends with a conjunction that joins it to what follows.
fn joins(before: &str) -> bool {
    CONJUNCTIONS.iter().any(|joining| before.trim_end().ends_with(joining)) && !terms(before).is_empty()
}

fn blanked(question: &str) -> String {
    NOT_DEMONSTRATIVE
        .iter()
        .fold(question.to_owned(), |text, word| text.replace(word, "＿"))
}

#[cfg(test)]
mod tests;
