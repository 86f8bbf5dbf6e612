//! Selects the sentences of an extractive answer.
//!
//! Short answers are preferred: the best sentence, and another one only if it covers words of the question that the answer
//! does not cover yet, or if the best one is in doubt and the other nearly as good (two others if no grader would pass it
//! alone); each with the sentences beside it in its paragraph that may answer too. Of a question of several parts each has its
//! own; where the question is how, the steps of a list are quoted whole and in order. A later attempt never repeats an earlier
//! answer (R3).

mod code;
mod entries;
mod paragraph;
mod steps;

use emend_text::{Script, code_blocks, ends_question, ends_sentence};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use emend_evaluator::SentenceScore;
use emend_proto::v1::Passage;

use code::{in_block, whole_lines};
pub(crate) use entries::with_entries;
use paragraph::{Position, Positions};

/// Minimum probability of a further sentence, as a share of the best one's.
const NEARLY: f64 = 0.5;
/// Probability of a sentence below which it is in doubt, and quoted with another one.
const DOUBTFUL: f64 = 0.8;
/// Minimum probability of a sentence with less evidence for it than [`NEARLY`] asks for, as a share of the chosen one's: of one
/// beside it in its paragraph, and of any where the chosen one is no answer that a grader would pass.
const LOOSELY: f64 = 0.35;
/// Minimum word overlap at which a sentence duplicates a selected one.
const SAME: f64 = 0.6;
/// Minimum word overlap at which a sentence duplicates one of its own passage or of the answer so far. It is higher than
/// [`SAME`] because a text names its subject repeatedly, and seldom says the same twice.
const AGAIN: f64 = 0.8;
/// Minimum content words of a sentence to be matched by word overlap.
const TELLING: usize = 3;

/// Most candidates: the best ones. An answer has a hundred sentences at most, and each candidate is compared with those
/// that are chosen, with the answer so far, and once more for each earlier attempt.
const MAX_CANDIDATES: usize = 500;
/// Most sentences of the answer so far with which a candidate is compared by its words: the last ones.
const MAX_SAID: usize = 200;

/// A sentence that may be quoted.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Its occurrences, best first: the index of the passage and the byte range in its text. A sentence may occur in
    /// several passages.
    pub(crate) places: Vec<(usize, Range<usize>)>,
    /// Its text, verbatim but for the marks of Markdown.
    pub(crate) text: String,
    /// Whether it is lines of code, which stay lines.
    pub(crate) is_code: bool,
    /// Probability of answering the question, 0–1.
    pub(crate) probability: f64,
    /// Whether that is enough for an answer to consist of it; others only add to an answer.
    suffices: bool,
    /// Whether an answer that consists of it is UNVERIFIED: it shows where to look, and is quoted with two others.
    pub(crate) is_unlikely: bool,
    /// The part of the question that it answers best.
    part: usize,
    /// Its normalized words, for comparison.
    key: String,
    /// Its content words.
    words: BTreeSet<String>,
    /// Whether it is in Chinese, Japanese or Korean.
    is_cjk: bool,
    /// Whether it is a row of a table: rows have the names of the columns and more in common, and say different things.
    pub(crate) is_row: bool,
    /// The content words of its passage's title and headings, which "it" most often refers to.
    title: BTreeSet<String>,
    /// Where it stands among the sentences of its first passage.
    at: Position,
}

impl Candidate {
    /// Whether it stands in the paragraph, the entry or the row that `other` stands in, or is quoted for its sake.
    pub(crate) fn belongs_to(&self, other: &Self) -> bool {
        self.at.is_in_paragraph_of(other.at)
    }
}

/// The candidate sentences, best first, without duplicates, echoes of the question and headings: those with a probability of at
/// least `answers`, which suffice, and those that could be further sentences of such an answer. A grader passes a quotation of a
/// probability of at least `quote`.
pub(crate) fn candidates(
    question: &str,
    passages: &[Passage],
    scores: &[SentenceScore],
    answers: f64,
    quote: f64,
) -> Vec<Candidate> {
    let asked = content(question);
    let positions = Positions::new(passages, scores);
    let code: Vec<_> = passages.iter().map(|passage| code_blocks(&passage.text)).collect();
    let mut found: Vec<Candidate> = Vec::new();
    let mut by_key: HashMap<String, usize> = HashMap::new();
    for score in scores.iter().filter(|score| score.probability >= LOOSELY * answers) {
        let Some(passage) = passages.get(score.passage) else {
            continue;
        };
        let block = code.get(score.passage).and_then(|code| in_block(code, &score.range));
        let is_code = block.is_some();
        let range = match block {
            Some((block, inside)) => whole_lines(&passage.text, inside, block),
            None => unmarked(&passage.text, score.range.clone()),
        };
        let Some(sentence) = passage.text.get(range.clone()).filter(|text| !text.is_empty()) else {
            continue;
        };
        let is_row = !is_code && sentence.starts_with('|');
        let text = match () {
            () if is_code => sentence.to_owned(),
            // What a row of a table says names its columns, which its own text does not.
            () if is_row => row(emend_text::without_marks(&score.text)),
            () => emend_text::without_marks(sentence),
        };
        let words = content(&text);
        let introduces = || entries::introduces(&passage.text, &range);
        let says_nothing = is_echo(&text, &words, &asked) || is_label(&text);
        if is_layout(sentence, &text) || (says_nothing && !introduces()) {
            continue;
        }
        let key = key(&text);
        match by_key.get(&key) {
            Some(index) => {
                let known = found.get_mut(*index).map(|known| &mut known.places);
                if let Some(places) = known.filter(|places| places.iter().all(|(index, _)| *index != score.passage)) {
                    places.push((score.passage, range));
                }
            }
            None if found.len() >= MAX_CANDIDATES => {}
            None => {
                by_key.insert(key.clone(), found.len());
                found.push(Candidate {
                    places: vec![(score.passage, range)],
                    is_cjk: Script::is_cjk_text(&text),
                    text,
                    is_code,
                    probability: score.probability,
                    suffices: score.probability >= answers,
                    is_unlikely: score.probability < quote,
                    part: score.part,
                    key,
                    is_row,
                    words,
                    title: content(&passage.title_line()),
                    at: positions.of(score),
                });
            }
        }
    }
    found
}

/// Selects at most `most` sentences for attempt number `attempt` (from 1), in document order; empty if none is left.
/// Sentences that `answer_so_far` contains are left out.
///
/// Answers are a function of the request, so earlier attempts are replayed. If an earlier answer has unsupported
/// sentences, those are excluded; otherwise all of its sentences are.
pub(crate) fn select(
    question: &str,
    mut candidates: Vec<Candidate>,
    answer_so_far: &str,
    unsupported: &[String],
    attempt: u32,
    most: usize,
) -> Vec<Candidate> {
    let asked = content(question);
    let said = Said::new(answer_so_far);
    candidates.retain(|candidate| !said.says(candidate));
    let refused: Vec<String> = unsupported
        .iter()
        .map(|sentence| key(sentence))
        .filter(|key| !key.is_empty())
        .collect();
    let is_refused = |candidate: &Candidate| refused.iter().any(|refused| says(refused, &candidate.key));
    for _ in 1..attempt.max(1) {
        let earlier = pick(&asked, &candidates, most);
        if earlier.is_empty() {
            break;
        }
        let partly = earlier
            .iter()
            .any(|index| candidates.get(*index).is_some_and(is_refused));
        let mut index = 0;
        candidates.retain(|candidate| {
            let said = earlier.contains(&index);
            index += 1;
            !(said && (!partly || is_refused(candidate)))
        });
    }
    candidates.retain(|candidate| !is_refused(candidate));
    let chosen = pick(&asked, &candidates, most);
    let mut chosen: Vec<Candidate> = chosen
        .into_iter()
        .filter_map(|index| candidates.get(index).cloned())
        .collect();
    chosen.sort_by_key(|candidate| candidate.places.first().map(|(passage, range)| (*passage, range.start)));
    chosen
}

/// The answer so far, which is continued.
struct Said {
    key: String,
    /// The content words of each of its sentences.
    sentences: Vec<BTreeSet<String>>,
}

impl Said {
    fn new(answer: &str) -> Self {
        let mut ranges = emend_text::sentences(answer);
        let ranges = ranges.split_off(ranges.len().saturating_sub(MAX_SAID)).into_iter();
        Self {
            key: key(answer),
            sentences: ranges
                .filter_map(|range| answer.get(range))
                .map(content)
                .filter(|words| words.len() >= TELLING)
                .collect(),
        }
    }

    /// Whether the answer contains the candidate, verbatim or by word overlap.
    fn says(&self, candidate: &Candidate) -> bool {
        holds(&self.key, &candidate.key)
            || self
                .sentences
                .iter()
                .any(|words| overlap(words, &candidate.words) >= AGAIN)
    }
}

/// The indices of the selected sentences in `candidates`, which are sorted best first; none if the best one does not suffice.
fn pick(asked: &BTreeSet<String>, candidates: &[Candidate], most: usize) -> Vec<usize> {
    let Some(best) = candidates.first().filter(|best| best.suffices) else {
        return Vec::new();
    };
    let covers = |candidate: &Candidate| -> BTreeSet<String> {
        asked
            .iter()
            .filter(|word| candidate.words.contains(*word))
            .cloned()
            .collect()
    };
    let mut chosen = vec![0];
    let mut parts = BTreeSet::from([best.part]);
    // The best for each other part of the question.
    for (index, candidate) in candidates.iter().enumerate().skip(1) {
        if chosen.len() < most && candidate.suffices && parts.insert(candidate.part) {
            chosen.push(index);
        }
    }
    let mut covered = BTreeSet::new();
    for candidate in chosen.iter().filter_map(|index| candidates.get(*index)) {
        covered.extend(covers(candidate));
        covered.extend(asked.intersection(&candidate.title).cloned());
    }
    let (guesses, nearly) = match () {
        () if best.is_unlikely => (2, LOOSELY),
        () if best.probability < DOUBTFUL => (1, NEARLY),
        () => (0, NEARLY),
    };
    for (index, candidate) in candidates.iter().enumerate().skip(1) {
        if chosen.len() >= most || candidate.probability < nearly * best.probability {
            break;
        }
        // What adds to an answer is in its language.
        if chosen.contains(&index) || candidate.is_cjk != best.is_cjk {
            continue;
        }
        let new = covers(candidate);
        let is_guess = chosen.len() < parts.len() + guesses;
        if new.is_subset(&covered) && !is_guess {
            continue;
        }
        let says_the_same = |other: &Candidate| {
            let most = if other.at.is_beside(candidate.at) { AGAIN } else { SAME };
            !(other.is_row && candidate.is_row) && overlap(&other.words, &candidate.words) >= most
        };
        let mut others = chosen.iter().filter_map(|index| candidates.get(*index));
        if !others.any(says_the_same) {
            covered.extend(new);
            chosen.push(index);
        }
    }
    paragraph::complete(&mut chosen, candidates, most);
    chosen
}

/// The overlap coefficient: the size of the intersection over that of the smaller set, 0–1.
fn overlap(left: &BTreeSet<String>, right: &BTreeSet<String>) -> f64 {
    let smaller = left.len().min(right.len());
    if smaller == 0 {
        0.0
    } else {
        left.intersection(right).count() as f64 / smaller as f64
    }
}

fn content(text: &str) -> BTreeSet<String> {
    emend_text::content_words(text).into_iter().collect()
}

fn key(sentence: &str) -> String {
    emend_text::words(sentence).join(" ")
}

/// Whether the words of `short` occur in `long` as a contiguous sequence.
fn holds(long: &str, short: &str) -> bool {
    !short.is_empty() && format!(" {long} ").contains(&format!(" {short} "))
}

/// Whether one sentence contains the other. Graders may split a text differently.
fn says(refused: &str, candidate: &str) -> bool {
    holds(refused, candidate) || holds(candidate, refused)
}

/// Whether a sentence, whose text without marks is `text`, says nothing: a rule of a table, the fence of a code block, an
/// address, the definition of a link, a link alone, or a number that introduces something.
fn is_layout(sentence: &str, text: &str) -> bool {
    let outside = text.split_whitespace().filter(|word| !word.contains("://"));
    let is_link = sentence.starts_with('[') && sentence.ends_with([')', ']']) && !ends_sentence(text);
    sentence.contains("```")
        || sentence.contains("| ---")
        || sentence.contains("|---")
        || !outside.clone().flat_map(str::chars).any(char::is_alphanumeric)
        || (text.ends_with(':') && !outside.flat_map(str::chars).any(char::is_alphabetic))
        || emend_text::is_link_definition(sentence)
        || is_link
}

/// Whether a sentence of a few words announces what it is followed by: `Fixes:`.
fn is_label(text: &str) -> bool {
    text.ends_with([':', '：']) && content(text).len() < TELLING
}

/// What a row of a table says: its values alone where it stands too far below the names of its columns to have them.
fn row(said: String) -> String {
    if !said.starts_with('|') {
        return said;
    }
    let cells = said.split('|').map(str::trim).filter(|cell| !cell.is_empty());
    cells.collect::<Vec<_>>().join("; ")
}

/// Whether a sentence only repeats the question: a question in the text, or a heading.
fn is_echo(sentence: &str, words: &BTreeSet<String>, asked: &BTreeSet<String>) -> bool {
    ends_question(sentence) || (!ends_sentence(sentence) && words.is_subset(asked))
}

/// Strips the marker of a list item, block quote or heading from the start of a range.
fn unmarked(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(sentence) = text.get(range.clone()) else {
        return range;
    };
    let rest = sentence.trim_start_matches(['#', '>', '-', '*', '+', '•', '・', ' ']);
    // Emphasis at the start belongs to the sentence, and so does a minus sign before a number.
    let mark = &sentence[..sentence.len() - rest.len()];
    match mark.char_indices().rev().find(|(_, c)| matches!(c, ' ' | '・')) {
        Some((at, c)) if !rest.is_empty() => range.start + at + c.len_utf8()..range.end,
        _ => range,
    }
}

#[cfg(test)]
mod tests;
