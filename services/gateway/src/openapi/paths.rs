//! The operations, each with its parameters, its body and its answers.

use serde_json::{Value, json};

use super::schemas::Schemas;
use crate::openai;
use crate::problem::MEDIA_TYPE;
use crate::routes::Operation;

/// What an operation takes and gives.
struct Described {
    /// The RPC that it calls; empty for none.
    rpc: &'static str,
    summary: &'static str,
    /// The message in the body; empty for none.
    takes: &'static str,
    /// The message in the answer; empty for none.
    gives: &'static str,
    /// The message of each event, where it gives events too; empty for none.
    events: &'static str,
}

const fn described(operation: Operation) -> Described {
    const NONE: Described = Described {
        rpc: "",
        summary: "",
        takes: "",
        gives: "",
        events: "",
    };
    match operation {
        Operation::Ask => Described {
            rpc: "OrchestratorService/Ask",
            summary: "Answer a question by walking a graph",
            takes: "Question",
            gives: "WalkResult",
            events: "WalkEvent",
        },
        Operation::Search => Described {
            rpc: "RetrieverService/Retrieve",
            summary: "Find the passages nearest to a query",
            takes: "RetrieveRequest",
            gives: "RetrieveResponse",
            ..NONE
        },
        Operation::ListGraphs => Described {
            rpc: "OrchestratorService/ListGraphs",
            summary: "List the graphs",
            gives: "ListGraphsResponse",
            ..NONE
        },
        Operation::GetGraph => Described {
            rpc: "OrchestratorService/GetGraph",
            summary: "Describe a graph",
            gives: "GetGraphResponse",
            ..NONE
        },
        Operation::GetGraphMermaid => Described {
            rpc: "OrchestratorService/GetGraph",
            summary: "Draw a graph as a Mermaid flowchart",
            ..NONE
        },
        Operation::ValidateGraph => Described {
            rpc: "OrchestratorService/ValidateGraph",
            summary: "Check a graph file",
            takes: "ValidateGraphRequest",
            gives: "ValidateGraphResponse",
            ..NONE
        },
        Operation::ListCollections => Described {
            rpc: "RetrieverService/ListCollections",
            summary: "List the collections",
            gives: "ListCollectionsResponse",
            ..NONE
        },
        Operation::GetCollection => Described {
            rpc: "RetrieverService/GetCollection",
            summary: "Describe a collection",
            gives: "Collection",
            ..NONE
        },
        Operation::DeleteCollection => Described {
            rpc: "RetrieverService/DeleteCollection",
            summary: "Remove a collection with all its documents",
            gives: "DeleteCollectionResponse",
            ..NONE
        },
        Operation::ListDocuments => Described {
            rpc: "RetrieverService/ListDocuments",
            summary: "List the documents of a collection, a page at a time",
            gives: "ListDocumentsResponse",
            ..NONE
        },
        Operation::GetDocument => Described {
            rpc: "RetrieverService/GetDocument",
            summary: "Read a document back, a page of its passages at a time",
            gives: "GetDocumentResponse",
            ..NONE
        },
        Operation::ReplayWalk => Described {
            rpc: "OrchestratorService/ReplayWalk",
            summary: "Walk again what a record holds, under other options or thresholds or on another graph",
            takes: "ReplayWalkRequest",
            gives: "ReplayWalkResponse",
            ..NONE
        },
        Operation::RecordFeedback => Described {
            rpc: "OrchestratorService/RecordFeedback",
            summary: "Keep what a person says of an answer",
            takes: "Feedback",
            gives: "RecordFeedbackResponse",
            ..NONE
        },
        Operation::DeleteDocument => Described {
            rpc: "RetrieverService/DeleteDocuments",
            summary: "Remove a document and its passages",
            gives: "DeleteDocumentsResponse",
            ..NONE
        },
        Operation::UploadDocuments => Described {
            rpc: "RetrieverService/Ingest",
            summary: "Store documents",
            gives: "UploadResult",
            events: "IngestResponse",
            ..NONE
        },
        Operation::ChatCompletion => Described {
            rpc: "OrchestratorService/AskStream",
            summary: "Answer a conversation, as OpenAI's chat completions",
            takes: "ChatCompletionRequest",
            gives: "ChatCompletion",
            ..NONE
        },
        Operation::ListModels => Described {
            rpc: "OrchestratorService/ListGraphs",
            summary: "List the models, as OpenAI does: every graph over every collection",
            gives: "ModelList",
            ..NONE
        },
        Operation::GetModel => Described {
            rpc: "OrchestratorService/ListGraphs",
            summary: "Describe a model, as OpenAI does",
            gives: "Model",
            ..NONE
        },
        Operation::Mcp => Described {
            summary: "The Model Context Protocol over streamable HTTP, without sessions",
            takes: "JsonRpcMessage",
            gives: "JsonRpcMessage",
            ..NONE
        },
        Operation::OrchestratorRpc | Operation::RetrieverRpc => Described {
            summary: "gRPC-Web, for stubs generated from the contracts",
            ..NONE
        },
        Operation::OpenApi => Described {
            summary: "This document",
            ..NONE
        },
        Operation::Live => Described {
            summary: "Whether the process answers",
            ..NONE
        },
        Operation::Ready => Described {
            summary: "Whether requests can be answered",
            ..NONE
        },
    }
}

/// An operation as OpenAPI has it.
pub(super) fn describe(operation: Operation, schemas: &mut Schemas) -> Value {
    let Described {
        rpc,
        summary,
        takes,
        gives,
        events,
    } = described(operation);
    let mut told = json!({
        "operationId": format!("{operation:?}"),
        "summary": summary,
        "parameters": parameters(operation, rpc),
    });
    if let Some(comment) = schemas.rpc(rpc) {
        told["description"] = format!("Calls `emend.v1.{rpc}`. {comment}").into();
    }
    if operation == Operation::UploadDocuments {
        told["requestBody"] = form();
    } else if !takes.is_empty() {
        told["requestBody"] = json!({
            "required": true,
            "content": {"application/json": {"schema": schemas.message(takes)}},
        });
    }
    let mut content = match operation {
        Operation::GetGraphMermaid => json!({"text/vnd.mermaid": {"schema": {"type": "string"}}}),
        Operation::Live | Operation::Ready => json!({"text/plain": {"schema": {"type": "string"}}}),
        Operation::OrchestratorRpc | Operation::RetrieverRpc => {
            json!({"application/grpc-web+proto": {"schema": {"type": "string", "format": "binary"}}})
        }
        Operation::OpenApi => json!({"application/json": {"schema": {"type": "object"}}}),
        _ => json!({"application/json": {"schema": schemas.message(gives)}}),
    };
    if !events.is_empty() {
        let event = schemas.message(events);
        content["text/event-stream"] = json!({
            "schema": {"type": "string", "description": "Server-sent events; the last is `finished`, or `error` with a Problem"},
            "x-event-data": event,
        });
        content["application/x-ndjson"] = json!({
            "schema": {"type": "object", "properties": {"event": {"type": "string"}, "data": event}},
        });
    }
    if operation == Operation::ChatCompletion {
        content["text/event-stream"] = json!({
            "schema": {"type": "string", "description": "Chunks as OpenAI streams them, and `data: [DONE]`"},
        });
    }
    let (error_type, error) = if openai::speaks(operation.route().1) {
        ("application/json", "OpenAiError")
    } else {
        (MEDIA_TYPE, "Problem")
    };
    told["responses"] = json!({
        "200": {"description": "Done", "content": content},
        "default": {
            "description": "An error; `Retry-After` says when to try again",
            "content": {error_type: {"schema": schemas.message(error)}},
        },
    });
    told
}

fn parameters(operation: Operation, rpc: &str) -> Value {
    let (_, path) = operation.route();
    let in_path = |name: &str, what: &str| json!({"name": name, "in": "path", "required": true, "description": what, "schema": {"type": "string"}});
    let mut all = Vec::new();
    if path.contains("{name}") {
        let what = if path.starts_with("/v1/graphs") {
            "Name of the graph"
        } else {
            "Name of the collection"
        };
        all.push(in_path("name", what));
    }
    if path.contains("{model}") {
        all.push(in_path("model", "GRAPH@COLLECTION"));
    }
    if path.contains("{method}") {
        all.push(in_path("method", "Name of the RPC"));
    }
    if path.contains("{*id}") {
        all.push(in_path("id", "Id of the document; slashes in it may stand as they are"));
    }
    if operation == Operation::ListDocuments {
        all.push(json!({"name": "pageSize", "in": "query", "description": "Most documents to return, 1–10000; 1000 unless given", "schema": {"type": "integer", "minimum": 1, "maximum": 10000}}));
        all.push(json!({"name": "pageToken", "in": "query", "description": "`nextPageToken` of the page before", "schema": {"type": "string"}}));
    }
    if operation == Operation::GetDocument {
        all.push(json!({"name": "pageSize", "in": "query", "description": "Most passages to return, 1–1000; 100 unless given", "schema": {"type": "integer", "minimum": 1, "maximum": 1000}}));
        all.push(json!({"name": "pageToken", "in": "query", "description": "`nextPageToken` of the page before", "schema": {"type": "string"}}));
        all.push(json!({"name": "parents", "in": "query", "description": "Sections in place of the chunks that were embedded; true unless given", "schema": {"type": "boolean"}}));
    }
    if !rpc.is_empty() {
        all.push(json!({"name": "X-Request-Timeout", "in": "header", "description": "When the answer is due, at most an hour: `30s`, `250ms`, or seconds", "schema": {"type": "string"}}));
        all.push(json!({"name": "grpc-timeout", "in": "header", "description": "The same as gRPC writes it: `30S`, `250m`", "schema": {"type": "string"}}));
        all.push(json!({"name": "traceparent", "in": "header", "description": "W3C trace context of the caller", "schema": {"type": "string"}}));
    }
    all.into()
}

fn form() -> Value {
    json!({
        "required": true,
        "content": {"multipart/form-data": {"schema": {
            "type": "object",
            "properties": {
                "collection": {"type": "string", "description": "Collection of the documents after it; `default` unless given"},
                "metadata": {"type": "string", "contentMediaType": "application/json", "description": "Fields of the documents after it: a JSON object of strings"},
                "id": {"type": "string", "description": "Id of the next document; its file name unless given"},
                "title": {"type": "string", "description": "Title of the next document"},
                "source": {"type": "string", "description": "Where a person can find the next document; its file name unless given"},
                "file": {"type": "array", "description": "The documents, each a part with a file name, at most 32 MiB", "items": {"type": "string", "format": "binary"}},
            },
        }}},
    })
}
