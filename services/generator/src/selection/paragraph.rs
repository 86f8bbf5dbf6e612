//! The sentences beside a selected one, in its paragraph. Which of two sentences of a paragraph answers is often undecided, and
//! what the one leaves out the other one says.

use std::collections::HashMap;
use std::ops::Range;

use emend_evaluator::SentenceScore;
use emend_proto::v1::Passage;

use super::{Candidate, DOUBTFUL, LOOSELY};

/// Most sentences that are added to a selected one.
const MAX_BESIDE: usize = 2;
/// Most characters of a selected sentence with what is added to it.
const MAX_CHARACTERS: usize = 500;

/// Where a sentence stands in a passage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    passage: usize,
    /// The number of its paragraph, list entry or table row.
    paragraph: usize,
    /// Its number among the sentences.
    sentence: usize,
}

impl Position {
    /// Whether both are in one passage.
    pub(super) fn is_beside(self, other: Self) -> bool {
        self.passage == other.passage
    }

    /// Whether both are in one paragraph, list entry or table row.
    pub(super) fn is_in_paragraph_of(self, other: Self) -> bool {
        self.is_beside(other) && self.paragraph == other.paragraph
    }
}

/// Where each sentence stands.
pub(super) struct Positions(HashMap<(usize, usize), Position>);

impl Positions {
    /// `scores` has all sentences of each passage.
    pub(super) fn new(passages: &[Passage], scores: &[SentenceScore]) -> Self {
        let mut in_order: Vec<&SentenceScore> = scores.iter().collect();
        in_order.sort_by_key(|score| (score.passage, score.range.start));
        let mut positions = HashMap::with_capacity(scores.len());
        let mut before: Option<(&SentenceScore, Position)> = None;
        for score in in_order {
            let text = passages.get(score.passage).map_or("", |passage| &passage.text);
            let position = match before {
                Some((last, at)) if last.passage == score.passage => Position {
                    paragraph: at.paragraph + usize::from(!continues(text, &last.range, &score.range)),
                    sentence: at.sentence + 1,
                    ..at
                },
                _ => Position {
                    passage: score.passage,
                    ..Position::default()
                },
            };
            positions.insert((score.passage, score.range.start), position);
            before = Some((score, position));
        }
        Self(positions)
    }

    pub(super) fn of(&self, score: &SentenceScore) -> Position {
        self.0
            .get(&(score.passage, score.range.start))
            .copied()
            .unwrap_or_default()
    }
}

/// Whether a sentence of `text` stands in the paragraph of the one before it.
pub(super) fn continues(text: &str, before: &Range<usize>, after: &Range<usize>) -> bool {
    let between = text.get(before.end..after.start).unwrap_or("\n\n");
    let sentence = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
    between.matches('\n').count() < 2
        && !sentence(before).starts_with(['#', '|'])
        && !emend_text::starts_block(sentence(after))
}

/// Adds to the sentences that were chosen those beside them, the more probable first, at most `most` in all. `candidates`
/// are sorted best first.
pub(super) fn complete(chosen: &mut Vec<usize>, candidates: &[Candidate], most: usize) {
    let by_sentence: HashMap<(usize, usize), usize> = candidates
        .iter()
        .enumerate()
        .map(|(index, candidate)| ((candidate.at.passage, candidate.at.sentence), index))
        .collect();
    let length = |candidate: &Candidate| candidate.text.chars().count();
    for of in 0..chosen.len() {
        let best = chosen.get(of).and_then(|index| candidates.get(*index));
        let Some(best) = best.filter(|best| best.probability < DOUBTFUL) else {
            continue;
        };
        let (mut first, mut last) = (best.at.sentence, best.at.sentence);
        let mut characters = length(best);
        for _ in 0..MAX_BESIDE {
            let beside = [first.checked_sub(1), last.checked_add(1)].into_iter().flatten();
            let beside = beside.filter_map(|sentence| by_sentence.get(&(best.at.passage, sentence)).copied());
            let may_answer = |(_, next): &(usize, &Candidate)| {
                next.at.paragraph == best.at.paragraph
                    && next.probability >= LOOSELY * best.probability
                    && characters + length(next) <= MAX_CHARACTERS
            };
            let beside = beside.filter_map(|index| Some((index, candidates.get(index)?)));
            let Some((index, next)) = beside.filter(may_answer).min_by_key(|(index, _)| *index) else {
                break;
            };
            if !chosen.contains(&index) {
                if chosen.len() >= most {
                    return;
                }
                chosen.push(index);
            }
            characters += length(next);
            first = first.min(next.at.sentence);
            last = last.max(next.at.sentence);
        }
    }
}
