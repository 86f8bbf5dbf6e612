//! Features of a claim and its evidence, for the task `groundedness`.

use super::form::Form;
use super::overlap::{Weighted, has_antonym, has_negation, ngram_overlap, subsequence};
use super::question::Question;
use super::relevance::argmax;
use super::view::View;
use super::{Cosines, Features};
use emend_text::Script;

/// The names of the features of [`groundedness`].
pub(crate) const NAMES: &[&str] = &[
    "cosine_passage",
    "cosine_sentence",
    "cosine_gap",
    "cosine_late",
    "cosine_late_low",
    "cosine_late_least",
    "cosine_late_tail",
    "cosine_late_passage",
    "cosine_late_passage_tail",
    "precision",
    "precision_weighted",
    "sentence_precision",
    "pair_precision",
    "missing_rarest",
    "missing_sum",
    "bigrams",
    "trigrams",
    "subsequence",
    "coverage",
    "length_ratio",
    "numbers_missing",
    "numbers_said",
    "names_missing",
    "names_found",
    "negation",
    "negation_added",
    "opposite",
    "is_question",
    "first_person",
    "claim_length",
    "question_known",
    "question_near",
    "question_behind",
    "question_expected",
    "question_echo",
    "question_unit",
    "question_class",
    "question_repeats",
];

/// The features of a claim and one text of evidence.
///
/// A `question` helps with answers that are not sentences. That the evidence contains "1902" means little; that it does
/// so in a passage about the question means more.
pub(crate) fn groundedness(
    claim: &View,
    evidence: &View,
    cosines: Option<&Cosines>,
    question: Option<&Question>,
) -> Features {
    let mut features = Features::default();
    let flag = |value: bool| f64::from(u8::from(value));
    if let Some(cosines) = cosines {
        let (_, cosine, second) = cosines.best();
        features.set("cosine_passage", cosines.passage);
        features.set("cosine_sentence", cosine);
        features.set("cosine_gap", cosine - second);
        if let Some(late) = &cosines.late {
            let best = late.best();
            features.set("cosine_late", best.mean);
            features.set("cosine_late_low", best.low);
            features.set("cosine_late_least", best.least);
            features.set("cosine_late_tail", best.tail);
            features.set("cosine_late_passage", late.passage.mean);
            features.set("cosine_late_passage_tail", late.passage.tail);
        }
    }
    let said = Weighted::new(claim.content());
    let shares = said.shares(evidence, (0, 0), |_| false);
    let (best, sentence_precision) = argmax(&shares);
    let pairs = said.shares(evidence, (0, 1), |_| false).into_iter();
    let words = evidence.sentence_set(best);
    let sequence = claim.sequence();
    let known = evidence.sequence();
    let (rarest, sum) = said.missing(|word| evidence.has(word));
    features.set("precision", said.plain_share(|word| evidence.has(word)));
    features.set("precision_weighted", said.share(|word| evidence.has(word)));
    features.set("sentence_precision", sentence_precision);
    features.set("pair_precision", pairs.fold(sentence_precision, f64::max));
    features.set("missing_rarest", rarest);
    features.set("missing_sum", sum);
    features.set("bigrams", ngram_overlap(sequence, known, 2));
    features.set("trigrams", ngram_overlap(sequence, known, 3));
    features.set("subsequence", subsequence(sequence, evidence.sentence_words(best)));
    let covered = evidence.distinct().filter(|word| claim.has(*word)).count();
    features.set("coverage", covered as f64 / evidence.distinct().count().max(1) as f64);
    features.set(
        "length_ratio",
        (sequence.len() as f64 / known.len().max(1) as f64).min(3.0),
    );

    let numbers = &claim.numbers;
    features.set(
        "numbers_missing",
        numbers
            .iter()
            .filter(|number| !evidence.numbers.contains(*number))
            .count() as f64,
    );
    features.set("numbers_said", flag(!numbers.is_empty()));
    let names = claim.names();
    let found = names
        .iter()
        .filter(|name| evidence.lower.contains(name.as_str()))
        .count();
    features.set("names_missing", (names.len() - found) as f64);
    features.set(
        "names_found",
        if names.is_empty() {
            1.0
        } else {
            found as f64 / names.len() as f64
        },
    );
    let nearest = evidence.sentence(best).to_lowercase();
    let (denies, denied) = (has_negation(&claim.lower), has_negation(&nearest));
    features.set("negation", flag(denies != denied));
    features.set("negation_added", flag(denies && !denied));
    features.set("opposite", flag(has_antonym(claim, &words)));
    features.set("is_question", flag(claim.text.contains(['?', '？'])));
    features.set("first_person", flag(is_first_or_second_person(&claim.lower)));
    features.set("claim_length", (1.0 + sequence.len() as f64).ln());

    let (near, behind, expected, echo) = question.map_or((0.0, 0.0, 0.0, 0.0), |question| {
        question_features(question, claim, (&said, &shares), evidence)
    });
    features.set("question_known", flag(question.is_some()));
    features.set("question_near", near);
    features.set("question_behind", behind);
    features.set("question_expected", expected);
    features.set("question_echo", echo);
    let form = question.map_or(Form::default(), |question| Form::new(question, claim));
    features.set("question_unit", form.unit);
    features.set("question_class", form.class);
    features.set("question_repeats", form.repeats);
    features
}

/// The features of a claim with regard to its question:
///
/// - the share of the question's words in the sentences that best contain the claim
/// - how much larger that share is in the sentence with most of them
/// - whether the claim is of the expected kind
/// - the share of the claim's words that are in the question
fn question_features(
    question: &Question,
    claim: &View,
    (said, shares): (&Weighted, &[f64]),
    evidence: &View,
) -> (f64, f64, f64, f64) {
    let asked = question.weighted.shares(evidence, (0, 0), |_| false);
    let wanted = claim.lower.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let (_, most) = argmax(shares);
    let having: Vec<f64> = shares
        .iter()
        .enumerate()
        .map(|(index, share)| {
            let quoted = !wanted.is_empty() && evidence.sentence(index).to_lowercase().contains(&wanted);
            if quoted { 2.0 } else { *share }
        })
        .collect();
    let top = having.iter().copied().fold(most, f64::max);
    let near = having.iter().zip(&asked).filter(|(having, _)| **having >= top);
    let near = near.map(|(_, asked)| *asked).fold(0.0, f64::max);
    let echo = said.plain_share(|word| question.view.has(word));
    (near, argmax(&asked).1 - near, question.expects(&claim.text), echo)
}

fn is_first_or_second_person(lower: &str) -> bool {
    let padded = format!(" {lower} ");
    [" i ", " i'm ", " i’m ", " my ", " me ", " i've ", " you ", " your "]
        .iter()
        .any(|word| padded.contains(word))
}

/// Whether a claim is a short answer of a few words rather than a sentence.
pub(crate) fn is_fragment(claim: &View) -> bool {
    let text = claim.text.trim();
    if emend_text::ends_sentence(text) && text.chars().count() > 24 {
        return false;
    }
    let size: usize = text
        .chars()
        .filter(|c| c.is_alphanumeric())
        .map(|c| if Script::is_cjk(c) { 2 } else { 1 })
        .sum();
    size <= 36 && claim.sequence().len() <= 16
}

/// Whether the evidence contains the claim verbatim, ignoring case, spaces, punctuation and the marks of Markdown.
pub(crate) fn is_quoted(claim: &View, evidence: &View) -> bool {
    let said = claim.letters();
    !said.is_empty() && (evidence.letters().contains(said) || evidence.unmarked().concat().contains(said))
}

/// Whether the claim is a whole sentence of the evidence, such as an entry of a list or a row of a table, verbatim as for
/// [`is_quoted`].
pub(crate) fn is_whole_sentence(claim: &View, evidence: &View) -> bool {
    let said = claim.letters();
    !said.is_empty() && evidence.unmarked().iter().any(|sentence| sentence == said)
}
