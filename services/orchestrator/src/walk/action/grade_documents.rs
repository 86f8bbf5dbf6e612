//! Grades the passages held that have no grade yet, in one call, and drops passages that do not
//! help.

use emend_proto::v1::{DocumentGrade, Evaluation, GradeDocumentsRequest, Passage, Relevance};

use super::{Ended, Report, StepContext};
use crate::{
    graph::{GradeDocumentsOutcome, Ungraded},
    walk::{
        deadline::Share,
        state::{Held, State},
    },
};

pub(super) async fn run(context: &mut StepContext<'_>, ungraded: Ungraded) -> Ended<GradeDocumentsOutcome> {
    let pending: Vec<Passage> = context
        .state
        .held
        .iter()
        .filter(|held| held.relevance == Relevance::Unspecified)
        .map(|held| held.passage.clone())
        .collect();
    let mut report = Report::default();
    let asked = pending.len();
    let graded_before = std::mem::take(&mut context.state.newly_graded);
    let mut graded = 0;
    if asked > 0 {
        let request = GradeDocumentsRequest {
            passages: pending,
            ..GradeDocumentsRequest::default()
        };
        graded = grade(context, request, &mut report).await.passages;
        mark(&mut context.state);
        if graded == 0 {
            report.error = non_empty(report.error, format!("grader: none of {asked} passages was graded"));
        }
    }

    let keeps = |held: &Held| match held.relevance {
        Relevance::Relevant => true,
        Relevance::Irrelevant => false,
        Relevance::Ungraded | Relevance::Unspecified => ungraded == Ungraded::Keep,
    };
    let before = context.state.held.len();
    let count = |relevance: Relevance| {
        let held = context.state.held.iter();
        held.filter(|held| held.relevance == relevance).count()
    };
    let (relevant, without_grade) = (count(Relevance::Relevant), count(Relevance::Ungraded));
    let shown = context.state.held.iter().map(|held| held.graded(keeps(held))).collect();
    context.state.held.retain(keeps);
    let kept = context.state.held.len();

    report = report.showing(shown);
    report.summary = format!("kept {kept} of {before}");
    if without_grade > 0 {
        report.summary.push_str(&format!(", {without_grade} without a grade"));
    }
    let outcome = if asked > 0 && graded == 0 {
        GradeDocumentsOutcome::Unavailable
    } else if kept == 0 && before > 0 && asked + graded_before == 0 {
        // The query found only passages that were graded before and did not help: another search
        // would change nothing (R3).
        report.summary.push_str(", each seen before");
        GradeDocumentsOutcome::Stalled
    } else if kept == 0 {
        GradeDocumentsOutcome::NoneRelevant
    } else if relevant == before {
        GradeDocumentsOutcome::AllRelevant
    } else {
        // A passage that is kept without a grade is not known to help (R4).
        GradeDocumentsOutcome::SomeRelevant
    };
    Ok((outcome, report))
}

/// What came of asking for grades.
#[derive(Clone, Copy, Default)]
pub(super) struct Graded {
    /// How many passages have a grade.
    pub passages: usize,
    /// Corrective RAG's verdict on all of them.
    pub evaluation: Evaluation,
}

/// Asks in one call how relevant the passages of a request are to the walk's question, and stores the grades that come. The
/// report has what they cost and what went wrong.
pub(super) async fn grade(
    context: &mut StepContext<'_>,
    request: GradeDocumentsRequest,
    report: &mut Report,
) -> Graded {
    let request = GradeDocumentsRequest {
        question: context.state.question().text().to_owned(),
        ..request
    };
    match context
        .services
        .grade_documents(request, context.hop(Share::Half))
        .await
    {
        Ok(response) => {
            report.usage = response.usage.unwrap_or_default();
            let graded = Graded {
                passages: response.grades.iter().filter(|grade| is_graded(grade)).count(),
                evaluation: response.evaluation(),
            };
            report.error = store_grades(&mut context.state, response.grades);
            graded
        }
        Err(failure) => {
            report.error = failure.to_string();
            report.failure = Some(failure);
            Graded::default()
        }
    }
}

fn is_graded(grade: &DocumentGrade) -> bool {
    matches!(grade.relevance(), Relevance::Relevant | Relevance::Irrelevant)
}

/// Stores grades and applies them to the passages held. Returns the error of the first missing
/// grade, or an empty text.
pub(super) fn apply_grades(state: &mut State, grades: Vec<DocumentGrade>) -> String {
    let error = store_grades(state, grades);
    mark(state);
    error
}

/// Stores grades. Returns the error of the first missing grade, or an empty text.
fn store_grades(state: &mut State, grades: Vec<DocumentGrade>) -> String {
    let mut error = String::new();
    for grade in grades {
        if is_graded(&grade) {
            let relevance = grade.relevance();
            state.grades.insert(grade.passage_id, (relevance, grade.score));
        } else if error.is_empty() && !grade.error.is_empty() {
            error = format!("grader: {}", grade.error);
        }
    }
    error
}

/// Applies stored grades to passages held without one. A passage whose grade is missing becomes
/// UNGRADED (R4).
pub(super) fn mark(state: &mut State) {
    for held in &mut state.held {
        if held.relevance != Relevance::Unspecified {
            continue;
        }
        (held.relevance, held.score) = state
            .grades
            .get(&held.passage.id)
            .copied()
            .unwrap_or((Relevance::Ungraded, None));
    }
}

fn non_empty(text: String, otherwise: String) -> String {
    if text.is_empty() { otherwise } else { text }
}
