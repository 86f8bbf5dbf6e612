//! The tools as clients, and the models behind them, see them.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Arguments of `ask`: fields of a `Question`.
pub(super) const ASK: [&str; 9] = [
    "question",
    "collection",
    "graph",
    "options",
    "filter",
    "conditions",
    "search",
    "exact",
    "webOff",
];
/// Arguments of `search`: fields of a `RetrieveRequest`.
pub(super) const SEARCH: [&str; 7] = ["query", "collection", "topK", "filter", "conditions", "mode", "exact"];
/// Arguments of `ingest`.
pub(super) const INGEST: [&str; 2] = ["collection", "documents"];
/// Fields of a document of `ingest`.
pub(super) const DOCUMENT: [&str; 5] = ["id", "text", "title", "source", "metadata"];
/// Arguments of `explain_walk`.
pub(super) const EXPLAIN_WALK: [&str; 1] = ["walk"];

const MODES: [&str; 3] = ["SEARCH_MODE_DENSE", "SEARCH_MODE_SPARSE", "SEARCH_MODE_HYBRID"];

fn schema(properties: Value, required: &[&str]) -> Arc<JsonObject> {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

fn reads(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title).read_only(true).open_world(false)
}

/// Whether a tool has an argument `collection`.
pub(super) fn has_collection(name: &str) -> bool {
    matches!(name, "ask" | "search" | "ingest")
}

/// All tools.
pub(super) fn all() -> Vec<Tool> {
    let collection =
        json!({"type": "string", "description": "Collection; `default` unless given. list_collections names them"});
    let filter = json!({"type": "object", "additionalProperties": {"type": "string"}, "description": "Only documents whose metadata has all these values"});
    let bound = |what: &str| json!({"type": "string", "description": what});
    let conditions = json!({
        "type": "array",
        "description": "Only documents whose metadata meets all of these",
        "items": {
            "type": "object",
            "description": "A field, and one of oneOf, range and exists",
            "required": ["field"],
            "additionalProperties": false,
            "properties": {
                "field": {"type": "string"},
                "oneOf": {
                    "type": "object",
                    "required": ["values"],
                    "additionalProperties": false,
                    "properties": {"values": {"type": "array", "minItems": 1, "items": {"type": "string"}}},
                },
                "range": {
                    "type": "object",
                    "description": "Of numbers or of ISO 8601 times, as text",
                    "additionalProperties": false,
                    "properties": {
                        "gt": bound("Greater than"), "gte": bound("At least"),
                        "lt": bound("Less than"), "lte": bound("At most"),
                    },
                },
                "exists": {"type": "boolean", "description": "Whether the document has the field"},
            },
        },
    });
    let exact = json!({"type": "boolean", "description": "Compare every embedding: slower, misses nothing"});
    let search = |what: &str| json!({"type": "string", "enum": MODES, "description": what});
    vec![
        Tool::new(
            "ask",
            "Answers a question from the documents of a collection. The answer is graded against the passages that it cites; \
             where they do not answer, it says so instead of guessing. Returns the answer with numbered citations, and the \
             passages as resources.",
            schema(
                json!({
                    "question": {"type": "string", "description": "What is asked, at most 8 KiB, in any language"},
                    "collection": collection,
                    "graph": {"type": "string", "description": "Graph to walk; the service's default unless given"},
                    "options": {"type": "object", "additionalProperties": {"type": "number"}, "description": "Options of the graph, for instance top_k or max_retries"},
                    "filter": filter,
                    "conditions": conditions,
                    "exact": exact,
                    "webOff": {"type": "boolean", "description": "Leave the web alone, also where the graph would search it"},
                    "search": search("How the documents are searched; as the graph says unless given"),
                }),
                &["question"],
            ),
        )
        // A graph may search the web, where that is configured.
        .annotate(ToolAnnotations::with_title("Ask the documents").read_only(true).open_world(true)),
        Tool::new(
            "search",
            "Finds the passages of a collection that are nearest to a query, best first, without writing an answer.",
            schema(
                json!({
                    "query": {"type": "string", "description": "What to look for, at most 8 KiB"},
                    "collection": collection,
                    "topK": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many passages; 4 unless given"},
                    "filter": filter,
                    "conditions": conditions,
                    "exact": exact,
                    "mode": search("By meaning, by words, or both; both unless given"),
                }),
                &["query"],
            ),
        )
        .annotate(reads("Search the documents")),
        Tool::new(
            "ingest",
            "Stores texts as documents of a collection, which the first one creates. A document with an id that is there is \
             replaced.",
            schema(
                json!({
                    "collection": collection,
                    "documents": {
                        "type": "array",
                        "minItems": 1,
                        "maxItems": super::ingest::MAX_DOCUMENTS,
                        "items": {
                            "type": "object",
                            "required": ["id", "text"],
                            "additionalProperties": false,
                            "properties": {
                                "id": {"type": "string", "description": "Identifier within the collection, for instance a path"},
                                "text": {"type": "string", "description": "Plain text, Markdown or HTML"},
                                "title": {"type": "string"},
                                "source": {"type": "string", "description": "Where a person can find it: a path or a URL; the id unless given"},
                                "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
                            },
                        },
                    },
                }),
                &["documents"],
            ),
        )
        .annotate(
            ToolAnnotations::with_title("Store documents")
                .read_only(false)
                .destructive(true)
                .idempotent(true)
                .open_world(false),
        ),
        Tool::new(
            "list_collections",
            "Lists the collections with the number of their documents.",
            schema(json!({}), &[]),
        )
        .annotate(reads("List the collections")),
        Tool::new(
            "explain_walk",
            "Explains how an answer of `ask` came about: every step, what it found and dropped, why it went on as it did.",
            schema(
                json!({"walk": {"type": "string", "description": "The `walk` that `ask` returned; the latest are kept"}}),
                &["walk"],
            ),
        )
        .annotate(reads("Explain an answer")),
    ]
}
