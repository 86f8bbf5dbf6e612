//! Messages of the contracts as JSON Schema (2020-12), by protobuf's JSON mapping.

use std::collections::{BTreeMap, HashMap, VecDeque};

use emend_core::Reason;
use prost_reflect::{DescriptorPool, EnumDescriptor, FieldDescriptor, FileDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value, json};

/// Where a schema stands in the document.
fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The schemas that are referred to, and those that they refer to.
pub(super) struct Schemas {
    pool: &'static DescriptorPool,
    comments: HashMap<(String, Vec<i32>), String>,
    waiting: VecDeque<Kind>,
    made: BTreeMap<String, Value>,
}

impl Schemas {
    pub(super) fn new() -> Result<Self, emend_json::JsonError> {
        let pool = emend_json::pool()?;
        let mut made = BTreeMap::new();
        made.insert("Problem".to_owned(), problem());
        made.insert("UploadResult".to_owned(), upload_result());
        made.insert(
            "JsonRpcMessage".to_owned(),
            json!({"type": "object", "properties": {"jsonrpc": {"const": "2.0"}}, "additionalProperties": true}),
        );
        made.extend(openai().into_iter().map(|(name, schema)| (name.to_owned(), schema)));
        Ok(Self {
            pool,
            comments: pool.files().flat_map(|file| comments(&file)).collect(),
            waiting: VecDeque::new(),
            made,
        })
    }

    /// A reference to a message of `emend.v1`, or to one of the gateway's own.
    pub(super) fn message(&mut self, name: &str) -> Value {
        let full = format!("{}.{name}", emend_json::PACKAGE);
        if let Some(message) = self.pool.get_message_by_name(&full) {
            return self.kind(&Kind::Message(message));
        }
        reference(name)
    }

    /// The name and comment of an RPC, for instance of `OrchestratorService/Ask`.
    pub(super) fn rpc(&self, name: &str) -> Option<String> {
        let (service, method) = name.split_once('/')?;
        let service = self.pool.services().find(|known| known.name() == service)?;
        let method = service.methods().find(|known| known.name() == method)?;
        let path: Vec<i32> = method.path().to_vec();
        self.comments
            .get(&(service.parent_file().name().to_owned(), path))
            .cloned()
    }

    pub(super) fn finish(mut self) -> Value {
        while let Some(kind) = self.waiting.pop_front() {
            match kind {
                Kind::Message(message) => {
                    let name = name(message.full_name());
                    if !self.made.contains_key(&name) {
                        // Before its fields: a message may be a field of itself.
                        self.made.insert(name.clone(), Value::Null);
                        let schema = self.object(&message);
                        self.made.insert(name, schema);
                    }
                }
                Kind::Enum(values) => {
                    let schema = self.values(&values);
                    self.made.insert(name(values.full_name()), schema);
                }
                _ => {}
            }
        }
        self.made.into_iter().collect::<Map<_, _>>().into()
    }

    fn object(&mut self, message: &MessageDescriptor) -> Value {
        let mut properties = Map::new();
        for field in message.fields() {
            properties.insert(field.json_name().to_owned(), self.field(&field));
        }
        let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
        if let Some(comment) = self.comment(&message.parent_file(), message.path()) {
            schema["description"] = comment.into();
        }
        schema
    }

    fn field(&mut self, field: &FieldDescriptor) -> Value {
        let mut schema = if field.is_map() {
            let Kind::Message(entry) = field.kind() else {
                return Value::Null;
            };
            let value = self.kind(&entry.map_entry_value_field().kind());
            json!({"type": "object", "additionalProperties": value})
        } else if field.is_list() {
            json!({"type": "array", "items": self.kind(&field.kind())})
        } else {
            self.kind(&field.kind())
        };
        let mut comment = self.comment(&field.parent_file(), field.path());
        if let Some(oneof) = field.containing_oneof().filter(|oneof| !oneof.is_synthetic()) {
            let others = format!("At most one of the `{}` is set.", oneof.name());
            comment = Some(comment.map_or(others.clone(), |comment| format!("{comment} {others}")));
        }
        if let Some(comment) = comment {
            schema["description"] = comment.into();
        }
        schema
    }

    fn kind(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Double | Kind::Float => json!({"type": "number", "format": "double"}),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => json!({"type": "integer", "format": "int32"}),
            Kind::Uint32 | Kind::Fixed32 => json!({"type": "integer", "format": "uint32", "minimum": 0}),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => json!({"type": "string", "format": "int64"}),
            Kind::Uint64 | Kind::Fixed64 => json!({"type": "string", "format": "uint64"}),
            Kind::Bool => json!({"type": "boolean"}),
            Kind::String => json!({"type": "string"}),
            Kind::Bytes => json!({"type": "string", "contentEncoding": "base64"}),
            Kind::Message(message) => match message.full_name() {
                "google.protobuf.Duration" => json!({"type": "string", "examples": ["1.5s"]}),
                "google.protobuf.Timestamp" => json!({"type": "string", "format": "date-time"}),
                full => {
                    self.waiting.push_back(kind.clone());
                    reference(&name(full))
                }
            },
            Kind::Enum(values) => {
                self.waiting.push_back(kind.clone());
                reference(&name(values.full_name()))
            }
        }
    }

    fn values(&self, values: &EnumDescriptor) -> Value {
        let file = values.parent_file();
        let mut description = self.comment(&file, values.path()).unwrap_or_default();
        let names: Vec<String> = values.values().map(|value| value.name().to_owned()).collect();
        for value in values.values() {
            if let Some(comment) = self.comment(&file, value.path()) {
                description.push_str(&format!("\n- `{}`: {comment}", value.name()));
            }
        }
        json!({"type": "string", "enum": names, "description": description})
    }

    fn comment(&self, file: &FileDescriptor, path: &[i32]) -> Option<String> {
        self.comments.get(&(file.name().to_owned(), path.to_vec())).cloned()
    }
}

/// `emend.v1.ChatMessage.Role` as `ChatMessage.Role`.
fn name(full: &str) -> String {
    full.strip_prefix("emend.v1.").unwrap_or(full).to_owned()
}

/// The comments of a file, by the place of what they are about, each on one line.
fn comments(file: &FileDescriptor) -> Vec<((String, Vec<i32>), String)> {
    let info = file.file_descriptor_proto().source_code_info.as_ref();
    let locations = info.map(|info| info.location.as_slice()).unwrap_or_default();
    locations
        .iter()
        .filter_map(|location| {
            let comment = location
                .leading_comments()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            let place = (file.name().to_owned(), location.path.clone());
            (!comment.is_empty()).then_some((place, comment))
        })
        .collect()
}

fn problem() -> Value {
    let reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    json!({
        "type": "object",
        "description": "An error, as RFC 9457 has it",
        "required": ["type", "title", "status", "detail", "code", "reason"],
        "properties": {
            "type": {"type": "string", "examples": ["urn:emend:problem:COLLECTION_NOT_FOUND"]},
            "title": {"type": "string", "description": "The HTTP status in words"},
            "status": {"type": "integer", "description": "The HTTP status"},
            "detail": {"type": "string", "description": "What was wrong, with which value, and what to do"},
            "code": {"type": "string", "description": "The name of the gRPC code", "examples": ["NOT_FOUND"]},
            "reason": {"type": "string", "description": "What went wrong; `type` ends with it", "enum": reasons},
            "resource": {
                "type": "object",
                "description": "What the reason is about",
                "required": ["type", "name"],
                "properties": {
                    "type": {"type": "string", "enum": ["collection", "document", "graph"]},
                    "name": {"type": "string"},
                },
            },
            "metadata": {"type": "object", "additionalProperties": {"type": "string"}, "description": "What belongs to the reason"},
            "errors": {
                "type": "array",
                "description": "Every wrong field",
                "items": {
                    "type": "object",
                    "required": ["field", "description"],
                    "properties": {
                        "field": {"type": "string", "examples": ["history[0].content"]},
                        "description": {"type": "string"},
                    },
                },
            },
            "retryAfter": {"type": "number", "description": "Seconds after which to try again"},
        },
    })
}

fn upload_result() -> Value {
    json!({
        "type": "object",
        "description": "What became of the documents of an upload",
        "properties": {
            "documents": {"type": "array", "items": reference("IngestResponse")},
            "ingested": {"type": "integer"},
            "unchanged": {"type": "integer"},
            "failed": {"type": "integer"},
        },
    })
}

/// What is told of OpenAI's own messages, whose whole description is OpenAI's.
fn openai() -> [(&'static str, Value); 5] {
    let open = |description: &str, properties: Value| json!({"type": "object", "description": description, "properties": properties, "additionalProperties": true});
    let walk = json!({
        "type": "object",
        "description": "How the walk ended: not OpenAI's",
        "properties": {
            "status": {"type": "string", "enum": ["ANSWERED", "UNVERIFIED", "UNGROUNDED", "ABSTAINED"]},
            "reason": {"type": "string"},
            "graph": {"type": "string"},
            "traceId": {"type": "string"},
            "groundedness": {"type": ["number", "null"]},
            "usefulness": {"type": ["number", "null"]},
        },
    });
    let request = json!({
        "model": {"type": "string", "description": "GRAPH@COLLECTION", "examples": ["self-corrective-rag@handbook"]},
        "messages": {"type": "array", "description": "The conversation; the last message, of the user, is the question", "items": {"type": "object"}},
        "stream": {"type": "boolean"},
        "stream_options": {"type": "object", "properties": {"include_usage": {"type": "boolean"}}},
        "emend": {
            "type": "object",
            "description": "Not OpenAI's: these fields of a Question, and whether drafts are streamed as reasoning_content",
            "properties": {
                "options": {"type": "object", "additionalProperties": {"type": "number"}},
                "filter": {"type": "object", "additionalProperties": {"type": "string"}},
                "conditions": {"type": "array", "items": reference("FieldCondition")},
                "exact": {"type": "boolean"},
                "web_off": {"type": "boolean"},
                "budget": {"type": "object"},
                "search": {"type": "string"},
                "drafts": {"type": "boolean"},
            },
        },
    });
    let completion = json!({
        "choices": {"type": "array", "items": {"type": "object"}},
        "usage": {"type": "object", "description": "What the models were asked and said, in tokens"},
        "emend": walk,
    });
    let model = json!({"id": {"type": "string"}, "object": {"const": "model"}, "created": {"type": "integer"}, "owned_by": {"type": "string"}});
    let error = json!({"error": {"type": "object", "properties": {
        "message": {"type": "string"},
        "type": {"type": "string"},
        "param": {"type": ["string", "null"]},
        "code": {"type": ["string", "null"]},
    }}});
    [
        (
            "ChatCompletionRequest",
            open("OpenAI's request; other parameters are checked and not used", request),
        ),
        ("ChatCompletion", open("OpenAI's completion", completion)),
        ("Model", open("OpenAI's model", model)),
        (
            "ModelList",
            open(
                "OpenAI's list",
                json!({"object": {"const": "list"}, "data": {"type": "array", "items": reference("Model")}}),
            ),
        ),
        ("OpenAiError", open("OpenAI's error", error)),
    ]
}
