//! A request for a chat completion, as a question.

use emend_core::limits::{MAX_HISTORY, MAX_QUESTION_BYTES};
use emend_core::{cut, did_you_mean};
use emend_json::Unknown;
use emend_proto::v1::{ChatMessage, Question, chat_message::Role};
use serde_json::{Map, Value};

use super::OpenAiError;

/// Parameters of OpenAI's that are taken and not used.
const NOT_USED: [&str; 25] = [
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "temperature",
    "tools",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];
/// Parameters of Ollama, llama.cpp and vLLM that chat programs send to every server alike, taken and not used: how tokens are
/// sampled, and how a model is run.
const NOT_USED_OF_OTHERS: [&str; 21] = [
    "keep_alive",
    "min_p",
    "mirostat",
    "mirostat_eta",
    "mirostat_tau",
    "num_batch",
    "num_ctx",
    "num_gpu",
    "num_keep",
    "num_predict",
    "num_thread",
    "repeat_last_n",
    "repeat_penalty",
    "repetition_penalty",
    "tfs_z",
    "think",
    "top_a",
    "top_k",
    "typical_p",
    "use_mlock",
    "use_mmap",
];
/// Parameters that are used, or refused with values that cannot be met.
const USED: [&str; 11] = [
    "emend",
    "logprobs",
    "messages",
    "modalities",
    "model",
    "n",
    "response_format",
    "stream",
    "stream_options",
    "tool_choice",
    "top_logprobs",
];
/// Numbers that have a range, though they are not used.
const RANGES: [(&str, f64, f64); 7] = [
    ("temperature", 0.0, 2.0),
    ("top_p", 0.0, 1.0),
    ("min_p", 0.0, 1.0),
    ("presence_penalty", -2.0, 2.0),
    ("frequency_penalty", -2.0, 2.0),
    ("max_tokens", 1.0, f64::MAX),
    ("max_completion_tokens", 1.0, f64::MAX),
];

/// What is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) model: String,
    pub(super) question: Question,
    pub(super) stream: bool,
    pub(super) include_usage: bool,
    /// Whether what is being written is streamed too.
    pub(super) drafts: bool,
}

/// Reads a request.
pub(super) fn read(body: Value) -> Result<Asked, OpenAiError> {
    let Value::Object(mut body) = body else {
        return Err(OpenAiError::param(
            "body",
            "the body must be a JSON object",
            "invalid_type",
        ));
    };
    // What is null is not given.
    body.retain(|_, value| !value.is_null());
    if let Some(unknown) = body.keys().find(|name| !is_known(name)) {
        let nearest = did_you_mean(unknown, USED.into_iter().chain(NOT_USED).chain(NOT_USED_OF_OTHERS));
        return Err(OpenAiError::param(
            cut(unknown).to_string(),
            format!("unrecognized request argument supplied: {}{nearest}", cut(unknown)),
            "unknown_parameter",
        ));
    }
    met(&body)?;
    let model = match body.get("model") {
        Some(Value::String(model)) if !model.is_empty() => model.clone(),
        _ => return Err(wrong("model", "a string, GRAPH@COLLECTION", body.get("model"))),
    };
    let stream = flag(&body, "stream")?;
    let include_usage = match body.get("stream_options") {
        None => false,
        Some(Value::Object(_)) if !stream => {
            return Err(OpenAiError::param(
                "stream_options",
                "stream_options is only allowed when stream is true",
                "invalid_value",
            ));
        }
        Some(Value::Object(options)) => flag(options, "include_usage")?,
        other => return Err(wrong("stream_options", "an object", other)),
    };
    let (mut question, drafts) = extension(body.remove("emend"))?;
    let (text, history) = conversation(body.remove("messages"))?;
    question.question = text;
    question.history = history;
    let (graph, collection) = model.split_once('@').unwrap_or((&model, ""));
    graph.clone_into(&mut question.graph);
    collection.clone_into(&mut question.collection);
    Ok(Asked {
        model,
        question,
        stream,
        include_usage,
        drafts,
    })
}

fn is_known(name: &str) -> bool {
    USED.contains(&name) || NOT_USED.contains(&name) || NOT_USED_OF_OTHERS.contains(&name)
}

/// Refuses values that are out of range, and wishes that cannot be met.
fn met(body: &Map<String, Value>) -> Result<(), OpenAiError> {
    for (name, least, most) in RANGES {
        let Some(given) = body.get(name) else { continue };
        let fits = given.as_f64().is_some_and(|number| (least..=most).contains(&number));
        if !fits {
            let expected = if most == f64::MAX {
                format!("a number from {least}")
            } else {
                format!("a number from {least} to {most}")
            };
            return Err(wrong(name, &expected, Some(given)));
        }
    }
    let met = |name: &str, expected: &str, fits: fn(&Value) -> bool| match body.get(name) {
        Some(given) if !fits(given) => Err(wrong(name, expected, Some(given))),
        _ => Ok(()),
    };
    met("n", "1, for a walk has one answer", |n| n.as_u64() == Some(1))?;
    met("logprobs", "false, for sentences are graded and not tokens", |given| {
        given == &Value::Bool(false)
    })?;
    met("top_logprobs", "0, for sentences are graded and not tokens", |given| {
        given.as_u64() == Some(0)
    })?;
    met("response_format", "{\"type\": \"text\"}", |given| {
        given["type"] == "text"
    })?;
    met("modalities", "[\"text\"]", |given| {
        given == &serde_json::json!(["text"])
    })?;
    met("tool_choice", "none or auto, for an answer calls no tools", |given| {
        given == "none" || given == "auto"
    })?;
    met("tools", "an array", Value::is_array)
}

/// The question's own fields of the parameter `emend`, and whether drafts are wanted.
fn extension(given: Option<Value>) -> Result<(Question, bool), OpenAiError> {
    let mut given = match given {
        None => return Ok((Question::default(), false)),
        Some(Value::Object(given)) => given,
        other => return Err(wrong("emend", "an object", other.as_ref())),
    };
    let drafts = flag(&given, "drafts")?;
    given.remove("drafts");
    const FIELDS: [&str; 7] = [
        "options",
        "filter",
        "conditions",
        "budget",
        "search",
        "exact",
        "web_off",
    ];
    if let Some(unknown) = given.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(OpenAiError::param(
            format!("emend.{}", cut(unknown)),
            format!(
                "emend.{} is unknown: known are {}, drafts",
                cut(unknown),
                FIELDS.join(", ")
            ),
            "unknown_parameter",
        ));
    }
    let question = emend_json::message("Question", Value::Object(given), Unknown::Refused);
    let question = question.map_err(|error| OpenAiError::param("emend", format!("emend: {error}"), "invalid_value"))?;
    Ok((question, drafts))
}

/// The question, and what was said before it.
fn conversation(messages: Option<Value>) -> Result<(String, Vec<ChatMessage>), OpenAiError> {
    let messages = match messages {
        Some(Value::Array(messages)) if !messages.is_empty() => messages,
        other => return Err(wrong("messages", "an array with at least one message", other.as_ref())),
    };
    let mut said = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let role = match message["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system" | "developer" | "tool" | "function") => continue,
            _ => {
                return Err(wrong(
                    &format!("messages[{place}].role"),
                    "user, assistant, system, developer or tool",
                    Some(&message["role"]),
                ));
            }
        };
        said.push((role, &message["content"], place));
    }
    let last = said.pop();
    let Some((Role::User, content, place)) = last else {
        return Err(OpenAiError::param(
            "messages",
            "the last message must be the user's: it is the question",
            "invalid_value",
        ));
    };
    let (question, other) = text(content, place)?;
    if let Some(kind) = other {
        return Err(OpenAiError::param(
            format!("messages[{place}].content"),
            format!("only text can be asked: take the part of type `{kind}` out of the message"),
            "invalid_value",
        ));
    }
    if question.len() > MAX_QUESTION_BYTES {
        return Err(OpenAiError::param(
            format!("messages[{place}].content"),
            format!(
                "a question must have at most {MAX_QUESTION_BYTES} bytes, this one has {}",
                question.len()
            ),
            "string_above_max_length",
        ));
    }
    let mut history = Vec::new();
    for (role, content, place) in said {
        // A chat program sends a picture of before again with every message: the words beside it still count.
        let (mut content, _) = text(content, place)?;
        content.truncate(content.floor_char_boundary(MAX_QUESTION_BYTES));
        if !content.trim().is_empty() {
            let role = role.into();
            history.push(ChatMessage { role, content });
        }
    }
    let latest = history.split_off(history.len().saturating_sub(MAX_HISTORY));
    Ok((question, latest))
}

/// The text of a message, a string or parts, and the type of the first part that is no text.
fn text(content: &Value, place: usize) -> Result<(String, Option<String>), OpenAiError> {
    match content {
        Value::Null => Ok((String::new(), None)),
        Value::String(text) => Ok((text.clone(), None)),
        Value::Array(parts) => {
            let (mut texts, mut other) = (Vec::new(), None);
            for part in parts {
                match part["text"].as_str().filter(|_| part["type"] == "text") {
                    Some(text) => texts.push(text),
                    None => other = other.or_else(|| Some(cut(part["type"].as_str().unwrap_or("none")).to_string())),
                }
            }
            Ok((texts.join("\n"), other))
        }
        other => Err(wrong(
            &format!("messages[{place}].content"),
            "a string or an array of parts",
            Some(other),
        )),
    }
}

fn flag(object: &Map<String, Value>, name: &str) -> Result<bool, OpenAiError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        other => Err(wrong(name, "a boolean", other)),
    }
}

fn wrong(param: &str, expected: &str, given: Option<&Value>) -> OpenAiError {
    match given {
        None => OpenAiError::param(
            param,
            format!("{param} is missing: it must be {expected}"),
            "missing_required_parameter",
        ),
        Some(given) => OpenAiError::param(
            param,
            format!("{param} must be {expected}, is `{}`", cut(&given.to_string())),
            "invalid_value",
        ),
    }
}

#[cfg(test)]
mod tests;
