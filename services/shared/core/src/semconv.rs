//! Names of spans' and metrics' attributes, in one place.
//!
//! They follow the OpenTelemetry semantic conventions 1.42 (`rpc.*`, `gen_ai.*`, `server.*`, `error.*`); `emend.*` is ours.
//! The Rust crate of the conventions marks its GenAI constants as deprecated, hence our own strings.

/// The version of the conventions, sent as the schema URL of our instruments.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.42.0";

/// Always `grpc` here.
pub const RPC_SYSTEM_NAME: &str = "rpc.system.name";
/// `package.Service/Method`.
pub const RPC_METHOD: &str = "rpc.method";
/// Upper-case gRPC code, for example `OK`.
pub const RPC_RESPONSE_STATUS_CODE: &str = "rpc.response.status_code";
/// The value of [`RPC_SYSTEM_NAME`].
pub const RPC_SYSTEM_GRPC: &str = "grpc";
/// The [`RPC_METHOD`] of a call to a service that this server does not have: callers must not invent label values.
pub const RPC_METHOD_OTHER: &str = "_OTHER";
/// What went wrong, low in cardinality; absent on success.
pub const ERROR_TYPE: &str = "error.type";
/// The [`ERROR_TYPE`] of an error without a more specific one.
pub const ERROR_TYPE_OTHER: &str = "_OTHER";
/// Host name of the other side as configured.
pub const SERVER_ADDRESS: &str = "server.address";
/// `GET`, `POST`.
pub const HTTP_REQUEST_METHOD: &str = "http.request.method";
/// Status of an HTTP response, for example 200.
pub const HTTP_RESPONSE_STATUS_CODE: &str = "http.response.status_code";
/// Path of an HTTP route as it is declared, for example `/v1/graphs/{name}`.
pub const HTTP_ROUTE: &str = "http.route";
/// Histogram, seconds: an HTTP request as the server saw it.
pub const HTTP_SERVER_REQUEST_DURATION: &str = "http.server.request.duration";
/// Port of the other side.
pub const SERVER_PORT: &str = "server.port";

/// Histogram, seconds: a call as the server saw it.
pub const RPC_SERVER_CALL_DURATION: &str = "rpc.server.call.duration";
/// Histogram, seconds: a call as the client saw it.
pub const RPC_CLIENT_CALL_DURATION: &str = "rpc.client.call.duration";

/// `chat`, `embeddings`, `retrieval`, `execute_tool`, `invoke_workflow`.
pub const GEN_AI_OPERATION_NAME: &str = "gen_ai.operation.name";
/// Who serves the model: `openai`, `emend` for what runs in process.
pub const GEN_AI_PROVIDER_NAME: &str = "gen_ai.provider.name";
/// The model asked for.
pub const GEN_AI_REQUEST_MODEL: &str = "gen_ai.request.model";
/// The model that answered.
pub const GEN_AI_RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Sampling temperature asked for.
pub const GEN_AI_REQUEST_TEMPERATURE: &str = "gen_ai.request.temperature";
/// Most tokens the answer may have.
pub const GEN_AI_REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// Why the model stopped.
pub const GEN_AI_RESPONSE_FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Tokens read by the model.
pub const GEN_AI_USAGE_INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens written by the model.
pub const GEN_AI_USAGE_OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// The collection searched.
pub const GEN_AI_DATA_SOURCE_ID: &str = "gen_ai.data_source.id";
/// What was graded: `relevance`, `groundedness`, `usefulness`.
pub const GEN_AI_EVALUATION_NAME: &str = "gen_ai.evaluation.name";
/// The grade as a number.
pub const GEN_AI_EVALUATION_SCORE_VALUE: &str = "gen_ai.evaluation.score.value";
/// The grade as a word.
pub const GEN_AI_EVALUATION_SCORE_LABEL: &str = "gen_ai.evaluation.score.label";
/// The graph that was walked.
pub const GEN_AI_WORKFLOW_NAME: &str = "gen_ai.workflow.name";
/// The tool that was executed, for example `web_search`.
pub const GEN_AI_TOOL_NAME: &str = "gen_ai.tool.name";
/// `input` or `output`, on [`GEN_AI_CLIENT_TOKEN_USAGE`].
pub const GEN_AI_TOKEN_TYPE: &str = "gen_ai.token.type";
/// Histogram, seconds: one call of a model.
pub const GEN_AI_CLIENT_OPERATION_DURATION: &str = "gen_ai.client.operation.duration";
/// Histogram, tokens.
pub const GEN_AI_CLIENT_TOKEN_USAGE: &str = "gen_ai.client.token.usage";

/// Name of the caller's API key, never the key.
pub const EMEND_KEY_NAME: &str = "emend.key.name";
/// Name of the actors of a handle.
pub const EMEND_ACTOR: &str = "emend.actor";
/// Up-down counter: calls admitted and not yet done.
pub const EMEND_ACTOR_IN_FLIGHT: &str = "emend.actor.in_flight";
/// Up-down counter: calls admitted and not yet begun.
pub const EMEND_ACTOR_QUEUE_DEPTH: &str = "emend.actor.queue_depth";
/// Counter: calls refused because the actor was at its limit.
pub const EMEND_ACTOR_REJECTED: &str = "emend.actor.admissions_rejected";
/// Counter: calls whose caller was gone, or its deadline past, before the work began.
pub const EMEND_ACTOR_SKIPPED: &str = "emend.actor.skipped";
/// Counter: actors that died and were replaced.
pub const EMEND_ACTOR_RESTARTS: &str = "emend.actor.restarts";
/// Counter: servers that were left alone for a while, by [`SERVER_ADDRESS`] and [`ERROR_TYPE`] (`fails`, `silent`, `slow`).
pub const EMEND_UPSTREAM_EJECTIONS: &str = "emend.upstream.ejections";
/// Counter: calls that failed at once, because every server behind the name is left alone, by [`SERVER_ADDRESS`].
pub const EMEND_UPSTREAM_CALLS_REFUSED: &str = "emend.upstream.calls_refused";
/// Counter: failed calls that were not to be tried again, because enough were, by [`SERVER_ADDRESS`].
pub const EMEND_UPSTREAM_RETRIES_REFUSED: &str = "emend.upstream.retries_refused";
/// Counter: doubtful grades for which the second backend of a cascade was asked.
pub const EMEND_CASCADE_ASKED: &str = "emend.cascade.asked";
/// Counter: grades of the first backend of a cascade that were sure, so that the second was not asked.
pub const EMEND_CASCADE_SAVED: &str = "emend.cascade.saved";
/// Counter: grades that were found in the grader's cache, by [`GEN_AI_EVALUATION_NAME`].
pub const EMEND_GRADE_CACHE_HITS: &str = "emend.grade_cache.hits";
/// Counter: grades that were looked for in the grader's cache and not found, by [`GEN_AI_EVALUATION_NAME`].
pub const EMEND_GRADE_CACHE_MISSES: &str = "emend.grade_cache.misses";
/// A node of a graph.
pub const EMEND_NODE: &str = "emend.node";
/// What a node does when it is visited.
pub const EMEND_ACTION: &str = "emend.action";
/// Number of a step of a walk, from 1.
pub const EMEND_STEP_NUMBER: &str = "emend.step.number";
/// The outcome a node ended in.
pub const EMEND_OUTCOME: &str = "emend.outcome";
/// Which visit of its node a step is, from 1.
pub const EMEND_NODE_VISIT: &str = "emend.node.visit";
/// The node that the walk went to after a step; `finish` at the end.
pub const EMEND_EDGE_TO: &str = "emend.edge.to";
/// The condition of that edge; absent where it has none.
pub const EMEND_EDGE_CONDITION: &str = "emend.edge.condition";
/// Why that edge was taken.
pub const EMEND_EDGE_REASON: &str = "emend.edge.reason";
/// How many texts a call embeds.
pub const EMEND_EMBEDDINGS_TEXTS: &str = "emend.embeddings.texts";
/// How a walk ended.
pub const EMEND_WALK_STATUS: &str = "emend.walk.status";
/// Counter: walks by graph, status and limit.
pub const EMEND_WALKS: &str = "emend.walks";
/// The limit that ended a walk: `NONE`, `STEPS`, `MODEL_CALLS`, `TOKENS`, `WEB_SEARCHES` or `TIME`.
pub const EMEND_WALK_LIMIT: &str = "emend.walk.limit";
/// The [`GEN_AI_WORKFLOW_NAME`] of a graph that came with its question, in metrics: callers must not invent label values.
pub const EMEND_GRAPH_OF_REQUEST: &str = "_REQUEST";
/// Counter: steps of walks by [`EMEND_ACTION`] and [`EMEND_OUTCOME`].
pub const EMEND_STEPS: &str = "emend.steps";
/// Counter: grades given, by [`GEN_AI_EVALUATION_NAME`] and [`GEN_AI_EVALUATION_SCORE_LABEL`].
pub const EMEND_GRADES: &str = "emend.grades";
/// Counter: web searches, by [`EMEND_WEB_SEARCH_PROVIDER`] and, where they failed, [`ERROR_TYPE`].
pub const EMEND_WEB_SEARCHES: &str = "emend.web_searches";
/// Who was asked for pages of the web: `folder`, `tavily`, `searxng`, `brave`.
pub const EMEND_WEB_SEARCH_PROVIDER: &str = "emend.web_search.provider";
/// Histogram: steps a walk took.
pub const EMEND_WALK_STEPS: &str = "emend.walk.steps";
/// Counter: corrections by kind.
pub const EMEND_CORRECTIONS: &str = "emend.corrections";
/// The kind of a correction: `rewrite`, `regenerate`, `web_search`, `refine`.
pub const EMEND_CORRECTION_KIND: &str = "emend.correction.kind";
/// On the call of a fallback model: the model that failed before it.
pub const EMEND_LLM_FALLBACK_FOR: &str = "emend.llm.fallback.for";
/// On the call of a fallback model: the `error.type` of that failure.
pub const EMEND_LLM_FALLBACK_REASON: &str = "emend.llm.fallback.reason";
/// What a reply was constrained to: `json_schema`, `json_object` or `text`.
pub const EMEND_LLM_RESPONSE_FORMAT: &str = "emend.llm.response_format";
/// A prompt's name with its language and version.
pub const EMEND_PROMPT_VERSION: &str = "emend.prompt.version";
/// What a retrieval searched for; only where content is recorded.
pub const GEN_AI_RETRIEVAL_QUERY_TEXT: &str = "gen_ai.retrieval.query.text";
/// What it found, as a JSON array of `id`, `score` and `content`; only where content is recorded.
pub const GEN_AI_RETRIEVAL_DOCUMENTS: &str = "gen_ai.retrieval.documents";
/// What was sent to the model, and on a walk what was asked; only where content is recorded.
pub const GEN_AI_INPUT_MESSAGES: &str = "gen_ai.input.messages";
/// What the model wrote, and on a walk its answer; only where content is recorded.
pub const GEN_AI_OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
/// Frequency penalty asked for.
pub const GEN_AI_REQUEST_FREQUENCY_PENALTY: &str = "gen_ai.request.frequency_penalty";
/// Seed asked for.
pub const GEN_AI_REQUEST_SEED: &str = "gen_ai.request.seed";
/// Kind of a span, for the tracing layer.
pub const OTEL_KIND: &str = "otel.kind";
/// Name of a span, for the tracing layer.
pub const OTEL_NAME: &str = "otel.name";
/// `ERROR` on a span that failed, for the tracing layer.
pub const OTEL_STATUS_CODE: &str = "otel.status_code";
/// Why a span failed, for the tracing layer.
pub const OTEL_STATUS_DESCRIPTION: &str = "otel.status_description";
