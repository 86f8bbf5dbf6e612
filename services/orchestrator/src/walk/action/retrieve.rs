//! Searches the collection with the walk's query.

use emend_proto::v1::{RetrieveRequest, SearchMode};

use super::{Ended, Report, StepContext};
use crate::{
    graph::{Purpose, RetrieveOutcome, Search},
    walk::{deadline::Share, services::Dependency},
};

pub(super) async fn run(
    context: &mut StepContext<'_>,
    top_k: u32,
    search: Search,
    exact: bool,
) -> Ended<RetrieveOutcome> {
    let question = context.state.question();
    let request = RetrieveRequest {
        query: context.state.query.clone(),
        collection: question.collection().to_owned(),
        top_k: Some(top_k),
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
    context.state.hold_retrieved(response.passages);
    let found = context.state.held.len();
    let outcome = if found == 0 {
        RetrieveOutcome::NoPassages
    } else {
        RetrieveOutcome::Passages
    };
    let report = Report::of(format!("found {found}")).showing(context.state.documents());
    Ok((outcome, report))
}
