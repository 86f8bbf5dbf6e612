//! Searches the collection with the walk's query, and holds the passages that the grader likes best.

use std::collections::HashSet;

use emend_proto::v1::{GradeDocumentsRequest, Passage, RetrieveRequest, SearchMode};

use super::{Ended, Report, StepContext, grade_documents::grade};
use crate::{
    graph::{Purpose, RetrieveOutcome, Search},
    walk::{best_first, deadline::Share, services::Dependency},
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

/// The passages with the best grades, see [`best_first`].
async fn best_graded(context: &mut StepContext<'_>, passages: Vec<Passage>, most: usize) -> (Vec<Passage>, Report) {
    let known: HashSet<String> = context.state.grades.keys().cloned().collect();
    let is_new = |passage: &&Passage| !known.contains(&passage.id);
    let pending: Vec<Passage> = passages.iter().filter(is_new).cloned().collect();
    let mut report = Report::default();
    if !pending.is_empty() {
        let request = GradeDocumentsRequest {
            passages: pending,
            ..GradeDocumentsRequest::default()
        };
        grade(context, request, &mut report).await;
    }
    let grades = &context.state.grades;
    let best = best_first(passages, most, |id| grades.get(id).copied());
    let newly_graded = best
        .iter()
        .filter(is_new)
        .filter(|passage| grades.contains_key(&passage.id));
    context.state.newly_graded = newly_graded.count();
    (best, report)
}
