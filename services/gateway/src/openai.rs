//! OpenAI's protocol: a model is a graph over a collection, `self-corrective-rag@handbook`.
//!
//! # What is read of a request
//!
//! | parameter | what becomes of it |
//! | --- | --- |
//! | `model` | `GRAPH@COLLECTION`; `GRAPH` alone asks the collection `default` |
//! | `messages` | the last, of the user, is the question; those of user and assistant before it are the conversation, of which the latest 50 are taken, each to 8 KiB |
//! | `stream`, `stream_options.include_usage` | as OpenAI has them |
//! | `emend` | not OpenAI's: `options`, `filter`, `conditions`, `budget`, `search` and `exact` of a `Question`, and `drafts` |
//! | `n` | 1 |
//! | `response_format` | `{"type": "text"}` |
//! | `logprobs`, `tool_choice` that asks for a tool, parts of the question that are no text | refused |
//! | parts of earlier messages that are no text | passed over: a chat program sends a picture again with every later message |
//! | messages of `system`, `developer`, `tool` and `function` | not passed on: how an answer is written is a matter of the graph and its prompts |
//! | `temperature`, `top_p`, `max_tokens`, `max_completion_tokens`, `seed`, `stop`, `presence_penalty`, `frequency_penalty`, and everything else that OpenAI has | checked where it has a range, and not used |
//! | `min_p`, `top_k`, `repeat_penalty`, `repetition_penalty`, `num_ctx`, `keep_alive` and their like, which chat programs send to Ollama, llama.cpp and vLLM and to every other server | not used |
//!
//! An unknown parameter is an error.
//!
//! # What an answer has
//!
//! The text with `[1]` after each sentence that cites, the sources as footnotes, and the same as `annotations` of the kind
//! `url_citation`, whose places count code points of the content. `usage` is what the models were asked and said. An
//! abstention is an answer that says so. `emend` has the walk's `status`, its `reason` and its `traceId`.
//!
//! **A stream** sends the answer when it stands: a walk may take back what it wrote, and even what was graded as supported,
//! until it ends. With `"emend": {"drafts": true}` what is being written comes as `reasoning_content`, which clients show
//! apart from the answer.

pub(crate) mod answer;
mod chat;
mod error;
mod models;
mod request;

pub(crate) use chat::chat;
pub(crate) use error::OpenAiError;
pub(crate) use models::{list, one};

/// Whether the callers of a route read errors as OpenAI writes them.
pub(crate) fn speaks(route: &str) -> bool {
    route.starts_with("/v1/chat/") || route.starts_with("/v1/models")
}
