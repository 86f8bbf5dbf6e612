//! Names of span attributes, as in OpenTelemetry's semantic conventions 1.42; Emend's own begin with `emend.`.

/// The model that was asked before in vain, on the call of the one that stands in for it.
pub(crate) const EMEND_LLM_FALLBACK_FOR: &str = "emend.llm.fallback.for";
/// Why that one gave no reply: its `error.type`.
pub(crate) const EMEND_LLM_FALLBACK_REASON: &str = "emend.llm.fallback.reason";
/// What a reply was constrained to: `json_schema`, `json_object` or `text`.
pub(crate) const EMEND_LLM_RESPONSE_FORMAT: &str = "emend.llm.response_format";
/// A prompt's name with its language and version.
pub(crate) const EMEND_PROMPT_VERSION: &str = "emend.prompt.version";
pub(crate) const ERROR_TYPE: &str = "error.type";
pub(crate) const GEN_AI_INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(crate) const GEN_AI_OPERATION_NAME: &str = "gen_ai.operation.name";
pub(crate) const GEN_AI_OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(crate) const GEN_AI_PROVIDER_NAME: &str = "gen_ai.provider.name";
pub(crate) const GEN_AI_REQUEST_FREQUENCY_PENALTY: &str = "gen_ai.request.frequency_penalty";
pub(crate) const GEN_AI_REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";
pub(crate) const GEN_AI_REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const GEN_AI_REQUEST_SEED: &str = "gen_ai.request.seed";
pub(crate) const GEN_AI_REQUEST_TEMPERATURE: &str = "gen_ai.request.temperature";
pub(crate) const GEN_AI_RESPONSE_FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(crate) const GEN_AI_RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const GEN_AI_USAGE_INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const GEN_AI_USAGE_OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const OTEL_KIND: &str = "otel.kind";
pub(crate) const OTEL_NAME: &str = "otel.name";
pub(crate) const OTEL_STATUS_CODE: &str = "otel.status_code";
pub(crate) const SERVER_ADDRESS: &str = "server.address";
pub(crate) const SERVER_PORT: &str = "server.port";
