//! Searches the collection with the walk's query, and holds the passages that the grader likes best.

use std::collections::HashSet;

use emend_proto::v1::{GradeDocumentsRequest, Passage, Relevance, RetrieveRequest, SearchMode};

use super::{Ended, Report, StepContext, grade_documents::store_grades};
use crate::{
    graph::{Purpose, RetrieveOutcome, Search},
    walk::{deadline::Share, services::Dependency},
};

/// How the collection is searched.
pub(super) struct Searching {
    /// Most passages to hold.
    pub(super) top_k: u32,
    /// Passages to grade, of which the best are held; 0 for none.
    pub(super) rerank: u32,
    pub(super) search: Search,
    pub(super) exact: bool,
}

pub(super) async fn run(context: &mut StepContext<'_>, searching: Searching) -> Ended<RetrieveOutcome> {
    let Searching {
        top_k,
        rerank,
        search,
        exact,
    } = searching;
    let question = context.state.question();
    let request = RetrieveRequest {
        query: context.state.query.clone(),
        collection: question.collection().to_owned(),
        top_k: Some(top_k.max(rerank)),
        filter: question.filter().clone(),
        conditions: question.conditions().to_vec(),
        mode: match question.search() {
            SearchMode::Unspecified => search.into(),
            asked => asked,
        }
        .into(),
        parents: None,
        ef: None,
        exact: exact || question.exact(),
    };
    context.state.searching(Purpose::Retrieval);
    let response = match context.services.retrieve(request, context.hop(Share::Half)).await {
        Ok(response) => response,
        Err(failure) => return Ok((RetrieveOutcome::Unavailable, Report::failed(&failure))),
    };
    context.state.searched_evidence = true;
    context.state.outages.answered(Dependency::Retriever);
    let found = response.passages.len();
    let (passages, mut report) = if rerank > 0 && found > top_k as usize {
        best_graded(context, response.passages, top_k as usize).await
    } else {
        (response.passages, Report::default())
    };
    context.state.hold_retrieved(passages);
    let held = context.state.held.len();
    let outcome = if held == 0 {
        RetrieveOutcome::NoPassages
    } else {
        RetrieveOutcome::Passages
    };
    report.summary = if found > held {
        format!("found {found}, kept {held}")
    } else {
        format!("found {held}")
    };
    Ok((outcome, report.showing(context.state.documents())))
}

/// The passages with the best grades, the best first. Those without a grade come behind those with one, in the order of the
/// retriever: without a grader it is the whole order.
async fn best_graded(context: &mut StepContext<'_>, mut passages: Vec<Passage>, most: usize) -> (Vec<Passage>, Report) {
    let grades = &context.state.grades;
    let pending: Vec<Passage> = passages
        .iter()
        .filter(|passage| !grades.contains_key(&passage.id))
        .cloned()
        .collect();
    let asked: HashSet<String> = pending.iter().map(|passage| passage.id.clone()).collect();
    let mut report = Report::default();
    if !pending.is_empty() {
        let request = GradeDocumentsRequest {
            question: context.state.question().text().to_owned(),
            passages: pending,
            ..GradeDocumentsRequest::default()
        };
        match context
            .services
            .grade_documents(request, context.hop(Share::Half))
            .await
        {
            Ok(response) => {
                report = report.costing(response.usage);
                report.error = store_grades(&mut context.state, response.grades);
            }
            Err(failure) => {
                report.error = failure.to_string();
                report.failure = Some(failure);
            }
        }
    }
    let score = |passage: &Passage| {
        let grade = context.state.grades.get(&passage.id);
        grade.map_or(f64::NEG_INFINITY, |(relevance, score)| {
            score.unwrap_or_else(|| f64::from(u8::from(*relevance == Relevance::Relevant)))
        })
    };
    passages.sort_by(|a, b| score(b).total_cmp(&score(a)));
    passages.truncate(most);
    let new = passages.iter().filter(|passage| asked.contains(&passage.id));
    context.state.newly_graded = new
        .filter(|passage| context.state.grades.contains_key(&passage.id))
        .count();
    (passages, report)
}
