//! The tool `ask`.

use emend_proto::v1::{AskStreamRequest, Origin, Question, WalkResult, WalkStatus, walk_event::Event};
use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam};
use serde_json::json;

use super::server::{Call, Told, resource, said};
use super::walks::{self, Walk, Walks};
use super::{arguments, tools};
use crate::openai::answer;

pub(super) async fn ask(walks: &Walks, mut call: Call) -> Told {
    arguments::known(&call.arguments, &tools::ASK)?;
    let question: Question = arguments::message("Question", std::mem::take(&mut call.arguments))?;
    let question = Some(question);
    let asked = call.request(AskStreamRequest { question });
    let answered = call.services.orchestrator().ask_stream(asked).await;
    let mut events = answered.map_err(said)?.into_inner();
    let mut walk = Walk::default();
    let mut progress = Progress::new(&call);
    let result = loop {
        let Some(event) = events.message().await.map_err(said)? else {
            return Err("the orchestrator ended the stream without a result: try again".to_owned());
        };
        let Some(event) = event.event else { continue };
        walk.add(&event);
        match event.event {
            Some(Event::Finished(result)) => break result,
            Some(event) => progress.tell(&event).await,
            None => {}
        }
    };
    if result.status() == WalkStatus::Failed {
        let failure = result.failure.unwrap_or_default();
        return Err(format!(
            "the {} failed ({}): {}; {}",
            failure.service, failure.reason, failure.cause, failure.advice
        ));
    }
    Ok(told(walks, walk, &result))
}

fn told(walks: &Walks, walk: Walk, result: &WalkResult) -> CallToolResult {
    let cited = walk.cited.clone();
    let id = walks.keep(walk);
    let mut content = vec![ContentBlock::text(answer::of(result).content())];
    let mut citations = Vec::new();
    for (number, passage) in &cited {
        let uri = walks::uri(id, *number);
        let origin = passage.origin();
        citations.push(json!({
            "number": number,
            "source": passage.source,
            "title": passage.title,
            "origin": origin.as_str_name(),
            "uri": uri,
        }));
        let mut link = resource(&uri, passage);
        if origin == Origin::Web {
            link = link.with_description("From the web");
        }
        content.push(ContentBlock::resource_link(link));
    }
    let mut told = CallToolResult::success(content);
    told.structured_content = Some(json!({
        "status": answer::status(result),
        "answer": result.answer,
        "reason": result.reason,
        "citations": citations,
        "groundedness": result.groundedness,
        "usefulness": result.usefulness,
        "graph": result.graph,
        "traceId": result.trace_id,
        "walk": id,
    }));
    told
}

/// Tells a client that wants to know how far a walk is.
struct Progress<'a> {
    call: &'a Call,
    token: Option<rmcp::model::ProgressToken>,
    told: u32,
}

impl<'a> Progress<'a> {
    fn new(call: &'a Call) -> Self {
        Self {
            token: call.context.meta.get_progress_token(),
            call,
            told: 0,
        }
    }

    async fn tell(&mut self, event: &Event) {
        let Some(token) = &self.token else { return };
        let message = match event {
            Event::StepStarted(step) => format!("{}. {}", step.step, step.node),
            Event::StepFinished(finished) => match &finished.step {
                Some(step) => format!("{}. {} → {}: {}", step.number, step.node, step.outcome, step.summary),
                None => return,
            },
            _ => return,
        };
        self.told += 1;
        let progress = ProgressNotificationParam::new(token.clone(), f64::from(self.told)).with_message(message);
        // A client that is gone cancels the call.
        drop(self.call.context.peer.notify_progress(progress).await);
    }
}

#[cfg(test)]
mod tests;
