//! What a server can do, found out with one short call.

use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::dialect::Feature;
use super::{OpenAi, invalid};
use crate::chat::{Chat, ChatDelta, ChatError, ChatOptions, ChatRequest, Message, ResponseSchema};

/// What a server showed of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatProbe {
    /// A JSON schema was accepted, and the reply fits it.
    pub json_schema: bool,
    /// Log-probabilities came with the reply.
    pub logprobs: bool,
    /// The reply came in more than one piece.
    pub streaming: bool,
    /// Until the first piece.
    pub first: Duration,
    /// Until the end.
    pub whole: Duration,
}

impl ChatOptions {
    /// Asks the model of `--llm-url` one short question, and no fallback model. What the server rejects is left out and
    /// asked for again, as in any call.
    ///
    /// # Errors
    /// The errors of [`ChatOptions::connect`] and of the call.
    pub async fn probe(&self) -> Result<ChatProbe, ChatError> {
        self.check()?;
        let url = self.llm_url.as_deref();
        let url = url.ok_or_else(|| invalid("--llm-url", "there is no server to ask".to_owned()))?;
        let chat = OpenAi::new(self, url)?;
        let request = ChatRequest {
            response_schema: Some(ResponseSchema {
                name: "Probe",
                schema: json!({
                    "type": "object",
                    "properties": { "colour": { "type": "string" } },
                    "required": ["colour"],
                    "additionalProperties": false,
                }),
                max_tokens: 64,
            }),
            top_logprobs: 2,
            may_be_empty: true,
            ..ChatRequest::new(vec![Message::user(
                "Which colour has the clear sky at noon? Reply with JSON: {\"colour\": …}",
            )])
        };
        let began = Instant::now();
        let mut deltas = chat.stream(request);
        let (mut text, mut pieces, mut logprobs, mut first) = (String::new(), 0, false, None);
        while let Some(delta) = deltas.next().await {
            match delta? {
                ChatDelta::Text(piece) => {
                    first.get_or_insert_with(|| began.elapsed());
                    pieces += 1;
                    text.push_str(&piece);
                }
                ChatDelta::Logprobs(_) => logprobs = true,
                ChatDelta::Finished { .. } => {}
            }
        }
        let whole = began.elapsed();
        let fits = serde_json::from_str::<Value>(&text).is_ok_and(|reply| reply["colour"].is_string());
        Ok(ChatProbe {
            json_schema: fits && chat.inner.dialect.has(Feature::JsonSchema),
            logprobs,
            streaming: pieces > 1,
            first: first.unwrap_or(whole),
            whole,
        })
    }
}
