//! Decompose-then-recompose: cuts passages into strips and keeps the best, in the order of the
//! text.

use std::ops::Range;
use std::sync::Arc;

use emend_core::{Scope, Turns, semconv};
use emend_proto::place::CodePointOffsets;
use emend_proto::v1::{Passage, RefineKnowledgeRequest, RefineKnowledgeResponse, Strip};
use tracing::{Instrument, Span, info_span};

use crate::backend::{Backend, Grade, Strips, title_lines};
use crate::error::GradeError;
use crate::strips::Cut;

/// Most strips of one request, of all passages together.
const MAX_CUT_STRIPS: usize = 2000;
/// Default number of strips to keep, that of Corrective RAG.
const KEPT: u32 = 5;

pub(crate) async fn refine(
    backend: &dyn Backend,
    request: RefineKnowledgeRequest,
    scope: &Scope,
) -> Result<RefineKnowledgeResponse, GradeError> {
    let threshold = request.threshold.unwrap_or(backend.thresholds().strip);
    let most = usize::try_from(request.max_strips.unwrap_or(KEPT)).unwrap_or(usize::MAX);
    let unit = Cut::of(request.unit(), request.size);
    let passages: Arc<[Passage]> = request.passages.into();
    let cuts = cut(&passages, unit).await?;
    let span = info_span!(
        "grade strips",
        { semconv::GEN_AI_EVALUATION_NAME } = "relevance",
        { semconv::GEN_AI_EVALUATION_SCORE_VALUE } = tracing::field::Empty,
        emend.passages = passages.len(),
        emend.strips = cuts.iter().map(Vec::len).sum::<usize>(),
        emend.kept = tracing::field::Empty,
        emend.ungraded = tracing::field::Empty,
    );
    let titles = title_lines(passages.iter());
    let titled = passages.iter().zip(&titles);
    let groups: Vec<Strips<'_>> = titled
        .zip(&cuts)
        .filter(|(_, ranges)| !ranges.is_empty())
        .map(|((passage, title), ranges)| Strips {
            title,
            texts: ranges.iter().map(|range| &passage.text[range.clone()]).collect(),
        })
        .collect();
    let graded = backend
        .strips(&request.question, &groups, scope)
        .instrument(span.clone())
        .await;
    if !graded.grades.is_empty() && graded.grades.iter().all(Grade::is_out_of_time) {
        return Err(GradeError::OutOfTime {
            model_calls: graded.usage.model_calls,
        });
    }
    let kept = kept(&graded.grades, threshold, most);
    record(&span, &graded.grades, &kept);
    let places = passages.iter().zip(&cuts).flat_map(|(passage, ranges)| {
        let mut offsets = CodePointOffsets::new(&passage.text);
        ranges.iter().map(move |range| Strip {
            passage_id: passage.id.clone(),
            text: passage.text[range.clone()].to_owned(),
            span: Some(offsets.span(range)),
            ..Strip::default()
        })
    });
    let strips = places.zip(graded.grades).zip(kept).map(|((strip, grade), kept)| {
        let (score, error) = match grade {
            Grade::Graded(score) => (Some(score), String::new()),
            Grade::Ungraded(reason) => (None, reason.to_string()),
        };
        Strip {
            score,
            kept,
            error,
            ..strip
        }
    });
    Ok(RefineKnowledgeResponse {
        strips: strips.collect(),
        usage: Some(graded.usage),
    })
}

/// Cuts each passage into strips, as byte ranges, in pieces: a request may hold megabytes of text.
async fn cut(passages: &Arc<[Passage]>, cut: Cut) -> Result<Vec<Vec<Range<usize>>>, GradeError> {
    let mut left = MAX_CUT_STRIPS;
    let mut cuts = Vec::with_capacity(passages.len());
    for place in 0..passages.len() {
        let passages = Arc::clone(passages);
        let bytes = passages.get(place).map_or(0, |passage| passage.text.len());
        let ranges = Turns::shared()
            .piece(bytes, move || {
                passages
                    .get(place)
                    .map_or_else(Vec::new, |passage| cut.ranges(&passage.text))
            })
            .await?;
        left = left
            .checked_sub(ranges.len())
            .ok_or(GradeError::TooManyStrips { most: MAX_CUT_STRIPS })?;
        cuts.push(ranges);
    }
    Ok(cuts)
}

/// Which strips are kept, `most` of them at most: first those that reach the threshold, best first,
/// then those without a grade in their order, because they are not known to be bad (R4). Of equal
/// scores the earlier strip comes first.
fn kept(grades: &[Grade<f64>], threshold: f64, most: usize) -> Vec<bool> {
    let mut best: Vec<(usize, f64)> = grades
        .iter()
        .enumerate()
        .filter_map(|(place, grade)| Some((place, *grade.graded()?)))
        .filter(|(_, score)| *score >= threshold)
        .collect();
    best.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let ungraded = grades
        .iter()
        .enumerate()
        .filter(|(_, grade)| grade.graded().is_none())
        .map(|(place, _)| place);
    let mut kept = vec![false; grades.len()];
    for place in best.into_iter().map(|(place, _)| place).chain(ungraded).take(most) {
        kept[place] = true;
    }
    kept
}

fn record(span: &Span, grades: &[Grade<f64>], kept: &[bool]) {
    if let Some(best) = grades.iter().filter_map(Grade::graded).copied().reduce(f64::max) {
        span.record(semconv::GEN_AI_EVALUATION_SCORE_VALUE, best);
    }
    span.record("emend.kept", kept.iter().filter(|kept| **kept).count());
    span.record(
        "emend.ungraded",
        grades.iter().filter(|grade| grade.graded().is_none()).count(),
    );
}

#[cfg(test)]
mod tests;
