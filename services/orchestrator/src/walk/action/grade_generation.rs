//! Grades the latest answer: against the evidence and against the original question, at the same time (R9).

use emend_proto::v1::{
    GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest, GradeUsefulnessResponse, Sentence,
    Support,
};

use super::{Desk, Ended, Report};
use crate::{
    graph::{GradeGenerationOutcome, MinimumSupport},
    walk::{
        deadline::Share,
        error::WalkError,
        services::Failure,
        state::{Attempt, Verdict, add_usage},
    },
};

pub(super) async fn run(desk: &mut Desk<'_>, minimum: MinimumSupport) -> Ended<GradeGenerationOutcome> {
    let question = desk.state.question().text().to_owned();
    let Some(attempt) = desk.state.attempts.last() else {
        let report = Report::of("no answer to grade");
        return Ok((GradeGenerationOutcome::Unavailable, report));
    };
    if attempt.evidence.is_empty() {
        // Without evidence there is no check that could pass (R7).
        let report = Report::of("nothing supports an answer without documents");
        return Ok((GradeGenerationOutcome::NotSupported, report));
    }
    let (groundedness, usefulness) = ask(desk, question, attempt).await;
    let mut report = Report::default();
    let mut errors = Vec::new();
    let mut grades = Grades::default();
    match groundedness {
        Ok(response) => {
            add_usage(&mut report.usage, response.usage);
            grades.support = response.support();
            grades.groundedness = response.score;
            take_over(desk, &response.sentences).await?;
        }
        Err(failure) => errors.push(failure.to_string()),
    }
    match usefulness {
        Ok(response) => {
            add_usage(&mut report.usage, response.usage);
            grades.useful = response.useful;
            grades.usefulness = response.score;
            if !response.error.is_empty() {
                errors.push(format!("grader: {}", response.error));
            }
        }
        Err(failure) => errors.push(failure.to_string()),
    }
    let outcome = grades.outcome(minimum);
    if let Some(attempt) = desk.state.attempts.last_mut() {
        attempt.groundedness = grades.groundedness;
        attempt.usefulness = grades.usefulness;
        attempt.verdict = verdict(outcome);
    }
    report.summary = grades.to_string();
    report.error = errors.join("; ");
    if report.error.is_empty() && outcome == GradeGenerationOutcome::Unavailable {
        "grader: a grade that the verdict needs did not come".clone_into(&mut report.error);
    }
    Ok((outcome, report))
}

async fn ask(
    desk: &Desk<'_>,
    question: String,
    attempt: &Attempt,
) -> (
    Result<GradeGroundednessResponse, Failure>,
    Result<GradeUsefulnessResponse, Failure>,
) {
    let deadline = desk.hop(Share::NineTenths);
    let groundedness = GradeGroundednessRequest {
        question: question.clone(),
        passages: attempt
            .evidence
            .iter()
            .filter_map(|graded| graded.passage.clone())
            .collect(),
        answer: attempt.answer.clone(),
        sentences: attempt.sentences.clone(),
    };
    let usefulness = GradeUsefulnessRequest {
        question,
        answer: attempt.answer.clone(),
    };
    tokio::join!(
        desk.services.grade_groundedness(groundedness, deadline),
        desk.services.grade_usefulness(usefulness, deadline),
    )
}

/// Takes the sentences' grades over and tells whoever reads along which of them stand.
async fn take_over(desk: &mut Desk<'_>, graded: &[Sentence]) -> Result<(), WalkError> {
    let Some(attempt) = desk.state.attempts.last_mut() else {
        return Ok(());
    };
    if attempt.sentences.len() == graded.len() {
        // Only the grades: the citations are the generator's.
        for (sentence, graded) in attempt.sentences.iter_mut().zip(graded) {
            sentence.support = graded.support;
            sentence.support_score = graded.support_score;
        }
    } else if attempt.sentences.is_empty() {
        attempt.sentences = graded.to_vec();
    }
    for (place, sentence) in attempt.sentences.iter().enumerate() {
        match sentence.support() {
            Support::FullySupported | Support::PartiallySupported => {
                desk.events.committed(sentence.clone(), attempt.number).await?;
            }
            Support::NotSupported => {
                attempt.retracted.insert(place);
                desk.events.retracted(sentence.clone(), attempt.number).await?;
            }
            Support::Ungraded | Support::Unspecified => {}
        }
    }
    desk.state.remember_unsupported(graded);
    Ok(())
}

/// What was said about an answer.
#[derive(Default)]
struct Grades {
    support: Support,
    groundedness: Option<f64>,
    useful: Option<bool>,
    usefulness: Option<f64>,
}

impl Grades {
    fn outcome(&self, minimum: MinimumSupport) -> GradeGenerationOutcome {
        let supported = match self.support {
            Support::FullySupported => Some(true),
            Support::PartiallySupported => Some(minimum == MinimumSupport::Partially),
            Support::NotSupported => Some(false),
            Support::Ungraded | Support::Unspecified => None,
        };
        match (supported, self.useful) {
            (Some(false), _) => GradeGenerationOutcome::NotSupported,
            (_, Some(false)) => GradeGenerationOutcome::NotUseful,
            (Some(true), Some(true)) => GradeGenerationOutcome::Useful,
            (None, _) | (_, None) => GradeGenerationOutcome::Unavailable,
        }
    }
}

impl std::fmt::Display for Grades {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let support = match self.support {
            Support::FullySupported => "fully supported",
            Support::PartiallySupported => "partially supported",
            Support::NotSupported => "not supported",
            Support::Ungraded | Support::Unspecified => "support ungraded",
        };
        let useful = match self.useful {
            Some(true) => "useful",
            Some(false) => "not useful",
            None => "usefulness ungraded",
        };
        write!(f, "{support}, {useful}")
    }
}

fn verdict(outcome: GradeGenerationOutcome) -> Verdict {
    match outcome {
        GradeGenerationOutcome::Useful => Verdict::Passed,
        GradeGenerationOutcome::NotSupported => Verdict::NotSupported,
        GradeGenerationOutcome::NotUseful => Verdict::NotUseful,
        GradeGenerationOutcome::Unavailable => Verdict::Ungraded,
    }
}
