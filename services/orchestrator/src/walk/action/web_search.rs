//! Searches the web with the question, or with what it was rewritten to for the web (never with a query that documents had
//! a part in). The results are evidence like any other, marked WEB
//! (R6). Where the question leaves the web alone, nobody is called and the search is unavailable.

use emend_proto::v1::{Origin, SearchRequest, SearchResponse};

use super::{Ended, Report, StepContext};
use crate::{
    graph::{MAX_WEB_RESULTS, Options, Purpose, WebResults, WebSearchOutcome},
    walk::{deadline::Share, services::Dependency, state::State},
};

/// What is said of a search that the question forbids.
pub(super) const WEB_OFF: &str = "the web is off for this question";

pub(super) async fn run(
    context: &mut StepContext<'_>,
    results: WebResults,
    options: &Options,
) -> Ended<WebSearchOutcome> {
    if context.state.question().web_off() {
        let report = Report {
            error: WEB_OFF.to_owned(),
            ..Report::of("did not search the web")
        };
        return Ok((WebSearchOutcome::Unavailable, report));
    }
    let held = u32::try_from(context.state.held.len()).unwrap_or(u32::MAX);
    let wanted = match results {
        WebResults::Exactly(most) => most.count(options),
        WebResults::FillTo(most) => most.count(options).saturating_sub(held),
    };
    let request = request(&context.state.web_query, wanted);
    context.state.searching(Purpose::WebSearch);
    let response = match context.services.search(request, context.hop(Share::Half)).await {
        Ok(response) => response,
        Err(failure) => {
            return Ok((WebSearchOutcome::Unavailable, Report::failed(&failure)));
        }
    };
    let found = apply_results(&mut context.state, response, wanted);
    let outcome = if found == 0 {
        WebSearchOutcome::NoResults
    } else {
        WebSearchOutcome::Results
    };
    let report = Report::of(format!("found {found} on the web")).showing(context.state.documents());
    Ok((outcome, report))
}

/// The request to the web search.
pub(super) fn request(query: &str, wanted: u32) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        max_results: Some(wanted.clamp(1, MAX_WEB_RESULTS)),
        allowed_domains: Vec::new(),
        blocked_domains: Vec::new(),
    }
}

/// Adds web results to the passages held, marked WEB. Returns how many are new.
pub(super) fn apply_results(state: &mut State, response: SearchResponse, wanted: u32) -> usize {
    state.searched_evidence = true;
    state.outages.answered(Dependency::WebSearch);
    let mut passages = response.passages;
    passages.truncate(wanted.max(1) as usize);
    for passage in &mut passages {
        passage.set_origin(Origin::Web);
    }
    state.hold(passages)
}
