//! Support of an answer by evidence, sentence by sentence.

use emend_core::limits::MAX_ANSWER_SENTENCES;
use emend_core::{Scope, Turns, semconv};
use emend_models::verdict::Support as Level;
use emend_proto::place::CodePointOffsets;
use emend_proto::v1::{GradeGroundednessRequest, GradeGroundednessResponse, Sentence, Support};
use tracing::{Instrument, info_span};

use crate::backend::{Backend, Grade, Groundedness};
use crate::error::GradeError;

pub(crate) async fn grade(
    backend: &dyn Backend,
    request: GradeGroundednessRequest,
    scope: &Scope,
) -> Result<GradeGroundednessResponse, GradeError> {
    let GradeGroundednessRequest {
        question,
        passages,
        answer,
        sentences,
    } = request;
    let bytes = answer.len();
    let prepare = move || prepared(&answer, sentences);
    let (mut sentences, is_claim) = Turns::shared().piece(bytes, prepare).await??;
    let mut claims: Vec<&mut Sentence> = sentences
        .iter_mut()
        .zip(is_claim)
        .filter_map(|(sentence, is_claim)| is_claim.then_some(sentence))
        .collect();
    let span = info_span!(
        "grade groundedness",
        { semconv::GEN_AI_EVALUATION_NAME } = "groundedness",
        { semconv::GEN_AI_EVALUATION_SCORE_VALUE } = tracing::field::Empty,
        { semconv::GEN_AI_EVALUATION_SCORE_LABEL } = tracing::field::Empty,
        emend.passages = passages.len(),
        emend.sentences = claims.len(),
        emend.ungraded = tracing::field::Empty,
    );
    let texts: Vec<&str> = claims.iter().map(|sentence| sentence.text.as_str()).collect();
    let graded = backend
        .groundedness(&question, &texts, &passages, scope)
        .instrument(span.clone())
        .await;
    if !texts.is_empty() && graded.grades.iter().all(Grade::is_out_of_time) {
        return Err(GradeError::OutOfTime {
            model_calls: graded.usage.model_calls,
        });
    }
    let (support, score) = overall(&graded.grades);
    for (sentence, grade) in claims.iter_mut().zip(&graded.grades) {
        sentence.support = grade
            .graded()
            .map_or(Support::Ungraded, |grade| level(grade.level))
            .into();
        sentence.support_score = grade.graded().map(|grade| grade.score);
    }
    if let Some(score) = score {
        span.record(semconv::GEN_AI_EVALUATION_SCORE_VALUE, score);
    }
    span.record(semconv::GEN_AI_EVALUATION_SCORE_LABEL, label(support));
    span.record(
        "emend.ungraded",
        graded.grades.iter().filter(|grade| grade.graded().is_none()).count(),
    );
    let levels = score.and_then(|_| levels(&graded.grades));
    Ok(GradeGroundednessResponse {
        support: support.into(),
        score,
        sentences,
        usage: Some(graded.usage),
        fully_supported: levels.map(|(fully, _)| fully),
        partially_supported: levels.map(|(_, partially)| partially),
    })
}

/// The sentences to grade, those of the answer if none are given, each with whether it is a claim. A sentence that abstains
/// is none, so there is nothing to support (R8).
fn prepared(answer: &str, given: Vec<Sentence>) -> Result<(Vec<Sentence>, Vec<bool>), GradeError> {
    let sentences = if given.is_empty() { split(answer) } else { given };
    if sentences.len() > MAX_ANSWER_SENTENCES {
        return Err(GradeError::TooManySentences {
            sentences: sentences.len(),
        });
    }
    let claims = sentences
        .iter()
        .map(|sentence| !emend_text::is_abstention(&sentence.text));
    let claims = claims.collect();
    Ok((sentences, claims))
}

/// Splits an answer into sentences with their spans.
fn split(answer: &str) -> Vec<Sentence> {
    let mut offsets = CodePointOffsets::new(answer);
    emend_text::sentences(answer)
        .into_iter()
        .filter_map(|range| {
            Some(Sentence {
                span: Some(offsets.span(&range)),
                text: answer.get(range)?.to_owned(),
                ..Sentence::default()
            })
        })
        .collect()
}

/// The support and the score of a whole answer. The weakest sentence decides. If grades are
/// missing, the answer is UNGRADED unless a sentence is not supported. An answer without claims has
/// no verdict.
fn overall(grades: &[Grade<Groundedness>]) -> (Support, Option<f64>) {
    let known: Vec<&Groundedness> = grades.iter().filter_map(Grade::graded).collect();
    let has = |level: Level| known.iter().any(|grade| grade.level == level);
    let support = if grades.is_empty() {
        Support::Unspecified
    } else if has(Level::No) {
        Support::NotSupported
    } else if known.len() < grades.len() {
        Support::Ungraded
    } else if has(Level::Partial) {
        Support::PartiallySupported
    } else {
        Support::FullySupported
    };
    // The probability that all sentences are true is at most that of the least probable one.
    let score = (support != Support::Ungraded)
        .then(|| known.iter().map(|grade| grade.score).reduce(f64::min))
        .flatten();
    (support, score)
}

/// The probabilities that the whole answer is fully and partially supported, from the sentences
/// with a grade; `None` if there are none.
///
/// The dependence between sentences is unknown, so these are Fréchet bounds. The probability that
/// all sentences are fully supported is at most that of the least probable one. The probability
/// that any sentence has support is at least that of the most probable one. Partial support lies
/// between the two.
fn levels(grades: &[Grade<Groundedness>]) -> Option<(f64, f64)> {
    let known = || grades.iter().filter_map(Grade::graded);
    let fully = known().map(|grade| grade.fully).reduce(f64::min)?;
    let some = known().map(|grade| grade.fully + grade.partially).reduce(f64::max)?;
    Some((fully, (some - fully).clamp(0.0, 1.0)))
}

fn level(level: Level) -> Support {
    match level {
        Level::Full => Support::FullySupported,
        Level::Partial => Support::PartiallySupported,
        Level::No => Support::NotSupported,
    }
}

fn label(support: Support) -> &'static str {
    match support {
        Support::FullySupported => "fully_supported",
        Support::PartiallySupported => "partially_supported",
        Support::NotSupported => "not_supported",
        Support::Ungraded => "ungraded",
        Support::Unspecified => "no_claims",
    }
}

#[cfg(test)]
mod tests;
