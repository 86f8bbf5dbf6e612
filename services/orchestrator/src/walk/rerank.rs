//! The order of passages by their grades.

use emend_proto::v1::{Passage, Relevance};

/// The passages with the best grades, at most `most`, the best first: by score, or by relevance where a grade has no score.
/// Those without a grade come last, in the order in which they were found.
pub fn best_first(
    mut passages: Vec<Passage>,
    most: usize,
    grade: impl Fn(&str) -> Option<(Relevance, Option<f64>)>,
) -> Vec<Passage> {
    let score = |passage: &Passage| {
        grade(&passage.id).map_or(f64::NEG_INFINITY, |(relevance, score)| {
            score.unwrap_or_else(|| f64::from(u8::from(relevance == Relevance::Relevant)))
        })
    };
    passages.sort_by(|a, b| score(b).total_cmp(&score(a)));
    passages.truncate(most);
    passages
}
