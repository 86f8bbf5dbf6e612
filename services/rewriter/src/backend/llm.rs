//! Query rewriting with a language model.

use std::sync::Arc;

use emend_core::{Scope, Turns};
use emend_models::chat::{Accepts, Chat, ChatError, ChatReply, FinishReason, ModelFailure};
use emend_models::prompt::{Condense, PromptError, Prompts, Rendered, RewriteRetrieval, RewriteWebSearch, Turn, query};
use emend_proto::v1::chat_message::Role;
use emend_proto::v1::{RewritePurpose, RewriteRequest, Usage};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Backend, KeywordBackend, Rewritten};
use crate::error::RewriteError;
use crate::queries::{DEFAULT_MAX_TOKENS, FailedQueries, estimated_tokens, truncated};
use emend_core::limits::MAX_QUESTION_BYTES;

/// Output tokens reserved for the JSON around a query.
const JSON_OVERHEAD_TOKENS: usize = 32;

/// Asks a model, retries once at a higher temperature if it repeats a failed query, and then falls back to keywords.
#[derive(Clone)]
pub struct LlmBackend {
    chat: Arc<dyn Chat>,
    prompts: Prompts,
    retry_temperature: f32,
}

impl LlmBackend {
    /// Creates a backend that asks `chat`. `retry_temperature`, 0–2, applies to the second attempt.
    pub fn new(chat: Arc<dyn Chat>, prompts: Prompts, retry_temperature: f32) -> Self {
        Self {
            chat,
            prompts,
            retry_temperature,
        }
    }

    async fn ask(&self, request: RewriteRequest, scope: Scope) -> Result<Rewritten, RewriteError> {
        let keywords = KeywordBackend;
        let condenses = request.purpose() == RewritePurpose::Condense;
        if condenses && request.history.is_empty() {
            // Without a history there is nothing to condense.
            return keywords.rewrite(request, scope).await;
        }
        let failed = FailedQueries::new(&request.failed_queries);
        let max_tokens = max_query_tokens(&request);
        let (backend, own) = (self.clone(), request.clone());
        let bytes = request.question.len() + request.passages.iter().map(|passage| passage.text.len()).sum::<usize>();
        let rendered = Turns::shared().piece(bytes, move || backend.render(&own)).await??;
        let mut usage = Usage::default();
        let mut reason = "no new query";
        for temperature in [None, Some(self.retry_temperature)] {
            let mut asked = rendered.clone().request();
            asked.max_tokens = u32::try_from(max_tokens + JSON_OVERHEAD_TOKENS).ok();
            asked.temperature = temperature;
            asked.deadline = Some(scope.deadline.instant());
            asked.accepts = Accepts::only(|reply| parse_query(reply).is_some());
            let receipt = asked.receipt.clone();
            let replied = self.chat.complete(asked).await;
            let waste = receipt.waste();
            usage.input_tokens += waste.input_tokens;
            usage.output_tokens += waste.output_tokens;
            match replied {
                Ok(reply) => {
                    usage.model_calls += receipt.calls().max(1);
                    usage.input_tokens += reply.usage.input_tokens;
                    usage.output_tokens += reply.usage.output_tokens;
                    let query = parse_query(&reply);
                    // A truncated question would be a different question.
                    let whole = |query| if condenses { query } else { truncated(query, max_tokens) };
                    match query.as_deref().map(whole) {
                        Some(query) if condenses && query.len() > MAX_QUESTION_BYTES => {
                            reason = "the model's question is too long";
                        }
                        Some(query) if condenses || failed.allows(query) => {
                            return Ok(Rewritten {
                                query: query.to_owned(),
                                usage,
                                fallback: None,
                            });
                        }
                        Some(_) => reason = "the model repeated a failed query",
                        None => reason = "the model's reply held no query",
                    }
                }
                Err(error) => {
                    reason = match &error {
                        ChatError::Refused { .. } => "the model refused",
                        ChatError::BadReply { .. } => "the model sent a bad reply",
                        // The first call has already been made: fall back to keywords rather than fail.
                        _ if usage.model_calls > 0 => "the model could not be asked again",
                        _ => return Err(RewriteError::Model(ModelFailure::new(error, &receipt))),
                    };
                    usage.model_calls += receipt.calls();
                    tracing::warn!(%error, "model failed to rewrite the query, falling back to keywords");
                    break;
                }
            }
        }
        let fallback = keywords.rewrite(request, scope).await?;
        Ok(Rewritten {
            query: fallback.query,
            usage,
            fallback: Some(reason),
        })
    }

    fn render(&self, request: &RewriteRequest) -> Result<Rendered, PromptError> {
        let question = request.question.as_str();
        let language = emend_text::language(question);
        let failed_queries: Vec<&str> = request.failed_queries.iter().map(String::as_str).collect();
        match request.purpose() {
            RewritePurpose::Condense => {
                let history: Vec<Turn<'_>> = request
                    .history
                    .iter()
                    .map(|message| Turn {
                        role: if message.role() == Role::Assistant {
                            "assistant"
                        } else {
                            "user"
                        },
                        text: &message.content,
                    })
                    .collect();
                let input = Condense {
                    question,
                    history: &history,
                    language,
                };
                self.prompts.render(&input, language)
            }
            RewritePurpose::WebSearch => {
                let input = RewriteWebSearch {
                    question,
                    failed_queries: &failed_queries,
                    language,
                };
                self.prompts.render(&input, language)
            }
            RewritePurpose::Retrieval | RewritePurpose::Unspecified => {
                let input = RewriteRetrieval {
                    question,
                    failed_queries: &failed_queries,
                    language,
                };
                self.prompts.render(&input, language)
            }
        }
    }
}

/// The query in a reply. A reply that was cut off within its JSON has none, as it would be half a query.
fn parse_query(reply: &ChatReply) -> Option<String> {
    let cut = reply.finish_reason == FinishReason::Length && reply.text.contains('{');
    query(&reply.text).filter(|_| !cut)
}

/// The maximum length of the query in tokens: that of the request, or the default. A condensed question gets the length
/// of the question in addition, since it repeats it.
fn max_query_tokens(request: &RewriteRequest) -> usize {
    let asked = request.max_tokens.and_then(|tokens| usize::try_from(tokens).ok());
    asked.unwrap_or_else(|| match request.purpose() {
        RewritePurpose::Condense => DEFAULT_MAX_TOKENS + estimated_tokens(&request.question),
        _ => DEFAULT_MAX_TOKENS,
    })
}

impl Backend for LlmBackend {
    fn name(&self) -> &'static str {
        "llm"
    }

    fn rewrite(&self, request: RewriteRequest, scope: Scope) -> BoxFuture<'_, Result<Rewritten, RewriteError>> {
        self.ask(request, scope).boxed()
    }
}

#[cfg(test)]
mod tests;
