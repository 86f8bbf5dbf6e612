//! Features of a question and a passage, for the task `relevance`.

use super::overlap::{has_antonym, has_negation, subsequence};
use super::question::Question;
use super::view::View;
use super::{Cosines, Features};
use emend_text::Language;

/// The names of the features of [`relevance`].
pub(crate) const NAMES: &[&str] = &[
    "cosine_passage",
    "cosine_sentence",
    "cosine_gap",
    "cosine_lift",
    "cosine_late",
    "cosine_late_low",
    "cosine_late_least",
    "cosine_late_passage",
    "cosine_late_passage_low",
    "cosine_late_passage_even",
    "cosine_late_pair",
    "cosine_late_lead",
    "cosine_late_spread",
    "overlap_weighted",
    "missing_rarest",
    "missing_sum",
    "sentence_overlap",
    "pair_overlap",
    "subsequence",
    "numbers_missing",
    "names_missing",
    "names_in_sentence",
    "negation",
    "opposite",
    "expected_passage",
    "expected_sentence",
    "novelty",
    "title_overlap",
    "overlap_titled",
    "sentence_overlap_titled",
    "missing_rarest_titled",
    "missing_sum_titled",
    "names_missing_titled",
    "language_same",
    "language_ja",
    "language_ko",
];

/// The features of a question and a passage.
pub(crate) fn relevance(question: &Question, passage: &View, cosines: Option<&Cosines>) -> Features {
    let mut features = Features::default();
    let asked = &question.weighted;
    let (best, sentence_overlap) = argmax(&asked.shares(passage, (0, 0), |_| false));
    let pairs = asked.shares(passage, (0, 1), |_| false).into_iter();
    let pair_overlap = pairs.fold(sentence_overlap, f64::max);
    let sentence = passage.sentence(best);

    if let Some(cosines) = cosines {
        let (_, cosine, second) = cosines.best();
        features.set("cosine_passage", cosines.passage);
        features.set("cosine_sentence", cosine);
        features.set("cosine_gap", cosine - second);
        features.set("cosine_lift", cosine - cosines.passage);
        if let Some(late) = &cosines.late {
            let best = late.best();
            features.set("cosine_late", best.mean);
            features.set("cosine_late_low", best.low);
            features.set("cosine_late_least", best.least);
            features.set("cosine_late_passage", late.passage.mean);
            features.set("cosine_late_passage_low", late.passage.low);
            features.set("cosine_late_passage_even", late.passage.even);
            features.set("cosine_late_pair", late.pair);
            features.set("cosine_late_lead", late.lead());
            features.set("cosine_late_spread", late.passage.mean - best.mean);
        }
    }

    features.set("overlap_weighted", asked.share(|word| passage.has(word)));
    let (rarest, sum) = asked.missing(|word| passage.has(word));
    features.set("missing_rarest", rarest);
    features.set("missing_sum", sum);
    features.set("sentence_overlap", sentence_overlap);
    features.set("pair_overlap", pair_overlap);
    features.set(
        "subsequence",
        subsequence(&question.content, passage.sentence_words(best)),
    );

    let numbers = &question.view.numbers;
    features.set(
        "numbers_missing",
        numbers
            .iter()
            .filter(|number| !passage.numbers.contains(*number))
            .count() as f64,
    );
    let names = question.view.names();
    let lower = sentence.to_lowercase();
    let missing = |text: &str| names.iter().filter(|name| !text.contains(name.as_str())).count();
    features.set("names_missing", missing(&passage.lower) as f64);
    let in_sentence = names.len() - missing(&lower);
    features.set(
        "names_in_sentence",
        if names.is_empty() {
            1.0
        } else {
            in_sentence as f64 / names.len() as f64
        },
    );
    let flag = |value: bool| f64::from(u8::from(value));
    features.set(
        "negation",
        flag(has_negation(&question.view.lower)) - flag(has_negation(&lower)),
    );
    let words = passage.sentence_set(best);
    let opposite = has_antonym(&question.view, &words);
    features.set("opposite", flag(opposite));
    features.set("expected_passage", question.expects(&passage.text));
    features.set("expected_sentence", question.expects(sentence));
    let new = words.iter().filter(|word| !question.view.has(**word)).count();
    features.set("novelty", new as f64 / words.len().max(1) as f64);
    let titled = |word| passage.has(word) || passage.title.contains(&word);
    let (rarest, sum) = asked.missing(titled);
    features.set("title_overlap", asked.share(|word| passage.title.contains(&word)));
    features.set("overlap_titled", asked.share(titled));
    features.set(
        "sentence_overlap_titled",
        asked.share(|word| words.contains(&word) || passage.title.contains(&word)),
    );
    features.set("missing_rarest_titled", rarest);
    features.set("missing_sum_titled", sum);
    let nowhere = |name: &&String| !passage.lower.contains(*name) && !passage.lower_title.contains(*name);
    features.set("names_missing_titled", names.iter().filter(nowhere).count() as f64);
    // Cosines and word overlap have different ranges in different languages.
    let language = passage.language();
    let asked_in = question.view.language();
    features.set("language_same", flag(language == asked_in));
    features.set("language_ja", flag(language == Language::Ja));
    features.set("language_ko", flag(language == Language::Ko));
    features
}

/// The index of the first maximum, and the maximum; `(0, 0.0)` if no value is positive.
pub(super) fn argmax(values: &[f64]) -> (usize, f64) {
    values.iter().enumerate().fold(
        (0, 0.0),
        |best, (place, &value)| if value > best.1 { (place, value) } else { best },
    )
}
