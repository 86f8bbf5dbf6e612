//! `POST /v1/ask`: a question, and the result of its walk or the walk's events.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use emend_proto::v1::{AskRequest, AskStreamRequest, AskStreamResponse, Question, walk_event::Event};
use futures::{Stream, StreamExt as _};
use http::HeaderMap;
use tonic::Status;

use crate::Gateway;
use crate::problem::Problem;
use crate::request::{self, Wanted};
use crate::respond;
use crate::sse::{self, Said};

/// Walks a graph for a question.
pub(crate) async fn ask(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let question: Question = request::message(&gateway.memory, &headers, body, "Question").await?;
    let question = Some(question);
    let mut orchestrator = gateway.services.orchestrator();
    let refused = |status: Status| Problem::from(status).within("question");
    match request::wanted(&headers) {
        Wanted::Json => {
            let call = request::call(&headers, AskRequest { question }, deadline);
            let answer = orchestrator.ask(call).await.map_err(refused)?.into_inner();
            respond::message(&gateway.memory, "WalkResult", &answer.result.unwrap_or_default()).await
        }
        wanted @ (Wanted::Events | Wanted::Lines) => {
            let call = request::call(&headers, AskStreamRequest { question }, deadline);
            let mut events = orchestrator.ask_stream(call).await.map_err(refused)?.into_inner();
            // What is refused at once gets a status of its own.
            let first = events.message().await.map_err(refused)?;
            let said = said(futures::stream::iter(first.map(Ok)).chain(events));
            Ok(match wanted {
                Wanted::Lines => sse::lines(said),
                _ => sse::events(said),
            })
        }
    }
}

/// The events of a walk; after an error none follows.
fn said(
    events: impl Stream<Item = Result<AskStreamResponse, Status>> + Send + 'static,
) -> impl Stream<Item = Said> + Send + 'static {
    let said = events.filter_map(|event| async {
        let told = event.map_err(Problem::from).and_then(|response| {
            let Some(event) = response.event else { return Ok(None) };
            let name = name(event.event.as_ref());
            Ok(Some(Said {
                name,
                data: respond::text("WalkEvent", &event)?,
            }))
        });
        told.unwrap_or_else(|problem| Some(Said::problem(&problem)))
    });
    let mut broken = false;
    said.take_while(move |said| {
        let before = broken;
        broken |= said.name == "error";
        std::future::ready(!before)
    })
}

/// The name of an event: that of its field in JSON.
pub(crate) const fn name(event: Option<&Event>) -> &'static str {
    match event {
        Some(Event::StepStarted(_)) => "stepStarted",
        Some(Event::StepFinished(_)) => "stepFinished",
        Some(Event::EdgeTaken(_)) => "edgeTaken",
        Some(Event::TextDelta(_)) => "textDelta",
        Some(Event::SentenceCommitted(_)) => "sentenceCommitted",
        Some(Event::SentenceRetracted(_)) => "sentenceRetracted",
        Some(Event::Finished(_)) => "finished",
        None => "unknown",
    }
}
