//! Searches the collection with the walk's query.

use emend_core::Code;
use emend_proto::v1::{RetrieveRequest, SearchMode};

use super::{Ended, Report, StepContext};
use crate::{
    graph::{Purpose, RetrieveOutcome},
    walk::{deadline::Share, error::WalkError},
};

pub(super) async fn run(context: &mut StepContext<'_>, top_k: u32) -> Ended<RetrieveOutcome> {
    let question = context.state.question();
    let request = RetrieveRequest {
        query: context.state.query.clone(),
        collection: question.collection().to_owned(),
        top_k: Some(top_k),
        filter: question.filter().clone(),
        mode: SearchMode::Unspecified.into(),
        parents: None,
        ef: None,
    };
    context.state.searching(Purpose::Retrieval);
    let response = match context.services.retrieve(request, context.hop(Share::Half)).await {
        Ok(response) => response,
        // The question itself is wrong: no other service can compensate for that (R17).
        Err(failure)
            if matches!(
                failure.code,
                Code::InvalidArgument | Code::NotFound | Code::FailedPrecondition
            ) =>
        {
            return Err(WalkError::Refused(failure));
        }
        Err(failure) => {
            let report = Report::failed(&failure);
            context.state.evidence.first_failure.get_or_insert(failure);
            return Ok((RetrieveOutcome::Unavailable, report));
        }
    };
    context.state.evidence.answered = true;
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
