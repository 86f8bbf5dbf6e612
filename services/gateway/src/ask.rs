//! `POST /v1/ask`: a question, and the result of its walk or the walk's events.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use emend_proto::v1::{
    AskRequest, AskStreamRequest, AskStreamResponse, Feedback, Question, RecordFeedbackRequest, ReplayWalkRequest,
    walk_event::Event,
};
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

/// Walks again what a record holds.
pub(crate) async fn replay(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let replay: ReplayWalkRequest = request::message(&gateway.memory, &headers, body, "ReplayWalkRequest").await?;
    let call = request::call(&headers, replay, deadline);
    let replayed = gateway.services.orchestrator().replay_walk(call).await?.into_inner();
    respond::message(&gateway.memory, "ReplayWalkResponse", &replayed).await
}

/// Keeps what a person says of an answer.
pub(crate) async fn feedback(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let feedback: Feedback = request::message(&gateway.memory, &headers, body, "Feedback").await?;
    let feedback = Some(feedback);
    let call = request::call(&headers, RecordFeedbackRequest { feedback }, deadline);
    let kept = gateway.services.orchestrator().record_feedback(call).await;
    let kept = kept
        .map_err(|status| Problem::from(status).within("feedback"))?
        .into_inner();
    respond::message(&gateway.memory, "RecordFeedbackResponse", &kept).await
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
