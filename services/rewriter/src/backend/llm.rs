//! Queries from a language model.

use std::sync::Arc;

use emend_chassis::Scope;
use emend_models::chat::{Accepts, Chat, ChatError, ChatReply, FinishReason};
use emend_models::prompt::{Condense, PromptError, Prompts, Rendered, RewriteRetrieval, RewriteWebSearch, Turn, query};
use emend_models::text;
use emend_proto::v1::chat_message::Role;
use emend_proto::v1::{RewritePurpose, RewriteRequest, Usage};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Backend, KeywordBackend, Rewritten};
use crate::error::RewriteError;
use crate::queries::{Failed, MAX_QUESTION_BYTES, MAX_TOKENS, shortened, tokens};

/// Tokens of the JSON around a query.
const AROUND: usize = 32;

/// Asks a model, once more with more freedom where it repeats itself, and takes keywords where that does not help either.
#[derive(Clone)]
pub struct LlmBackend {
    chat: Arc<dyn Chat>,
    prompts: Prompts,
    retry_temperature: f32,
}

impl LlmBackend {
    /// A backend that asks `chat`. `retry_temperature`, 0–2, is that of the second attempt.
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
            // Nothing to condense: the question is what it is.
            return keywords.rewrite(request, scope).await;
        }
        let failed = Failed::new(&request.failed_queries);
        let most = longest(&request);
        let rendered = self.render(&request)?;
        let mut usage = Usage::default();
        let mut reason = "no new query";
        for temperature in [None, Some(self.retry_temperature)] {
            let mut asked = rendered.clone().request();
            asked.max_tokens = u32::try_from(most + AROUND).ok();
            asked.temperature = temperature;
            asked.deadline = Some(scope.deadline.instant());
            asked.accepts = Accepts::only(|reply| said(reply).is_some());
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
                    let said = said(&reply);
                    // Half a question is another question.
                    let whole = |said| if condenses { said } else { shortened(said, most) };
                    match said.as_deref().map(whole) {
                        Some(said) if condenses && said.len() > MAX_QUESTION_BYTES => {
                            reason = "the model's question is too long";
                        }
                        Some(said) if condenses || failed.allows(said) => {
                            return Ok(Rewritten {
                                query: said.to_owned(),
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
                        // The first reply has been paid for: better its keywords than nothing.
                        _ if usage.model_calls > 0 => "the model could not be asked again",
                        _ => return Err(error.into()),
                    };
                    usage.model_calls += receipt.calls();
                    tracing::warn!(%error, "taking keywords instead of the model's query");
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
        let language = text::language(question);
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

/// The query of a reply. One that was cut has no end of its JSON, and what is read from it would be half a query.
fn said(reply: &ChatReply) -> Option<String> {
    let cut = reply.finish_reason == FinishReason::Length && reply.text.contains('{');
    query(&reply.text).filter(|_| !cut)
}

/// The query's limit in tokens: the request's, or else the service's, and room for the question where that comes back.
fn longest(request: &RewriteRequest) -> usize {
    let asked = request.max_tokens.and_then(|tokens| usize::try_from(tokens).ok());
    asked.unwrap_or_else(|| match request.purpose() {
        RewritePurpose::Condense => MAX_TOKENS + tokens(&request.question),
        _ => MAX_TOKENS,
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
mod tests {
    use emend_chassis::{Code, ServiceError};
    use emend_models::chat::scripted::Scripted;
    use emend_models::prompt::PromptOptions;
    use emend_proto::v1::ChatMessage;

    use super::*;

    fn backend(chat: &Scripted) -> LlmBackend {
        LlmBackend::new(
            Arc::new(chat.clone()),
            Prompts::load(&PromptOptions::default()).unwrap(),
            0.8,
        )
    }

    fn request(purpose: RewritePurpose, failed: &[&str]) -> RewriteRequest {
        RewriteRequest {
            question: "When was the boiler in the old mill installed?".to_owned(),
            failed_queries: failed.iter().map(|query| (*query).to_owned()).collect(),
            purpose: purpose.into(),
            ..RewriteRequest::default()
        }
    }

    async fn rewrite(chat: &Scripted, request: RewriteRequest) -> Rewritten {
        backend(chat).rewrite(request, Scope::for_tests()).await.unwrap()
    }

    #[tokio::test]
    async fn the_models_query_is_cleaned_and_the_prompt_holds_question_and_failures() {
        let chat = Scripted::replies(["Rewritten query: \"mill boiler installation year\""]);
        let rewritten = rewrite(&chat, request(RewritePurpose::Retrieval, &["old mill heating"])).await;
        assert_eq!(rewritten.query, "mill boiler installation year");
        assert_eq!((rewritten.usage.model_calls, rewritten.fallback), (1, None));
        let asked = &chat.requests()[0];
        let said: String = asked.messages.iter().map(|message| message.content.as_str()).collect();
        assert!(said.contains("When was the boiler in the old mill installed?") && said.contains("old mill heating"));
        assert!(asked.deadline.is_some() && asked.max_tokens.is_some());
        let reads = |text: &str, finish_reason| {
            asked.accepts.reads(&ChatReply {
                text: text.to_owned(),
                model: "m".to_owned(),
                usage: emend_models::chat::Usage::default(),
                finish_reason,
                logprobs: Vec::new(),
            })
        };
        assert!(reads("{\"query\": \"mill\"}", FinishReason::Stop));
        assert!(!reads("{\"query\": \"mill\"", FinishReason::Length) && !reads("{}", FinishReason::Stop));
    }

    #[tokio::test]
    async fn a_repetition_is_asked_again_with_more_freedom() {
        let chat = Scripted::replies(["{\"query\": \"Old  MILL heating\"}", "{\"query\": \"mill boiler age\"}"]);
        let rewritten = rewrite(&chat, request(RewritePurpose::WebSearch, &["old mill heating"])).await;
        assert_eq!(
            (rewritten.query.as_str(), rewritten.usage.model_calls),
            ("mill boiler age", 2)
        );
        let temperatures: Vec<_> = chat.requests().iter().map(|request| request.temperature).collect();
        assert_eq!(temperatures, [None, Some(0.8)]);
    }

    #[tokio::test]
    async fn a_model_that_has_nothing_new_gives_way_to_keywords() {
        for (replies, reason) in [
            (
                ["{\"query\": \"old mill heating\"}", "old mill heating?"],
                "the model repeated a failed query",
            ),
            (["", "?"], "the model's reply held no query"),
        ] {
            let chat = Scripted::replies(replies);
            let rewritten = rewrite(&chat, request(RewritePurpose::Retrieval, &["old mill heating"])).await;
            assert_eq!(rewritten.query, "boiler old mill installed");
            assert_eq!((rewritten.usage.model_calls, rewritten.fallback), (2, Some(reason)));
        }
    }

    #[tokio::test]
    async fn a_model_that_is_gone_is_an_error_first_and_a_fallback_later() {
        let gone = Scripted::replies(Vec::<String>::new());
        let error = backend(&gone)
            .rewrite(request(RewritePurpose::Retrieval, &[]), Scope::for_tests())
            .await
            .unwrap_err();
        assert_eq!(error.code(), Code::Unavailable);
        let going = Scripted::replies(["{\"query\": \"old mill heating\"}"]);
        let rewritten = rewrite(&going, request(RewritePurpose::Retrieval, &["old mill heating"])).await;
        assert_eq!(rewritten.fallback, Some("the model could not be asked again"));
        let refusing = Scripted::answering(|request| {
            request.receipt.wasted(emend_models::chat::Usage {
                input_tokens: 30,
                output_tokens: 4,
            });
            Err(ChatError::Refused {
                model: "m".to_owned(),
                reason: "no".to_owned(),
            })
        });
        let rewritten = rewrite(&refusing, request(RewritePurpose::Retrieval, &[])).await;
        assert_eq!(
            (rewritten.query.as_str(), rewritten.fallback),
            ("boiler old mill installed", Some("the model refused"))
        );
        let usage = rewritten.usage;
        assert_eq!((usage.model_calls, usage.input_tokens, usage.output_tokens), (1, 30, 4));
    }

    #[tokio::test]
    async fn condensing_shows_the_conversation_and_costs_nothing_without_one() {
        let chat = Scripted::replies(["{\"query\": \"Who built the old mill?\"}"]);
        let follow_up = RewriteRequest {
            question: "Who built it?".to_owned(),
            ..request(RewritePurpose::Condense, &[])
        };
        let rewritten = rewrite(&chat, follow_up.clone()).await;
        assert_eq!(
            (rewritten.query.as_str(), rewritten.usage.model_calls),
            ("Who built it?", 0)
        );
        let turn = |role: Role, content: &str| ChatMessage {
            role: role.into(),
            content: content.to_owned(),
        };
        let history = vec![
            turn(Role::User, "Where is the old mill?"),
            turn(Role::Assistant, "By the river."),
        ];
        let rewritten = rewrite(&chat, RewriteRequest { history, ..follow_up }).await;
        assert_eq!(rewritten.query, "Who built the old mill?");
        let said: String = chat.requests()[0]
            .messages
            .iter()
            .map(|message| message.content.clone())
            .collect();
        assert!(said.contains("By the river.") && said.contains("Where is the old mill?"));
    }
}
