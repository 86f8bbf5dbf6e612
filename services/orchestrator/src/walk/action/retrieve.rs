//! Searches the collection with the walk's query.

use emend_chassis::Code;
use emend_proto::v1::{RetrieveRequest, SearchMode};

use super::{Desk, Ended, Report};
use crate::{
    graph::{Purpose, RetrieveOutcome},
    walk::{deadline::Share, error::WalkError},
};

pub(super) async fn run(desk: &mut Desk<'_>, top_k: u32) -> Ended<RetrieveOutcome> {
    let question = desk.state.question();
    let request = RetrieveRequest {
        query: desk.state.query.clone(),
        collection: question.collection().to_owned(),
        top_k: Some(top_k),
        filter: question.filter().clone(),
        mode: SearchMode::Unspecified.into(),
        parents: None,
        ef: None,
    };
    desk.state.searching(Purpose::Retrieval);
    let response = match desk.services.retrieve(request, desk.hop(Share::Half)).await {
        Ok(response) => response,
        // What the caller named is wrong: no other service can make up for that.
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
            desk.state.evidence.first_failure.get_or_insert(failure);
            return Ok((RetrieveOutcome::Unavailable, report));
        }
    };
    desk.state.evidence.answered = true;
    desk.state.hold_retrieved(response.passages);
    let found = desk.state.held.len();
    let outcome = if found == 0 {
        RetrieveOutcome::NoPassages
    } else {
        RetrieveOutcome::Passages
    };
    let report = Report::of(format!("found {found}")).showing(desk.state.documents());
    Ok((outcome, report))
}
