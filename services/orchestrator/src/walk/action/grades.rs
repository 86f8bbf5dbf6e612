//! Grading an answer: against the evidence, against the question, or both at the same time (R9).

use std::fmt;

use emend_proto::v1::{
    GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest, GradeUsefulnessResponse, Passage,
    Sentence, Support,
};

use super::{Report, StepContext};
use crate::{
    graph::MinimumSupport,
    walk::{
        deadline::Share,
        error::WalkError,
        services::Failure,
        state::{Attempt, Verdict, add_usage},
    },
};

/// Which grades of the latest answer are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Groundedness(MinimumSupport),
    Usefulness,
    Both(MinimumSupport),
}

/// The grades of an answer.
#[derive(Default)]
pub(super) struct Grades {
    /// Whether it is supported well enough; unset when ungraded or not asked for.
    pub(super) supported: Option<bool>,
    /// Whether it is useful; unset when ungraded or not asked for.
    pub(super) useful: Option<bool>,
    support: Option<Support>,
    asked_usefulness: bool,
}

/// Grades the latest answer and stores the grades with it. Returns no grades if there is no answer.
/// An answer without evidence is not supported, without a call of the grader (R7).
pub(super) async fn grade(
    context: &mut StepContext<'_>,
    wanted: Wanted,
) -> Result<(Option<Grades>, Report), WalkError> {
    let question = context.state.question().text().to_owned();
    let Some(attempt) = context.state.attempts.last() else {
        return Ok((None, Report::of("no answer to grade")));
    };
    if attempt.evidence.is_empty() {
        if let Some(attempt) = context.state.attempts.last_mut()
            && wanted != Wanted::Usefulness
        {
            attempt.supported = Some(false);
            attempt.verdict = Verdict::NotSupported;
        }
        let grades = Grades {
            supported: Some(false),
            ..Grades::default()
        };
        let report = Report::of("nothing supports an answer without documents");
        return Ok((Some(grades), report));
    }
    let (groundedness, usefulness) = ask(context, question, attempt, wanted).await;
    let mut report = Report {
        error: errors(groundedness.as_ref(), usefulness.as_ref()),
        ..Report::default()
    };
    let mut grades = Grades {
        asked_usefulness: usefulness.is_some(),
        ..Grades::default()
    };
    match groundedness {
        None => {}
        Some(Ok(response)) => {
            add_usage(&mut report.usage, response.usage);
            grades.support = Some(response.support());
            grades.supported = supported(response.support(), wanted);
            if let Some(attempt) = context.state.attempts.last_mut() {
                attempt.groundedness = response.score;
            }
            apply_grades(context, &response.sentences).await?;
        }
        Some(Err(_)) => grades.support = Some(Support::Ungraded),
    }
    if let Some(Ok(response)) = usefulness {
        add_usage(&mut report.usage, response.usage);
        grades.useful = response.useful;
        if let Some(attempt) = context.state.attempts.last_mut() {
            attempt.usefulness = response.score;
        }
    }
    if let Some(attempt) = context.state.attempts.last_mut() {
        if wanted != Wanted::Usefulness {
            attempt.supported = grades.supported;
        }
        attempt.verdict = verdict(attempt.supported, grades.useful);
    }
    report.summary = grades.to_string();
    Ok((Some(grades), report))
}

/// Reports a missing grade (R4), unless the report has another error.
pub(super) fn without_grade(mut report: Report) -> Report {
    if report.error.is_empty() {
        "grader: a grade that the verdict needs did not come".clone_into(&mut report.error);
    }
    report
}

/// Why grades of an answer are missing, each once; empty if none is.
pub(super) fn errors(
    groundedness: Option<&Result<GradeGroundednessResponse, Failure>>,
    usefulness: Option<&Result<GradeUsefulnessResponse, Failure>>,
) -> String {
    let groundedness = match groundedness {
        Some(Err(failure)) => failure.to_string(),
        Some(Ok(_)) | None => String::new(),
    };
    let usefulness = match usefulness {
        Some(Err(failure)) => failure.to_string(),
        Some(Ok(response)) if !response.error.is_empty() => format!("grader: {}", response.error),
        Some(Ok(_)) | None => String::new(),
    };
    let mut errors = vec![groundedness, usefulness];
    errors.retain(|error| !error.is_empty());
    errors.dedup();
    errors.join("; ")
}

type Asked<T> = Option<Result<T, Failure>>;

async fn ask(
    context: &StepContext<'_>,
    question: String,
    attempt: &Attempt,
    wanted: Wanted,
) -> (Asked<GradeGroundednessResponse>, Asked<GradeUsefulnessResponse>) {
    let deadline = context.hop(Share::NineTenths);
    let passages = attempt.evidence.iter().filter_map(|graded| graded.passage.clone());
    let passages: Vec<Passage> = passages.collect();
    let groundedness = GradeGroundednessRequest {
        question: question.clone(),
        passages: passages.clone(),
        answer: attempt.answer.clone(),
        sentences: attempt.sentences.clone(),
    };
    let usefulness = GradeUsefulnessRequest {
        question,
        answer: attempt.answer.clone(),
        passages,
    };
    let groundedness = async {
        match wanted {
            Wanted::Usefulness => None,
            _ => Some(context.services.grade_groundedness(groundedness, deadline).await),
        }
    };
    let usefulness = async {
        match wanted {
            Wanted::Groundedness(_) => None,
            _ => Some(context.services.grade_usefulness(usefulness, deadline).await),
        }
    };
    tokio::join!(groundedness, usefulness)
}

/// Copies grades to the sentences of the latest answer, sends events for them, and remembers those
/// that are not supported.
async fn apply_grades(context: &mut StepContext<'_>, graded: &[Sentence]) -> Result<(), WalkError> {
    let Some(attempt) = context.state.attempts.last_mut() else {
        return Ok(());
    };
    if attempt.sentences.len() == graded.len() {
        // Only the grades are copied: the citations stay those of the generator.
        for (sentence, graded) in attempt.sentences.iter_mut().zip(graded) {
            sentence.support = graded.support;
            sentence.support_score = graded.support_score;
        }
    } else if attempt.sentences.is_empty() {
        attempt.sentences = graded.to_vec();
    }
    tell(context, 0).await?;
    context.state.remember_unsupported(graded);
    Ok(())
}

/// Sends an event for each sentence of the latest answer that is supported or not supported, from
/// the index `from` on.
pub(super) async fn tell(context: &mut StepContext<'_>, from: usize) -> Result<(), WalkError> {
    let Some(attempt) = context.state.attempts.last_mut() else {
        return Ok(());
    };
    for (place, sentence) in attempt.sentences.iter().enumerate().skip(from) {
        match sentence.support() {
            Support::FullySupported | Support::PartiallySupported => {
                context.events.committed(sentence, attempt.number).await?;
            }
            Support::NotSupported => {
                attempt.retracted.insert(place);
                context.events.retracted(sentence, attempt.number).await?;
            }
            Support::Ungraded | Support::Unspecified => {}
        }
    }
    Ok(())
}

fn supported(support: Support, wanted: Wanted) -> Option<bool> {
    let minimum = match wanted {
        Wanted::Groundedness(minimum) | Wanted::Both(minimum) => minimum,
        Wanted::Usefulness => return None,
    };
    passes(support, minimum)
}

/// Whether support is enough; unset when there is no grade (R4).
pub(super) fn passes(support: Support, minimum: MinimumSupport) -> Option<bool> {
    match support {
        Support::FullySupported => Some(true),
        Support::PartiallySupported => Some(minimum == MinimumSupport::Partially),
        Support::NotSupported => Some(false),
        Support::Ungraded | Support::Unspecified => None,
    }
}

/// The verdict of both grades.
pub(super) fn verdict(supported: Option<bool>, useful: Option<bool>) -> Verdict {
    match (supported, useful) {
        (Some(false), _) => Verdict::NotSupported,
        (_, Some(false)) => Verdict::NotUseful,
        (Some(true), Some(true)) => Verdict::Passed,
        (None, _) | (_, None) => Verdict::Ungraded,
    }
}

impl fmt::Display for Grades {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let support = self.support.map(|support| match support {
            Support::FullySupported => "fully supported",
            Support::PartiallySupported => "partially supported",
            Support::NotSupported => "not supported",
            Support::Ungraded | Support::Unspecified => "support ungraded",
        });
        let useful = self.asked_usefulness.then_some(match self.useful {
            Some(true) => "useful",
            Some(false) => "not useful",
            None => "usefulness ungraded",
        });
        let both: Vec<&str> = support.into_iter().chain(useful).collect();
        f.write_str(&both.join(", "))
    }
}
