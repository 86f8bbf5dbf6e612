//! Features of a question and each sentence of a passage, for the task `answer`: which sentence holds the answer?

use super::kind::Kind;
use super::overlap::{has_antonym, has_negation, subsequence};
use super::question::Question;
use super::relevance::argmax;
use super::view::{View, word};
use super::{Cosines, Features, Late};

/// The names of the features of [`answer_sentences`].
pub(crate) const NAMES: &[&str] = &[
    "cosine_sentence",
    "cosine_passage",
    "cosine_behind",
    "cosine_lead",
    "cosine_late",
    "cosine_late_low",
    "cosine_late_even",
    "cosine_late_with_before",
    "cosine_late_behind",
    "cosine_late_passage",
    "overlap",
    "overlap_plain",
    "overlap_behind",
    "overlap_around",
    "overlap_passage",
    "missing_rarest",
    "subsequence",
    "names_in_sentence",
    "names_rest",
    "names_missing",
    "numbers_missing",
    "negation",
    "opposite",
    "expected",
    "novelty",
    "length",
    "letters",
    "ends",
    "lines",
    "language_same",
    "rank",
    "is_first",
    "title_overlap",
    "overlap_titled",
    "overlap_high",
    "overlap_rest",
    "overlap_rest_behind",
    "first_place",
    "missing_rarest_titled",
    "names_missing_titled",
    "is_question",
    "is_heading",
    "position",
    "is_row",
    "is_item",
    "has_code",
    "asks_how_item",
    "asks_how_code",
    "asks_who_expected",
    "asks_when_expected",
    "asks_how_many_expected",
    "asks_where_expected",
    "asks_why_expected",
];

/// Whether a sentence repeats all content words of the question, at least two and in their order, and adds something:
/// "The team lead approves leave within three days." for "Who approves leave?". Half of the words may be in the title or a
/// heading instead: "The team lead approves it within three days." in a page about leave. A line that is neither a sentence nor
/// a row, such as a title or a setting, only has the same words; and what says that something is so says neither how nor why.
pub(crate) fn restates_question(question: &Question, features: &Features) -> bool {
    let value = |name: &str| features.get(name).unwrap_or_default();
    let is = |name: &str, holds: fn(f64) -> bool| features.get(name).is_some_and(holds);
    question.content.len() >= 2
        && !matches!(question.kind, Kind::How | Kind::Why)
        && (value("ends") > 0.0 || value("is_row") > 0.0)
        && is("overlap_titled", |share| share > 0.999)
        && is("overlap_plain", |share| share >= 0.5)
        && value("subsequence") > value("overlap_plain") - 0.001
        && is("novelty", |share| share >= 0.5)
        && ["opposite", "names_missing_titled", "numbers_missing", "negation"]
            .iter()
            .all(|name| is(name, |value| value == 0.0))
}

/// Whether a sentence says no more than a question for how or why does, but for what is in brackets: "Back up the
/// collections (below)." to "How do I back up a collection?". One that introduces something, "To back up a collection:", is
/// not meant.
pub(crate) fn repeats_question(question: &Question, sentence: &str) -> bool {
    let is_known = |own: &String| question.content.contains(&word(own));
    matches!(question.kind, Kind::How | Kind::Why)
        && !sentence.trim_end_matches(['*', '_']).ends_with([':', '：'])
        && emend_text::content_words(&without_brackets(without_number(sentence)))
            .iter()
            .all(is_known)
}

/// A text without what stands in round brackets.
fn without_brackets(text: &str) -> String {
    let mut depth = 0_usize;
    let outside = text.chars().filter(|c| {
        match c {
            '(' | '（' => depth += 1,
            ')' | '）' if depth > 0 => {
                depth -= 1;
                return false;
            }
            _ => {}
        }
        depth == 0
    });
    outside.collect()
}

/// Whether a sentence is a heading.
pub(crate) fn is_heading(features: &Features) -> bool {
    features.get("is_heading").is_some_and(|value| value > 0.0)
}

/// Whether a heading has a date and all numbers of a question that asks when, `## 2.1.0 (2024-05-06)` in a list of changes.
pub(crate) fn is_dated_heading(question: &Question, features: &Features, heading: &str) -> bool {
    let has_date = features.get("expected").is_some_and(|value| value > 0.5);
    let numbers = emend_text::numbers(heading);
    let asked = &question.view.numbers;
    question.kind == Kind::When && has_date && !asked.is_empty() && asked.iter().all(|number| numbers.contains(number))
}

/// The features that a question of the passage would have as a sentence; `None` for any other sentence.
pub(crate) fn question_as_sentence(features: &Features) -> Option<Features> {
    let is_question = features.get("is_question").is_some_and(|value| value > 0.0);
    is_question.then(|| features.clone().with("is_question", 0.0).with("is_heading", 0.0))
}

/// The features of a question and each sentence of a passage, in order.
pub(crate) fn answer_sentences(question: &Question, passage: &View, cosines: Option<&Cosines>) -> Vec<Features> {
    let asked = &question.weighted;
    let in_title = |word| passage.title.contains(&word);
    let overlaps = asked.shares(passage, (0, 0), |_| false);
    // The name that a pronoun refers to is often in the sentence before.
    let around = asked.shares(passage, (1, 1), |_| false);
    let titled = asked.shares(passage, (0, 0), in_title);
    let plain = asked.plain_shares(passage);
    let title_overlap = asked.share(in_title);
    // What title and headings say need not be said again below them.
    let rest = asked.without(in_title);
    let of_rest = rest.shares(passage, (0, 0), |_| false);
    let (_, best_of_rest) = argmax(&of_rest);
    let (_, best_overlap) = argmax(&overlaps);
    let whole = asked.share(|word| passage.has(word));
    let names = question.view.names();
    let names_beyond_title = names.iter().filter(|name| !passage.lower_title.contains(name.as_str()));
    let names_beyond_title: Vec<&String> = names_beyond_title.collect();
    let missing_names = names
        .iter()
        .filter(|name| !passage.lower.contains(name.as_str()))
        .count();
    let missing_numbers = question
        .view
        .numbers
        .iter()
        .filter(|number| !passage.numbers.contains(*number))
        .count();
    let flag = |value: bool| f64::from(u8::from(value));

    let same_language = question.view.language() == passage.language();
    let asked_negation = flag(has_negation(&question.view.lower));
    let best_cosines = cosines.map(Cosines::best);
    let best_late = cosines.and_then(|cosines| cosines.late.as_ref()).map(Late::best);

    (0..passage.sentences.len())
        .map(|index| {
            let mut features = Features::default();
            let sentence = passage.sentence(index);
            let lower = sentence.to_lowercase();
            let words = passage.sentence_set(index);
            if let Some((cosines, (place, best, second))) = cosines.zip(best_cosines) {
                let own = cosines.sentences.get(index).copied().unwrap_or(cosines.passage);
                features.set("cosine_sentence", own);
                features.set("cosine_passage", cosines.passage);
                features.set("cosine_behind", best - own);
                features.set("cosine_lead", if place == index { best - second } else { 0.0 });
                if let Some((late, best)) = cosines.late.as_ref().zip(best_late) {
                    let own = late.sentences.get(index).copied().unwrap_or(late.passage);
                    features.set("cosine_late", own.mean);
                    features.set("cosine_late_low", own.low);
                    features.set("cosine_late_even", own.even);
                    let with_before = late.with_before.get(index).copied().unwrap_or(own.low);
                    features.set("cosine_late_with_before", with_before);
                    features.set("cosine_late_behind", best.mean - own.mean);
                    features.set("cosine_late_passage", late.passage.mean);
                }
            }
            features.set("overlap", overlaps[index]);
            features.set("overlap_plain", plain[index]);
            features.set("overlap_behind", best_overlap - overlaps[index]);
            features.set("overlap_around", around[index]);
            features.set("overlap_passage", whole);
            features.set("missing_rarest", asked.missing_rarest(|word| words.contains(&word)));
            features.set(
                "subsequence",
                subsequence(&question.content, passage.sentence_words(index)),
            );
            let found = share_of(names, |name| lower.contains(name.as_str()));
            features.set("names_in_sentence", found);
            let found = share_of(&names_beyond_title, |name| lower.contains(name.as_str()));
            features.set("names_rest", found);
            features.set("names_missing", missing_names as f64);
            features.set("numbers_missing", missing_numbers as f64);
            features.set("negation", asked_negation - flag(has_negation(&lower)));
            features.set("opposite", flag(has_antonym(&question.view, &words)));
            let expected = question.expects(sentence);
            features.set("expected", expected);
            let new = words.iter().filter(|word| !question.view.has(**word)).count();
            features.set("novelty", new as f64 / words.len().max(1) as f64);
            features.set("length", (1.0 + sentence.chars().count() as f64).ln());
            features.set("letters", letter_share(sentence));
            features.set("ends", flag(emend_text::ends_sentence(sentence)));
            features.set("lines", sentence.lines().count() as f64);
            features.set("language_same", flag(same_language));
            features.set("rank", (1.0 + passage.rank as f64).ln());
            features.set("is_first", flag(passage.rank == 0));
            features.set("title_overlap", title_overlap);
            features.set("overlap_titled", titled[index]);
            features.set("overlap_high", (titled[index] - 0.5).max(0.0));
            features.set("overlap_rest", of_rest[index]);
            features.set("overlap_rest_behind", best_of_rest - of_rest[index]);
            features.set("first_place", rest.first_place(passage.sentence_words(index)));
            let rarest = asked.missing_rarest(|word| words.contains(&word) || in_title(word));
            features.set("missing_rarest_titled", rarest);
            let nowhere = |name: &&String| !lower.contains(*name) && !passage.lower_title.contains(*name);
            features.set("names_missing_titled", names.iter().filter(nowhere).count() as f64);
            let without_emphasis = sentence.trim_end_matches(['*', '_']);
            features.set("is_question", flag(without_emphasis.ends_with(['?', '？'])));
            features.set("is_heading", flag(is_heading_line(sentence)));
            features.set("position", (1.0 + index as f64).ln());
            let (item, code) = (flag(is_list_item(sentence)), flag(has_code(sentence)));
            let asks_how = flag(question.kind == Kind::How);
            features.set("is_row", flag(passage.is_row(index)));
            features.set("is_item", item);
            features.set("has_code", code);
            features.set("asks_how_item", asks_how * item);
            features.set("asks_how_code", asks_how * code);
            for (name, kind) in [
                ("asks_who_expected", Kind::Who),
                ("asks_when_expected", Kind::When),
                ("asks_how_many_expected", Kind::HowMany),
                ("asks_where_expected", Kind::Where),
                ("asks_why_expected", Kind::Why),
            ] {
                features.set(name, if question.kind == kind { expected - 0.5 } else { 0.0 });
            }
            features
        })
        .collect()
}

/// Whether a sentence is a heading, also one that is underlined, or the names of the columns of a table with the rule below
/// them.
fn is_heading_line(sentence: &str) -> bool {
    let is_rule = |line: &str| line.len() >= 3 && ["=", "-"].iter().any(|mark| line.replace(mark, "").is_empty());
    let is_underlined = |(title, line): (&str, &str)| is_rule(line.trim()) && !emend_text::ends_sentence(title.trim());
    sentence.starts_with('#')
        || (sentence.starts_with('|') && sentence.contains("---"))
        || sentence.split_once('\n').is_some_and(is_underlined)
}

/// A sentence without the number of an item of a list before it.
fn without_number(sentence: &str) -> &str {
    let rest = sentence.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(['.', ')']) {
        Some(item) if rest.len() < sentence.len() => item,
        _ => sentence,
    }
}

/// Whether a sentence is an item of a list.
fn is_list_item(sentence: &str) -> bool {
    without_number(sentence).len() < sentence.len()
        || ["- ", "* ", "• ", "・", "+ "]
            .iter()
            .any(|mark| sentence.starts_with(mark))
}

/// Whether a sentence is of a file for machines: a member of JSON, a template, a function, the beginning or end of a block.
pub(crate) fn is_markup(sentence: &str) -> bool {
    let line = sentence.trim();
    let member = line.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    member.is_some_and(|(_, rest)| rest.trim_start().starts_with(':'))
        || ["{{", "}}", "{ ", ") {", "*/"].iter().any(|mark| line.contains(mark))
        || line.starts_with(['{', '}', ']'])
        || line.ends_with(['{', '}', '[', ';', '\\'])
}

/// Whether a sentence is how a command is called, `grep [-n] [-A num] pattern [file ...]`: its options without what they do.
pub(crate) fn is_usage(sentence: &str) -> bool {
    let words = || sentence.split_whitespace();
    let is_optional =
        |word: &&str| word.starts_with('[') || word.starts_with('-') || matches!(*word, "]" | "|" | "...");
    let count = words().filter(is_optional).count();
    count >= 4 && count * 3 >= words().count()
}

/// Whether a sentence quotes code, an option or a command.
fn has_code(sentence: &str) -> bool {
    let is_option = |(at, mark): (usize, &str)| sentence[at + mark.len()..].starts_with(char::is_alphabetic);
    ["`", "::", "()", "</"].iter().any(|mark| sentence.contains(mark))
        || sentence.starts_with("$ ")
        || sentence.match_indices("--").any(is_option)
}

/// The share of `items` that match, 0–1; 1 if there are none.
fn share_of<T>(items: &[T], matches: impl Fn(&T) -> bool) -> f64 {
    if items.is_empty() {
        return 1.0;
    }
    items.iter().filter(|item| matches(item)).count() as f64 / items.len() as f64
}

/// The share of letters among the characters that are not white space, 0–1. Logs, paths and tables of numbers have few.
fn letter_share(sentence: &str) -> f64 {
    let (letters, all) = sentence
        .chars()
        .filter(|c| !c.is_whitespace())
        .fold((0_usize, 0_usize), |(letters, all), c| {
            (letters + usize::from(c.is_alphabetic()), all + 1)
        });
    letters as f64 / all.max(1) as f64
}
