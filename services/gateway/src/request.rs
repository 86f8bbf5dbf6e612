//! What is read of a request before anything is done with it: its deadline, its key, its body.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use emend_core::{Deadline, cut};
use emend_json::Unknown;
use http::HeaderMap;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use http_body_util::BodyExt as _;
use prost::Message;
use tonic::metadata::MetadataValue;

use crate::memory::{Held, JSON_COPIES, Memory};
use crate::problem::Problem;

/// Largest JSON body, in bytes.
pub(crate) const MAX_JSON_BYTES: usize = 2 * 1024 * 1024;
/// Most values of a JSON body: three bytes of text can be a message of some hundred.
const MAX_JSON_VALUES: usize = 20_000;
/// How long a JSON body may take to come.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time that a caller may give.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
/// The header that has a caller's time: `30`, `1.5`, `30s`, `250ms`.
const REQUEST_TIMEOUT: &str = "x-request-timeout";
/// The same as gRPC writes it: `30S`, `250m`.
const GRPC_TIMEOUT: &str = "grpc-timeout";
/// The headers of a caller's trace (W3C Trace Context). They go along as they came where this process is not traced; where it
/// is, its own span takes the place of the caller's.
pub(crate) const TRACE_CONTEXT: [&str; 2] = ["traceparent", "tracestate"];

/// When the answer is due: after the shorter of the times in `X-Request-Timeout` and `grpc-timeout`, less what it takes to
/// say that it is too late; `default` without either.
pub(crate) fn deadline(headers: &HeaderMap, default: Duration) -> Result<Deadline, Problem> {
    let mut given: Option<Duration> = None;
    for name in [REQUEST_TIMEOUT, GRPC_TIMEOUT] {
        let Some(value) = headers.get(name) else { continue };
        let text = value.to_str().unwrap_or_default().trim();
        let timeout = if name == GRPC_TIMEOUT {
            emend_chassis::parse_timeout(text)
        } else {
            emend_core::duration(text).ok()
        };
        let timeout = timeout.filter(|timeout| !timeout.is_zero() && *timeout <= MAX_TIMEOUT);
        let timeout = timeout.ok_or_else(|| {
            let example = if name == GRPC_TIMEOUT { "30S" } else { "30s" };
            Problem::field(
                name,
                format!(
                    "must be a time above 0 and at most {}, like {example}, is `{}`",
                    humantime::format_duration(MAX_TIMEOUT),
                    cut(text)
                ),
            )
        })?;
        given = Some(given.map_or(timeout, |other| other.min(timeout)));
    }
    Ok(Deadline::of_caller(given, default))
}

/// A gRPC request with what is left of the time, the caller's key and the caller's trace.
pub(crate) fn call<T>(headers: &HeaderMap, message: T, deadline: Deadline) -> tonic::Request<T> {
    let mut request = emend_chassis::request(message, deadline);
    if let Some(key) = headers.get(AUTHORIZATION)
        && let Ok(mut value) = MetadataValue::try_from(key.as_bytes())
    {
        value.set_sensitive(true);
        request.metadata_mut().insert("authorization", value);
    }
    for name in TRACE_CONTEXT {
        if let Some(value) = headers.get(name)
            && let Ok(value) = MetadataValue::try_from(value.as_bytes())
        {
            request.metadata_mut().insert(name, value);
        }
    }
    request
}

/// What a caller wants to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// One JSON value, when all is done.
    Json,
    /// Server-sent events.
    Events,
    /// A line of JSON for each event.
    Lines,
}

/// What `Accept` names first of what there is; JSON where it names nothing of it.
pub(crate) fn wanted(headers: &HeaderMap) -> Wanted {
    let named = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    for range in named.flat_map(|value| value.split(',')) {
        match essence(range).as_str() {
            "text/event-stream" => return Wanted::Events,
            "application/x-ndjson" | "application/jsonl" => return Wanted::Lines,
            "application/json" | "*/*" | "application/*" => return Wanted::Json,
            _ => {}
        }
    }
    Wanted::Json
}

/// A media type without its parameters, in lower case.
pub(crate) fn essence(value: &str) -> String {
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The content type of a request, without its parameters.
pub(crate) fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    essence(value.unwrap_or_default())
}

/// A JSON body, read whole and within its bounds, and the memory that it holds.
pub(crate) async fn json(memory: &Memory, headers: &HeaderMap, body: Body) -> Result<(Bytes, Held), Problem> {
    let given = content_type(headers);
    if given != "application/json" && !(given.starts_with("application/") && given.ends_with("+json")) {
        return Err(Problem::media_type(format!(
            "the content type must be application/json, is `{}`",
            cut(&given)
        )));
    }
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(Problem::media_type("the body must not be compressed"));
    }
    let mut held = memory.hold();
    let read = read(body, &mut held);
    let text = match tokio::time::timeout(BODY_TIMEOUT, read).await {
        Ok(text) => text?,
        Err(_) => {
            return Err(Problem::too_slow(format!(
                "the body did not come within {}",
                humantime::format_duration(BODY_TIMEOUT)
            )));
        }
    };
    let values = values(&text);
    if values > MAX_JSON_VALUES {
        return Err(Problem::too_large(format!(
            "the body must have at most {MAX_JSON_VALUES} values, has {values}"
        )));
    }
    Ok((text, held))
}

async fn read(mut body: Body, held: &mut Held) -> Result<Bytes, Problem> {
    let mut text = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Problem::unreadable(format!("the body cannot be read: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        let length = text.len() + data.len();
        if length > MAX_JSON_BYTES {
            return Err(Problem::too_large(format!(
                "a JSON body must have at most {MAX_JSON_BYTES} bytes"
            )));
        }
        held.grow(length, JSON_COPIES)?;
        text.extend_from_slice(&data);
    }
    Ok(text.freeze())
}

/// A number that is at least that of the values in a JSON text: what separates and opens them outside of strings.
fn values(text: &[u8]) -> usize {
    let (mut count, mut quoted, mut escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b'[' | b'{' if !quoted => count += 1,
            _ => {}
        }
    }
    count
}

/// A JSON body as a message of `emend.v1`. Fields that the message does not have are mistakes.
pub(crate) async fn message<M: Message + Default>(
    memory: &Memory,
    headers: &HeaderMap,
    body: Body,
    name: &str,
) -> Result<M, Problem> {
    let (text, _held) = json(memory, headers, body).await?;
    emend_json::parse(name, &text, Unknown::Refused).map_err(|error| not_a_message(name, &error))
}

/// JSON that is not a message.
pub(crate) fn not_a_message(name: &str, error: &emend_json::JsonError) -> Problem {
    let said = error.to_string();
    Problem::unreadable(format!(
        "the body is not a {name} in JSON: {}; /openapi.json says what is",
        cut_long(&said)
    ))
}

/// Errors of parsers repeat what they read; as much of it as an error has room for.
fn cut_long(text: &str) -> &str {
    &text[..text.floor_char_boundary(512)]
}

#[cfg(test)]
mod tests;
