//! Request defaults and tracing spans, shared by all chat clients.

use tokio::time::Instant;
use tracing::{Span, field};

use super::metrics::ChatMetrics;
use super::{ChatError, ChatOptions, ChatRequest, FinishReason, Usage};
use emend_core::{error_chain, fail_span, semconv};

/// A reply that may need more tokens than this is not held to the client's own limit.
const LONG_REPLY: u32 = 1024;

/// The request defaults and span attributes of one client.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    provider: &'static str,
    /// Host and port of the model's server. `None` if the model runs in this process.
    server: Option<(String, u16)>,
    temperature: f32,
    max_tokens: u32,
    seed: Option<u64>,
    frequency_penalty: Option<f32>,
    record_content: bool,
    metrics: ChatMetrics,
}

impl Caller {
    /// Creates a client with the defaults of `options`. `provider` is the value of `gen_ai.provider.name`.
    pub(super) fn new(options: &ChatOptions, provider: &'static str, server: Option<(String, u16)>) -> Self {
        Self {
            provider,
            server,
            temperature: options.llm_temperature,
            max_tokens: options.llm_max_tokens,
            seed: options.llm_seed,
            frequency_penalty: options.llm_frequency_penalty,
            record_content: options.llm_record_content,
            metrics: ChatMetrics::new(provider),
        }
    }

    /// Counts a call of `model` that began at `began`, with the usage of its reply or its error.
    pub(super) fn measured(&self, model: &str, began: Instant, ended: Result<Usage, &ChatError>) {
        self.metrics.record(model, began.elapsed(), ended);
    }

    /// Fills the unset fields of `request` with the client's defaults.
    pub(super) fn completed(&self, request: ChatRequest) -> ChatRequest {
        // A list of hundreds of verdicts does not fit into a limit that is meant for one reply.
        let of_schema = request.response_schema.as_ref().map(|schema| schema.max_tokens);
        let long = of_schema.filter(|tokens| *tokens > LONG_REPLY);
        let max_tokens = long.map_or(self.max_tokens, |tokens| tokens.max(self.max_tokens));
        ChatRequest {
            temperature: request.temperature.or(Some(self.temperature)),
            max_tokens: request.max_tokens.or(Some(max_tokens)),
            seed: request.seed.or(self.seed),
            frequency_penalty: request.frequency_penalty.or(self.frequency_penalty),
            ..request
        }
    }

    /// Creates the span of a call to `model`. `request` has its defaults filled in. The response attributes are empty
    /// and recorded later.
    pub(super) fn span(&self, model: &str, request: &ChatRequest) -> Span {
        let server = self.server.as_ref();
        let before = request.instead_of.as_ref();
        let span = tracing::info_span!(
            "chat",
            { semconv::OTEL_NAME } = format!("chat {model}"),
            { semconv::OTEL_KIND } = if server.is_some() { "client" } else { "internal" },
            { semconv::OTEL_STATUS_CODE } = field::Empty,
            { semconv::OTEL_STATUS_DESCRIPTION } = field::Empty,
            { semconv::GEN_AI_OPERATION_NAME } = "chat",
            { semconv::GEN_AI_PROVIDER_NAME } = self.provider,
            { semconv::GEN_AI_REQUEST_MODEL } = model,
            { semconv::GEN_AI_REQUEST_TEMPERATURE } = request.temperature.map(f64::from),
            { semconv::GEN_AI_REQUEST_MAX_TOKENS } = request.max_tokens,
            { semconv::GEN_AI_REQUEST_SEED } = request.seed,
            { semconv::GEN_AI_REQUEST_FREQUENCY_PENALTY } = request.frequency_penalty.map(f64::from),
            { semconv::EMEND_PROMPT_VERSION } = request.prompt.as_deref(),
            { semconv::EMEND_LLM_FALLBACK_FOR } = before.map(|before| before.model.as_str()),
            { semconv::EMEND_LLM_FALLBACK_REASON } = before.map(|before| before.reason),
            { semconv::EMEND_LLM_RESPONSE_FORMAT } = field::Empty,
            { semconv::GEN_AI_RESPONSE_MODEL } = field::Empty,
            { semconv::GEN_AI_RESPONSE_FINISH_REASONS } = field::Empty,
            { semconv::GEN_AI_USAGE_INPUT_TOKENS } = field::Empty,
            { semconv::GEN_AI_USAGE_OUTPUT_TOKENS } = field::Empty,
            { semconv::GEN_AI_INPUT_MESSAGES } = field::Empty,
            { semconv::GEN_AI_OUTPUT_MESSAGES } = field::Empty,
            { semconv::SERVER_ADDRESS } = server.map(|(host, _)| host.as_str()),
            { semconv::SERVER_PORT } = server.map(|(_, port)| *port),
            { semconv::ERROR_TYPE } = field::Empty,
        );
        if self.record_content
            && let Ok(messages) = serde_json::to_string(&request.messages)
        {
            span.record(semconv::GEN_AI_INPUT_MESSAGES, messages);
        }
        span
    }

    /// Records a complete reply of `model` in the current span.
    pub(super) fn replied(&self, model: &str, finish_reason: FinishReason, usage: Usage, text: &str) {
        let span = Span::current();
        span.record(semconv::GEN_AI_RESPONSE_MODEL, model);
        span.record(semconv::GEN_AI_RESPONSE_FINISH_REASONS, finish_reason.as_str());
        span.record(semconv::GEN_AI_USAGE_INPUT_TOKENS, usage.input_tokens);
        span.record(semconv::GEN_AI_USAGE_OUTPUT_TOKENS, usage.output_tokens);
        if self.record_content {
            span.record(semconv::GEN_AI_OUTPUT_MESSAGES, text);
        }
    }
}

/// Records the requested response format in the current span.
pub(super) fn asked_for(format: &'static str) {
    Span::current().record(semconv::EMEND_LLM_RESPONSE_FORMAT, format);
}

/// Records the error of a failed call in the current span.
pub(super) fn failed(error: &ChatError) {
    fail_span(&Span::current(), error.error_type(), &error_chain(error));
}
