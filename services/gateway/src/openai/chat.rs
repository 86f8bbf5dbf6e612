//! `POST /v1/chat/completions`.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use emend_chassis::grpc_code_name;
use emend_core::{Deadline, Reason};
use emend_proto::v1::{AskRequest, AskStreamRequest, AskStreamResponse, WalkResult, WalkStatus, walk_event::Event};
use futures::{Stream, StreamExt as _, stream};
use http::HeaderMap;
use serde_json::{Value, json};
use tonic::{Code, Status, Streaming};
use uuid::Uuid;

use super::request::{self, Asked};
use super::{OpenAiError, answer};
use crate::Gateway;
use crate::problem::{Problem, http_status};
use crate::sse::{self, Said};
use crate::{request as http_request, respond};

/// Most events that are looked at before a stream begins: those until the first step is done.
const MAX_LOOKED_AT: usize = 32;

/// Answers the last message of a conversation.
pub(crate) async fn chat(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, OpenAiError> {
    let deadline = http_request::deadline(&headers, gateway.default_timeout)?;
    let asked = {
        let (text, _held) = http_request::json(&gateway.memory, &headers, body).await?;
        let body = serde_json::from_slice(&text)
            .map_err(|error| Problem::unreadable(format!("the body cannot be parsed as JSON: {error}")))?;
        request::read(body)?
    };
    let model = asked.model.clone();
    let answered = if asked.stream {
        streamed(&gateway, &headers, asked, deadline).await
    } else {
        whole(&gateway, &headers, asked, deadline).await
    };
    match answered {
        Err(error) if error.is_not_found() => match gateway.models(&headers).await {
            Ok(known) if !known.contains(&model) => Err(OpenAiError::unknown_model(&model, &known)),
            _ => Err(error),
        },
        answered => answered,
    }
}

async fn whole(
    gateway: &Gateway,
    headers: &HeaderMap,
    asked: Asked,
    deadline: Deadline,
) -> Result<Response, OpenAiError> {
    let question = Some(asked.question);
    let call = http_request::call(headers, AskRequest { question }, deadline);
    let result = gateway.services.orchestrator().ask(call).await?.into_inner().result;
    let result = result.unwrap_or_default();
    if let Some(failed) = failed(&result) {
        return Err(failed);
    }
    let answer = answer::of(&result);
    let mut message = json!({"role": "assistant", "content": answer.content(), "refusal": null});
    message["annotations"] = answer.annotations.into();
    let completion = json!({
        "id": id(),
        "object": "chat.completion",
        "created": now(),
        "model": asked.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"}],
        "usage": usage(&result),
        "emend": extension(&result),
    });
    Ok(respond::json(completion.to_string(), None))
}

async fn streamed(
    gateway: &Gateway,
    headers: &HeaderMap,
    asked: Asked,
    deadline: Deadline,
) -> Result<Response, OpenAiError> {
    let question = Some(asked.question);
    let call = http_request::call(headers, AskStreamRequest { question }, deadline);
    let events = gateway.services.orchestrator().ask_stream(call).await?.into_inner();
    let (seen, events) = begun(events).await?;
    let completion = Completion {
        id: id(),
        created: now(),
        model: asked.model,
        include_usage: asked.include_usage,
        drafts: asked.drafts,
    };
    let first = completion.chunk(json!({"role": "assistant", "content": ""}), None);
    let events = stream::iter(seen.into_iter().map(Ok)).chain(events);
    Ok(sse::events(
        stream::iter([said(&first)]).chain(chunks(completion, events)),
    ))
}

/// Waits for the end of the first step, so that an unknown collection is an error and no stream.
async fn begun(
    mut events: Streaming<AskStreamResponse>,
) -> Result<(Vec<AskStreamResponse>, Streaming<AskStreamResponse>), Status> {
    let mut seen = Vec::new();
    while seen.len() < MAX_LOOKED_AT {
        let Some(next) = events.message().await? else { break };
        let event = next.event.as_ref().and_then(|event| event.event.as_ref());
        let goes_on = matches!(event, Some(Event::StepStarted(_)));
        seen.push(next);
        if !goes_on {
            break;
        }
    }
    Ok((seen, events))
}

/// The chunks of a walk. The answer is sent when the walk has ended: until then it may be taken back.
fn chunks(
    completion: Completion,
    events: impl Stream<Item = Result<AskStreamResponse, Status>> + Send + 'static,
) -> impl Stream<Item = Said> + Send + 'static {
    let mut done = false;
    events
        .map(Some)
        // A stream that ends without a result has broken off.
        .chain(stream::iter([None]))
        .map(move |event| {
            if done {
                return Vec::new();
            }
            let event = match event {
                Some(Ok(response)) => response.event.and_then(|event| event.event),
                Some(Err(status)) => {
                    done = true;
                    return vec![said(&OpenAiError::from(status).json())];
                }
                None => {
                    done = true;
                    let broken = Problem::internal("the orchestrator ended the stream without a result");
                    return vec![said(&OpenAiError::from(broken).json())];
                }
            };
            match event {
                Some(Event::Finished(result)) => {
                    done = true;
                    completion.ends(&result)
                }
                Some(event) if completion.drafts => completion.drafts(&event).into_iter().collect(),
                _ => Vec::new(),
            }
        })
        .flat_map(stream::iter)
}

/// What all chunks of a stream have.
struct Completion {
    id: String,
    created: u64,
    model: String,
    include_usage: bool,
    drafts: bool,
}

impl Completion {
    fn chunk(&self, delta: Value, finish_reason: Option<&str>) -> Value {
        let mut chunk = self.without_choices();
        chunk["choices"] = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason}]);
        chunk
    }

    fn without_choices(&self) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [],
        })
    }

    /// What is being written or taken back, which is no part of the answer.
    fn drafts(&self, event: &Event) -> Option<Said> {
        let text = match event {
            Event::TextDelta(delta) => delta.text.clone(),
            Event::SentenceRetracted(retracted) => {
                let text = retracted.sentence.as_ref().map(|sentence| sentence.text.as_str());
                format!("\n(retracted: {})\n", text.unwrap_or_default())
            }
            _ => return None,
        };
        Some(said(&self.chunk(json!({"reasoning_content": text}), None)))
    }

    /// The answer, and the end of the stream.
    fn ends(&self, result: &WalkResult) -> Vec<Said> {
        if let Some(failed) = failed(result) {
            return vec![said(&failed.json())];
        }
        let answer = answer::of(result);
        let mut all: Vec<Said> = answer
            .pieces
            .iter()
            .map(|piece| said(&self.chunk(json!({"content": piece}), None)))
            .collect();
        if !answer.annotations.is_empty() {
            all.push(said(&self.chunk(json!({"annotations": answer.annotations}), None)));
        }
        let mut last = self.chunk(json!({}), Some("stop"));
        last["emend"] = extension(result);
        all.push(said(&last));
        if self.include_usage {
            let mut chunk = self.without_choices();
            chunk["usage"] = usage(result);
            all.push(said(&chunk));
        }
        all.push(Said {
            name: "",
            data: "[DONE]".to_owned(),
        });
        all
    }
}

fn said(chunk: &Value) -> Said {
    Said {
        name: "",
        data: chunk.to_string(),
    }
}

/// The error of a walk that has no answer because a service failed.
fn failed(result: &WalkResult) -> Option<OpenAiError> {
    if result.status() != WalkStatus::Failed {
        return None;
    }
    let failure = result.failure.clone().unwrap_or_default();
    let code = (0..=16)
        .map(Code::from_i32)
        .find(|code| grpc_code_name(*code) == failure.code);
    let code = code
        .filter(|code| http_status(*code).is_server_error())
        .unwrap_or(Code::Unavailable);
    let message = format!(
        "the {} failed ({}): {}; {}",
        failure.service, failure.reason, failure.cause, failure.advice
    );
    let reason = Reason::of_name(&failure.reason).unwrap_or(Reason::ServiceUnavailable);
    Some(Problem::new(http_status(code), reason, message).into())
}

fn extension(result: &WalkResult) -> Value {
    json!({
        "status": answer::status(result),
        "reason": result.reason,
        "graph": result.graph,
        "traceId": result.trace_id,
        "groundedness": result.groundedness,
        "usefulness": result.usefulness,
    })
}

fn usage(result: &WalkResult) -> Value {
    let usage = result.usage.unwrap_or_default();
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens.saturating_add(usage.output_tokens),
    })
}

fn id() -> String {
    format!("chatcmpl-{}", Uuid::new_v4().simple())
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
