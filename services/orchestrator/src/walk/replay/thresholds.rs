//! Recorded probabilities held against other thresholds. Verdicts without a probability stand.

use emend_proto::v1::{
    DecideRetrievalResponse, DocumentGrade, Evaluation, GradeGroundednessResponse, GradeThresholds,
    GradeUsefulnessRequest, GradeUsefulnessResponse, Passage, Relevance, RetrievalDecision, Strip, Support,
};

/// The probability of YES from which the grader has evidence retrieved where nothing is asked of it.
const RETRIEVAL: f64 = 0.2;

/// A passage's grade.
pub(super) fn relevance(mut grade: DocumentGrade, relevant: Option<f64>) -> DocumentGrade {
    if let Some((score, relevant)) = grade.score.zip(relevant) {
        grade.set_relevance(if score >= relevant {
            Relevance::Relevant
        } else {
            Relevance::Irrelevant
        });
    }
    grade
}

/// The evaluation of passages, as the grader makes it. Where one threshold is unset, `recorded` says on which side of it
/// the best of the same passages was; `None` where that does not decide.
pub(super) fn evaluation(
    grades: &[DocumentGrade],
    upper: Option<f64>,
    lower: Option<f64>,
    recorded: Option<Evaluation>,
) -> Option<Evaluation> {
    let reached = |threshold: f64| {
        grades
            .iter()
            .any(|grade| grade.score.is_some_and(|score| score >= threshold))
    };
    let below = |threshold: f64| {
        grades
            .iter()
            .all(|grade| grade.score.is_some_and(|score| score < threshold))
    };
    match (upper, lower) {
        (None, None) => recorded,
        (Some(upper), _) if reached(upper) => Some(Evaluation::Correct),
        (Some(_), Some(lower)) if below(lower) => Some(Evaluation::Incorrect),
        (Some(_), Some(_)) => Some(Evaluation::Ambiguous),
        (Some(_), None) => recorded.map(|recorded| match recorded {
            Evaluation::Incorrect => Evaluation::Incorrect,
            _ => Evaluation::Ambiguous,
        }),
        (None, Some(lower)) if below(lower) => Some(Evaluation::Incorrect),
        (None, Some(_)) => recorded.map(|recorded| match recorded {
            Evaluation::Correct => Evaluation::Correct,
            _ => Evaluation::Ambiguous,
        }),
    }
}

/// Marks the strips that are kept, `most` of them at most: the best that reach the threshold, then those without a grade.
/// Without a threshold the recorded ones are kept, `before` of which were asked for.
pub(super) fn keep(strips: &mut [Strip], threshold: Option<f64>, most: u32, before: Option<u32>) -> Result<(), String> {
    let kept = strips.iter().filter(|strip| strip.kept).count();
    let reaches: Box<dyn Fn(&Strip) -> bool> = match (threshold, before) {
        (Some(threshold), _) => Box::new(move |strip| strip.score.is_none_or(|score| score >= threshold)),
        (None, Some(before)) if most <= before || kept < before as usize => Box::new(|strip| strip.kept),
        (None, _) => {
            return Err(
                "the record does not say from which score a strip was kept: set a threshold for strips".to_owned(),
            );
        }
    };
    let mut places: Vec<usize> = (0..strips.len()).filter(|place| reaches(&strips[*place])).collect();
    // Of equal scores the earlier strip comes first; one without a grade comes last.
    places.sort_by(|a, b| {
        let score = |place: usize| strips[place].score.unwrap_or(f64::NEG_INFINITY);
        score(*b).total_cmp(&score(*a))
    });
    places.truncate(most as usize);
    for (place, strip) in strips.iter_mut().enumerate() {
        strip.kept = places.contains(&place);
    }
    Ok(())
}

/// A strip with its text, which the record leaves to the passage.
pub(super) fn with_text(strip: &Strip, passage: &Passage) -> Strip {
    let mut strip = strip.clone();
    if let Some(span) = strip.span.filter(|_| strip.text.is_empty()) {
        let length = span.end.saturating_sub(span.start) as usize;
        strip.text = passage.text.chars().skip(span.start as usize).take(length).collect();
    }
    strip
}

/// A decision on retrieval. How likely the others than YES were is not recorded.
pub(super) fn decision(
    mut decision: DecideRetrievalResponse,
    threshold: Option<f64>,
    has_evidence: bool,
) -> Result<DecideRetrievalResponse, String> {
    let Some(yes) = decision.probability else {
        return Ok(decision);
    };
    let wanted = yes > threshold.unwrap_or(RETRIEVAL);
    match (wanted, decision.decision()) {
        (true, _) => decision.set_decision(RetrievalDecision::Yes),
        (false, RetrievalDecision::Yes) if has_evidence => {
            return Err(format!(
                "the decision was to retrieve, with {yes:.2}; the record does not say what else it would have been"
            ));
        }
        (false, RetrievalDecision::Yes) => decision.set_decision(RetrievalDecision::No),
        (false, _) => {}
    }
    Ok(decision)
}

/// The support of an answer. Its weakest sentence decides.
pub(super) fn support(mut grade: GradeGroundednessResponse, thresholds: &GradeThresholds) -> GradeGroundednessResponse {
    if thresholds.fully.is_none() && thresholds.partially.is_none() {
        return grade;
    }
    for sentence in &mut grade.sentences {
        if let Some(score) = sentence.support_score {
            sentence.set_support(level(score, sentence.support(), thresholds));
        }
    }
    let has = |level: Support| grade.sentences.iter().any(|sentence| sentence.support() == level);
    let weakest = [
        Support::NotSupported,
        Support::Ungraded,
        Support::PartiallySupported,
        Support::FullySupported,
    ];
    let support = weakest.into_iter().find(|level| has(*level));
    grade.set_support(support.unwrap_or_default());
    grade
}

fn level(score: f64, recorded: Support, thresholds: &GradeThresholds) -> Support {
    let fully = thresholds
        .fully
        .map_or(recorded == Support::FullySupported, |fully| score >= fully);
    let partially = thresholds
        .partially
        .map_or(recorded != Support::NotSupported, |partially| score >= partially);
    if fully {
        Support::FullySupported
    } else if partially {
        Support::PartiallySupported
    } else {
        Support::NotSupported
    }
}

/// The usefulness of an answer. What it quotes has a threshold of its own.
pub(super) fn usefulness(
    mut grade: GradeUsefulnessResponse,
    request: &GradeUsefulnessRequest,
    thresholds: &GradeThresholds,
) -> GradeUsefulnessResponse {
    let quotes = emend_text::sentences(&request.answer).into_iter().all(|range| {
        let sentence = &request.answer[range];
        request
            .passages
            .iter()
            .any(|passage| passage.text.contains(sentence.trim()))
    });
    let threshold = if quotes { thresholds.quote } else { thresholds.useful };
    if let Some((score, threshold)) = grade.score.zip(threshold) {
        grade.useful = Some(score >= threshold);
    }
    grade
}
