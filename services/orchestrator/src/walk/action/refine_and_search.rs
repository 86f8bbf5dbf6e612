//! Refines the passages held while the web is searched with keywords of the question (R9). Where the question leaves the
//! web alone, they are only refined.

use super::{Ended, Report, StepContext, refine, rewrite, web_search};
use crate::{
    graph::{Options, Purpose, RefineAndSearchOutcome, Refining},
    walk::{deadline::Share, state::add_usage},
};

pub(super) async fn run(
    context: &mut StepContext<'_>,
    refining: Refining,
    max_results: u32,
    options: &Options,
) -> Ended<RefineAndSearchOutcome> {
    let services = context.services;
    let deadline = context.hop(Share::Half);
    let previous = context.state.query.clone();
    let strips = refine::request(&context.state, refining, options);
    let keywords = rewrite::request(&context.state, Purpose::WebSearch, None);
    let question = context.state.question().text().to_owned();

    let refined = async {
        match strips {
            Some(request) => Some(services.refine_knowledge(request, deadline).await),
            None => None,
        }
    };
    let web_off = context.state.question().web_off();
    let searched = async {
        if web_off {
            return None;
        }
        let rewritten = services.rewrite(keywords, deadline).await;
        let query = match &rewritten {
            Ok(response) if !response.query.trim().is_empty() => rewrite::searchable(&response.query).to_owned(),
            // Without keywords the question itself is searched.
            _ => question,
        };
        let found = services
            .search(web_search::request(&query, max_results), deadline)
            .await;
        Some((rewritten, query, found))
    };
    let (refined, searched) = tokio::join!(refined, searched);

    let mut errors = Vec::new();
    let refining_failed = matches!(refined, Some(Err(_)));
    let mut report = match refined {
        Some(Ok(response)) => refine::apply_strips(&mut context.state, response),
        Some(Err(failure)) => Report::failed(&failure),
        None => Report::of("nothing to refine"),
    };
    errors.extend((!report.error.is_empty()).then(|| report.error.clone()));
    let new = match searched {
        None => {
            report.summary.push_str(&format!("; {}", web_search::WEB_OFF));
            None
        }
        Some((rewritten, query, found)) => {
            match rewritten {
                Ok(response) => add_usage(&mut report.usage, response.usage),
                Err(failure) => errors.push(failure.to_string()),
            }
            context.state.rewritten(Purpose::WebSearch, &query);
            context.state.searching(Purpose::WebSearch);
            report = report.with_query(previous, query);
            match found {
                Ok(response) => {
                    let new = web_search::apply_results(&mut context.state, response, max_results);
                    report.summary.push_str(&format!(", found {new} on the web"));
                    Some(new)
                }
                Err(failure) => {
                    errors.push(failure.to_string());
                    context.state.outages.failed(&failure);
                    None
                }
            }
        }
    };
    let outcome = match new {
        None if refining_failed => RefineAndSearchOutcome::Unavailable,
        Some(new) if new > 0 => RefineAndSearchOutcome::Results,
        _ if context.state.held.is_empty() => RefineAndSearchOutcome::NothingKept,
        _ => RefineAndSearchOutcome::Refined,
    };
    if outcome != RefineAndSearchOutcome::Unavailable {
        report.failure = None;
    }
    // The report shows the refined passages, dropped ones included, and then those from the web.
    let web = context.state.held.iter().rev().take(new.unwrap_or(0)).rev();
    report.passages.extend(web.map(|held| held.graded(true)));
    report.error = errors.join("; ");
    Ok((outcome, report))
}
