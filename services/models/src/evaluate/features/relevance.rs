//! Question and passage.

use super::overlap::{opposes, runs, subsequence};
use super::question::Question;
use super::view::View;
use super::{Cosines, Features};

/// The names of the features of [`relevance`].
pub(in crate::evaluate) const NAMES: &[&str] = &[
    "cosine_passage",
    "cosine_sentence",
    "cosine_gap",
    "cosine_lift",
    "cosine_overlap",
    "cosine_expected",
    "cosine_late",
    "cosine_late_low",
    "cosine_late_least",
    "cosine_late_passage",
    "cosine_late_passage_low",
    "overlap",
    "overlap_weighted",
    "missing_rarest",
    "missing_sum",
    "sentence_overlap",
    "pair_overlap",
    "overlap_spread",
    "overlap_mean",
    "bigrams",
    "subsequence",
    "numbers_missing",
    "numbers_asked",
    "names_missing",
    "names_found",
    "names_in_sentence",
    "opposite",
    "expected_passage",
    "expected_sentence",
    "novelty",
];

/// The features of a question and a passage.
pub(in crate::evaluate) fn relevance(question: &Question, passage: &View, cosines: Option<&Cosines>) -> Features {
    let mut features = Features::default();
    let asked = &question.weighted;
    let overlaps: Vec<f64> = passage
        .sets
        .iter()
        .map(|words| asked.share(|word| words.contains(word)))
        .collect();
    let pairs = passage
        .sets
        .windows(2)
        .map(|pair| asked.share(|word| pair.iter().any(|words| words.contains(word))));
    let (best, sentence_overlap) = highest(&overlaps);
    let pair_overlap = pairs.fold(sentence_overlap, f64::max);
    let overlap = asked.share(|word| passage.all.contains(word));
    let sentence = passage.sentence(best);

    if let Some(cosines) = cosines {
        let (place, cosine, second) = cosines.best();
        features.set("cosine_passage", cosines.passage);
        features.set("cosine_sentence", cosine);
        features.set("cosine_gap", cosine - second);
        features.set("cosine_lift", cosine - cosines.passage);
        features.set("cosine_overlap", overlaps.get(place).copied().unwrap_or(0.0));
        features.set("cosine_expected", question.expects(passage.sentence(place)));
        if let Some(late) = &cosines.late {
            let best = late.best();
            features.set("cosine_late", best.mean);
            features.set("cosine_late_low", best.low);
            features.set("cosine_late_least", best.least);
            features.set("cosine_late_passage", late.passage.mean);
            features.set("cosine_late_passage_low", late.passage.low);
        }
    }

    features.set("overlap", asked.plain_share(|word| passage.all.contains(word)));
    features.set("overlap_weighted", overlap);
    let (rarest, sum) = asked.missing(|word| passage.all.contains(word));
    features.set("missing_rarest", rarest);
    features.set("missing_sum", sum);
    features.set("sentence_overlap", sentence_overlap);
    features.set("pair_overlap", pair_overlap);
    features.set("overlap_spread", overlap - sentence_overlap);
    features.set(
        "overlap_mean",
        overlaps.iter().sum::<f64>() / overlaps.len().max(1) as f64,
    );
    features.set("bigrams", runs(&question.view.content, &passage.content, 2));
    features.set("subsequence", subsequence(&question.view.content, &passage.words[best]));

    let numbers = &question.view.numbers;
    features.set(
        "numbers_missing",
        numbers
            .iter()
            .filter(|number| !passage.numbers.contains(*number))
            .count() as f64,
    );
    features.set("numbers_asked", f64::from(u8::from(!numbers.is_empty())));
    let names = &question.view.names;
    let lower = sentence.to_lowercase();
    let share = |found: usize| {
        if names.is_empty() {
            1.0
        } else {
            found as f64 / names.len() as f64
        }
    };
    let found = names
        .iter()
        .filter(|name| passage.lower.contains(name.as_str()))
        .count();
    features.set("names_missing", (names.len() - found) as f64);
    features.set("names_found", share(found));
    features.set(
        "names_in_sentence",
        share(names.iter().filter(|name| lower.contains(name.as_str())).count()),
    );

    let opposite = opposes(&question.view.all, &passage.sets[best]);
    features.set("opposite", f64::from(u8::from(opposite)));
    features.set("expected_passage", question.expects(&passage.text));
    features.set("expected_sentence", question.expects(sentence));
    let words = &passage.sets[best];
    let new = words.iter().filter(|word| !question.view.all.contains(*word)).count();
    features.set("novelty", new as f64 / words.len().max(1) as f64);
    features
}

/// The first highest value and its place.
pub(super) fn highest(values: &[f64]) -> (usize, f64) {
    values.iter().enumerate().fold(
        (0, 0.0),
        |best, (place, &value)| if value > best.1 { (place, value) } else { best },
    )
}
