//! How long a status may be on the wire.
//!
//! A status travels in the headers of HTTP/2, which clients bound: 16 KiB in hyper, 8 KiB in gRPC's C core and so in Python.
//! A client that gets more reports an error of its own in place of the one that was sent.

use std::borrow::Cow;
use std::collections::HashMap;

use http::HeaderMap;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::{reason_of, refusal, status};
use emend_core::{Reason, ServiceError};

/// Longest `grpc-message` in bytes, percent-encoded.
pub(crate) const MAX_MESSAGE_BYTES: usize = 1024;
/// Longest `grpc-status-details-bin` in bytes, as base64.
pub(crate) const MAX_DETAILS_BYTES: usize = 4 * 1024;
/// Most bytes of all trailers together as HTTP/2 counts them; clients of gRPC's C core take 8 KiB unless told otherwise.
pub(crate) const MAX_TRAILERS_BYTES: usize = 7 * 1024;

/// What HTTP/2 counts for a header beside its name and value, in bytes (RFC 9113, section 6.5.2).
const HEADER_OVERHEAD: usize = 32;
/// Longest details in bytes before they become base64, which makes four bytes of three.
const MAX_RAW_DETAILS_BYTES: usize = MAX_DETAILS_BYTES / 4 * 3;
/// Longest path of a field in a violation, in bytes.
const MAX_FIELD_BYTES: usize = 128;
/// Longest description of a violation, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 512;
/// Longest reason and domain of an `ErrorInfo`, in bytes.
const MAX_REASON_BYTES: usize = 64;
/// What is kept free for the note that something was left out, in bytes, percent-encoded.
const NOTE_BYTES: usize = 72;
/// What the last violation needs, which says how many were left out, in bytes.
const LAST_VIOLATION_BYTES: usize = 128;
/// What a violation needs beside its texts, in bytes: tags and lengths.
const VIOLATION_OVERHEAD: usize = 12;

const CONTENT_TYPE: &str = "content-type";
const TOO_LARGE_TO_SEND: &str = "Error, encoded message length too large: ";
const TOO_LARGE_TO_READ: &str = "Error, decoded message length too large: ";
const MALFORMED: &str = "failed to decode Protobuf message: ";

/// What tonic reports with a code that blames the wrong side: OUT_OF_RANGE for a message that is too large either way, and
/// INTERNAL for a request that is malformed.
#[derive(Debug, thiserror::Error)]
enum Misreported {
    /// Whoever asked cannot make the answer smaller.
    #[error("the response is larger than this server may send: {0}")]
    LargeResponse(String),
    #[error("the request is larger than this server takes: {0}")]
    LargeRequest(String),
    #[error("the request is malformed: {0}")]
    MalformedRequest(String),
}

impl ServiceError for Misreported {
    fn reason(&self) -> Reason {
        match self {
            Self::LargeResponse(_) => Reason::ResponseTooLarge,
            Self::LargeRequest(_) => Reason::RequestTooLarge,
            Self::MalformedRequest(_) => Reason::RequestUnreadable,
        }
    }
}

/// Makes the status in the headers or trailers of a response what a client can read: no longer than the limits of this
/// module, with the right code for a message that is too large or malformed, and with a reason where tonic made it, which
/// gives none. Headers without an error, and those that are right already, stay as they are.
pub(crate) fn settle(headers: &mut HeaderMap) {
    let Some(code) = headers.get(Status::GRPC_STATUS) else {
        return;
    };
    let (ok, out_of_range) = (code.as_bytes() == b"0", code.as_bytes() == b"11");
    let explained = ok || headers.contains_key(Status::GRPC_STATUS_DETAILS);
    if !out_of_range && explained && fits(headers) {
        return;
    }
    let Some(found) = Status::from_header_map(headers) else {
        return;
    };
    let settled = limited(&explained_by_code(corrected(found)));
    let content_type = headers.remove(CONTENT_TYPE);
    headers.clear();
    if let Some(content_type) = content_type {
        headers.insert(CONTENT_TYPE, content_type);
    }
    if settled.add_header(headers).is_err() {
        // What is written consists of percent-encoded text and base64, and can always be sent.
        headers.insert(Status::GRPC_STATUS, (settled.code() as i32).into());
    }
}

fn fits(headers: &HeaderMap) -> bool {
    let length = |name| headers.get(name).map_or(0, |value| value.len());
    length(Status::GRPC_MESSAGE) <= MAX_MESSAGE_BYTES
        && length(Status::GRPC_STATUS_DETAILS) <= MAX_DETAILS_BYTES
        && bytes(headers) <= MAX_TRAILERS_BYTES
}

/// Bytes of headers as HTTP/2 counts them.
pub(crate) fn bytes(headers: &HeaderMap) -> usize {
    let each = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + HEADER_OVERHEAD);
    each.sum()
}

/// The status that tonic should have sent.
fn corrected(found: Status) -> Status {
    let after = |prefix| found.message().strip_prefix(prefix).map(str::to_owned);
    let error = match found.code() {
        Code::OutOfRange => after(TOO_LARGE_TO_SEND)
            .map(Misreported::LargeResponse)
            .or_else(|| after(TOO_LARGE_TO_READ).map(Misreported::LargeRequest)),
        Code::Internal => after(MALFORMED).map(Misreported::MalformedRequest),
        _ => None,
    };
    error.map_or(found, |error| status(&error))
}

/// The status with the reason that its code is, where it has no details.
fn explained_by_code(found: Status) -> Status {
    if !found.details().is_empty() || found.code() == Code::Ok {
        return found;
    }
    let details = refusal(reason_of(&found), "").details().to_vec();
    let mut explained = Status::with_details(found.code(), found.message(), details.into());
    *explained.metadata_mut() = found.metadata().clone();
    explained
}

/// The status within the limits: its message cut, its details cut where they are too long, and without metadata of its
/// own where that is too much.
fn limited(found: &Status) -> Status {
    let message = cut(found.message(), MAX_MESSAGE_BYTES, encoded_len);
    let mut limited = if found.details().len() <= MAX_RAW_DETAILS_BYTES {
        let details = found.details().to_vec();
        Status::with_details(found.code(), message, details.into())
    } else {
        let details = limited_details(&found.get_error_details(), message.len());
        Status::with_error_details(found.code(), message, details)
    };
    if limited.details().len() > MAX_RAW_DETAILS_BYTES {
        // Details of a kind that cannot be cut.
        limited = Status::new(limited.code(), limited.message());
    }
    let own: HeaderMap = found.metadata().clone().into_headers();
    if bytes(&own) + MAX_MESSAGE_BYTES + MAX_DETAILS_BYTES + 4 * (HEADER_OVERHEAD + 32) <= MAX_TRAILERS_BYTES {
        *limited.metadata_mut() = MetadataMap::from_headers(own);
    }
    limited
}

/// `ErrorInfo`, `ResourceInfo` and `RetryInfo`, and as many violations of `BadRequest` as have room, the last of which says how many have
/// not. Beside them the details hold a message of `message_bytes`.
fn limited_details(found: &ErrorDetails, message_bytes: usize) -> ErrorDetails {
    let mut kept = ErrorDetails::new();
    if let Some(info) = found.error_info() {
        let [reason, domain] = [&info.reason, &info.domain].map(|text| cut(text, MAX_REASON_BYTES, char::len_utf8));
        kept.set_error_info(reason, domain, HashMap::new());
    }
    if let Some(info) = found.resource_info() {
        let [kind, name] = [&info.resource_type, &info.resource_name];
        let name = cut(name, MAX_DESCRIPTION_BYTES, char::len_utf8);
        kept.set_resource_info(cut(kind, MAX_REASON_BYTES, char::len_utf8), name, "", "");
    }
    if let Some(info) = found.retry_info() {
        kept.set_retry_info(info.retry_delay);
    }
    let Some(request) = found.bad_request() else {
        return kept;
    };
    let taken = Status::with_error_details(Code::Unknown, "", kept.clone())
        .details()
        .len();
    // `BadRequest` has a type URL of its own, and the message stands beside the details.
    let mut left = MAX_RAW_DETAILS_BYTES
        .saturating_sub(taken + message_bytes + LAST_VIOLATION_BYTES)
        .saturating_sub(LAST_VIOLATION_BYTES);
    for (place, violation) in request.field_violations.iter().enumerate() {
        let field = cut(&violation.field, MAX_FIELD_BYTES, char::len_utf8);
        let description = cut(&violation.description, MAX_DESCRIPTION_BYTES, char::len_utf8);
        let needed = field.len() + description.len() + VIOLATION_OVERHEAD;
        if needed > left {
            let more = request.field_violations.len() - place;
            kept.add_bad_request_violation("…", format!("{more} more fields are wrong, and left out here"));
            break;
        }
        left -= needed;
        kept.add_bad_request_violation(field, description);
    }
    kept
}

/// Bytes that a character becomes in `grpc-message`.
fn encoded_len(character: char) -> usize {
    match character {
        ' ' | '"' | '#' | '%' | '<' | '>' | '`' | '?' | '{' | '}' => 3,
        character if character.is_ascii() && !character.is_ascii_control() => 1,
        character => 3 * character.len_utf8(),
    }
}

/// The text where it costs at most `most`, else as much of its beginning as leaves room to say how much is left out.
fn cut(text: &str, most: usize, cost: impl Fn(char) -> usize) -> Cow<'_, str> {
    let (mut spent, mut end) = (0, 0);
    for (place, character) in text.char_indices() {
        spent += cost(character);
        if spent > most {
            return format!("{}… ({} bytes left out)", &text[..end], text.len() - end).into();
        }
        if spent + NOTE_BYTES <= most {
            end = place + character.len_utf8();
        }
    }
    text.into()
}

#[cfg(test)]
mod tests;
