//! Features of a question and an answer, for the task `usefulness`.

use super::form::Form;
use super::kind::Kind;
use super::overlap::{Weighted, ngram_overlap, subsequence};
use super::question::Question;
use super::view::View;
use super::{Cosines, Features};

/// The names of the features of [`usefulness`].
pub(crate) const NAMES: &[&str] = &[
    "cosine_answer",
    "cosine_sentence",
    "cosine_late",
    "cosine_late_low",
    "overlap",
    "overlap_weighted",
    "missing_rarest",
    "missing_sum",
    "bigrams",
    "subsequence",
    "echo",
    "numbers_missing",
    "names_found",
    "expected",
    "unit",
    "class",
    "repeats",
    "has_number",
    "answer_length",
    "is_question",
    "is_fragment",
    "fragment_expected",
    "who_number",
    "when_number",
    "how_many_number",
    "where_number",
    "why_number",
    "how_number",
    "other_number",
    "why_length",
    "how_length",
    "where_length",
    "who_length",
];

/// The features of a question and an answer.
pub(crate) fn usefulness(question: &Question, answer: &View, cosines: Option<&Cosines>) -> Features {
    let mut features = Features::default();
    let flag = |value: bool| f64::from(u8::from(value));
    if let Some(cosines) = cosines {
        features.set("cosine_answer", cosines.passage);
        features.set("cosine_sentence", cosines.best().1);
        if let Some(late) = &cosines.late {
            features.set("cosine_late", late.passage.mean);
            features.set("cosine_late_low", late.passage.low);
        }
    }
    let asked = &question.weighted;
    let (rarest, sum) = asked.missing(|word| answer.has(word));
    features.set("overlap", asked.plain_share(|word| answer.has(word)));
    features.set("overlap_weighted", asked.share(|word| answer.has(word)));
    features.set("missing_rarest", rarest);
    features.set("missing_sum", sum);
    features.set("bigrams", ngram_overlap(question.view.content(), answer.content(), 2));
    features.set("subsequence", subsequence(&question.content, answer.sequence()));
    features.set(
        "echo",
        Weighted::new(answer.content()).plain_share(|word| question.view.has(word)),
    );
    let numbers = &question.view.numbers;
    features.set(
        "numbers_missing",
        numbers
            .iter()
            .filter(|number| !answer.numbers.contains(*number))
            .count() as f64,
    );
    let names = question.view.names();
    let found = names.iter().filter(|name| answer.lower.contains(name.as_str())).count();
    features.set(
        "names_found",
        if names.is_empty() {
            1.0
        } else {
            found as f64 / names.len() as f64
        },
    );
    let expected = question.expects(&answer.text);
    let fragment = super::is_fragment(answer);
    let number = flag(!answer.numbers.is_empty());
    let length = (1.0 + answer.text.chars().count() as f64).ln();
    features.set("expected", expected);
    let form = Form::new(question, answer);
    features.set("unit", form.unit);
    features.set("class", form.class);
    features.set("repeats", form.repeats);
    features.set("has_number", number);
    features.set("answer_length", length);
    features.set("is_question", flag(answer.text.trim_end().ends_with(['?', '？'])));
    features.set("is_fragment", flag(fragment));
    features.set("fragment_expected", if fragment { expected } else { 0.0 });
    for (name, kind) in [
        ("who_number", Kind::Who),
        ("when_number", Kind::When),
        ("how_many_number", Kind::HowMany),
        ("where_number", Kind::Where),
        ("why_number", Kind::Why),
        ("how_number", Kind::How),
        ("other_number", Kind::Other),
    ] {
        features.set(name, if question.kind == kind { number - 0.5 } else { 0.0 });
    }
    for (name, kind) in [
        ("why_length", Kind::Why),
        ("how_length", Kind::How),
        ("where_length", Kind::Where),
        ("who_length", Kind::Who),
    ] {
        features.set(name, if question.kind == kind { length - 3.0 } else { 0.0 });
    }
    features
}

/// Whether an answer is a few words, such as a name or a date, and not a sentence. A sentence ends with a terminator or
/// repeats half of the question.
pub(crate) fn is_bare(question: &Question, answer: &View) -> bool {
    super::is_fragment(answer)
        && !emend_text::ends_sentence(&answer.text)
        && question.weighted.share(|word| answer.has(word)) < 0.5
}
