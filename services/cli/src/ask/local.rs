//! What the events of a walk say where the services run in this process: the advice of a service is for who deploys it.

use emend_proto::v1::{Step, WalkResult, walk_event::Event};
use emend_web_search::SearchError;

/// What to do about a web search that is not configured, here.
const WITHOUT_WEB: &str = "it is not configured; give --searxng-url URL, an API key \
                          of Tavily or Brave (see --help), or --web-folder DIR, a folder of saved pages";

/// Replaces advice that does not fit the command line.
pub(super) fn advise(event: &mut Event) {
    match event {
        Event::StepFinished(finished) => finished.step.iter_mut().for_each(advise_step),
        Event::EdgeTaken(edge) => replace(&mut edge.reason),
        Event::Finished(result) => advise_result(result),
        _ => {}
    }
}

fn advise_step(step: &mut Step) {
    replace(&mut step.error);
}

fn advise_result(result: &mut WalkResult) {
    replace(&mut result.reason);
    result.steps.iter_mut().for_each(advise_step);
}

fn replace(text: &mut String) {
    *text = text.replace(&SearchError::NoProvider.to_string(), WITHOUT_WEB);
}

#[cfg(test)]
mod tests;
