//! The limits that several services share (R15). What only one service limits stands in its `validate.rs`.

/// Longest question, query, and message of a conversation, in bytes.
pub const MAX_QUESTION_BYTES: usize = 8 * 1024;
/// Longest answer, in bytes; also its sentences together.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// Most sentences of an answer; also of those that a grader is given.
pub const MAX_ANSWER_SENTENCES: usize = 2000;
/// Longest answer, and longest query, in a model's tokens.
pub const MAX_TOKENS: u32 = 8192;
/// Most messages of a conversation.
pub const MAX_HISTORY: usize = 50;
/// Most queries that failed before.
pub const MAX_FAILED_QUERIES: usize = 50;
/// Most passages of a request.
pub const MAX_PASSAGES: usize = 100;
/// Most passages that a query is rewritten with.
pub const MAX_REWRITE_PASSAGES: usize = 20;
/// Longest passage, in bytes.
pub const MAX_PASSAGE_BYTES: usize = 64 * 1024;
/// Longest title that is stored and read, in bytes; of a longer one its beginning.
pub const MAX_TITLE_BYTES: usize = 1024;
/// Most headings above a passage.
pub const MAX_HEADINGS: usize = 8;
/// Longest heading above a passage, in characters.
pub const MAX_HEADING_CHARS: usize = 200;
/// Largest request that carries evidence: the most passages at their longest, an answer, a conversation, and what
/// surrounds them; in bytes.
pub const MAX_EVIDENCE_REQUEST_BYTES: usize = 8 * 1024 * 1024;
/// Most strips that a refinement keeps.
pub const MAX_STRIPS: u32 = 100;
/// Most passages that a web search returns.
pub const MAX_WEB_RESULTS: u32 = 50;
/// Largest graph file, in bytes. The largest of the built-in ones has less than 5 KiB.
pub const MAX_GRAPH_BYTES: usize = 64 * 1024;
/// Most fields of a filter, and of a document's metadata.
pub const MAX_FILTERS: usize = 64;
/// Largest document, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 32 * 1024 * 1024;
/// Largest message between a caller and the orchestrator, in bytes as encoded: what gRPC clients take unless they are told
/// otherwise.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Largest result of a walk, and largest step in an event, in bytes as encoded; the rest of a message has room beside it.
pub const MAX_RESULT_BYTES: usize = MAX_MESSAGE_BYTES - 64 * 1024;
