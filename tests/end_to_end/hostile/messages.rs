//! Messages of a type with any values, some of them with bytes changed.

use proptest::{collection::vec, option, prelude::*, sample::Index};
use prost::Message as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};

/// The collection that there is.
pub(super) const COLLECTION: &str = "handbook";
/// How deep messages stand in each other; deeper ones are empty.
const DEPTH: u32 = 4;

/// A message, and what is changed in its bytes.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    message: DynamicMessage,
    changed: Vec<(Index, u8)>,
    cut: Option<Index>,
}

impl Sent {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.message.encode_to_vec();
        if bytes.is_empty() {
            return bytes;
        }
        for (place, byte) in &self.changed {
            let place = place.index(bytes.len());
            bytes[place] = *byte;
        }
        if let Some(length) = self.cut {
            bytes.truncate(length.index(bytes.len()));
        }
        bytes
    }
}

/// One to `most` messages: such as callers send, such with a few odd values, and odd ones, some with their bytes changed.
pub(super) fn stream(of: &MessageDescriptor, most: usize) -> impl Strategy<Value = Vec<Sent>> + use<> {
    let whole = |odd| {
        message(of, DEPTH, odd).prop_map(|message| Sent {
            message,
            changed: Vec::new(),
            cut: None,
        })
    };
    let changed = (
        message(of, DEPTH, 20),
        vec((any::<Index>(), any::<u8>()), 0..4),
        option::weighted(0.3, any::<Index>()),
    );
    let changed = changed.prop_map(|(message, changed, cut)| Sent { message, changed, cut });
    vec(
        prop_oneof![3 => whole(0), 3 => whole(3), 2 => whole(90), 2 => changed],
        1..=most,
    )
}

/// A message of which `odd` in a hundred values are odd.
fn message(of: &MessageDescriptor, depth: u32, odd: u32) -> BoxedStrategy<DynamicMessage> {
    let of = of.clone();
    let fields: Vec<FieldDescriptor> = of.fields().filter(|_| depth > 0).collect();
    let values: Vec<_> = fields
        .iter()
        .map(|field| option::weighted(0.8, value(field, depth, odd)))
        .collect();
    values
        .prop_map(move |values| {
            let mut message = DynamicMessage::new(of.clone());
            for (field, value) in fields.iter().zip(values) {
                if let Some(value) = value {
                    message.set_field(field, value);
                }
            }
            message
        })
        .boxed()
}

/// What a field may hold.
fn value(field: &FieldDescriptor, depth: u32, odd: u32) -> BoxedStrategy<Value> {
    if field.is_map() {
        let kind = field.kind();
        let value = single(&kind.as_message().unwrap().map_entry_value_field(), depth, odd);
        let key = prop_oneof![100 - odd => Just("top_k".to_owned()), odd => odd_text()];
        let entries = vec((key, value), 0..3);
        entries
            .prop_map(|entries| {
                Value::Map(
                    entries
                        .into_iter()
                        .map(|(key, value)| (MapKey::String(key), value))
                        .collect(),
                )
            })
            .boxed()
    } else if field.is_list() {
        vec(single(field, depth, odd), 0..4).prop_map(Value::List).boxed()
    } else {
        single(field, depth, odd)
    }
}

fn single(field: &FieldDescriptor, depth: u32, odd: u32) -> BoxedStrategy<Value> {
    let kind = field.kind();
    if let Kind::Message(of) = &kind {
        return message(of, depth - 1, odd).prop_map(Value::Message).boxed();
    }
    prop_oneof![100 - odd => usual(&kind, field.name()), odd => unusual(&kind)].boxed()
}

/// What callers send.
fn usual(kind: &Kind, name: &str) -> BoxedStrategy<Value> {
    let number = 1_i64..4;
    match kind {
        Kind::String => match name {
            "document_id" => Just("leave.md".to_owned()).boxed(),
            "allowed_domains" | "blocked_domains" => Just("example.com".to_owned()).boxed(),
            "id" | "passage_id" => (0..1000).prop_map(|number| format!("{number}.md")).boxed(),
            "collection" => Just(COLLECTION.to_owned()).boxed(),
            "to" => Just(format!("{COLLECTION}-copy")).boxed(),
            "graph" | "name" => Just("self-rag".to_owned()).boxed(),
            "yaml" => Just(GRAPH.to_owned()).boxed(),
            "embedder" => Just("hashed-256".to_owned()).boxed(),
            "graph_yaml" | "page_token" | "after_document_id" | "owner" => Just(String::new()).boxed(),
            _ => proptest::sample::select(TEXTS).prop_map(str::to_owned).boxed(),
        }
        .prop_map(Value::String)
        .boxed(),
        Kind::Enum(known) => {
            let known: Vec<i32> = known
                .values()
                .map(|value| value.number())
                .filter(|number| *number > 0)
                .collect();
            proptest::sample::select(known).prop_map(Value::EnumNumber).boxed()
        }
        Kind::Bytes => proptest::sample::select(TEXTS)
            .prop_map(|text| Value::Bytes(text.as_bytes().to_vec().into()))
            .boxed(),
        Kind::Double => Just(Value::F64(1.0)).boxed(),
        Kind::Float => Just(Value::F32(0.5)).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        kind => whole(kind, number.boxed()),
    }
}

/// What callers do not send.
fn unusual(kind: &Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::String => odd_text().prop_map(Value::String).boxed(),
        Kind::Bytes => prop_oneof![
            odd_text().prop_map(String::into_bytes),
            vec(any::<u8>(), 0..64),
            proptest::sample::select(FILES).prop_map(<[u8]>::to_vec),
        ]
        .prop_map(|bytes| Value::Bytes(bytes.into()))
        .boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Double => odd_number().prop_map(Value::F64).boxed(),
        Kind::Float => odd_number().prop_map(|number| Value::F32(number as f32)).boxed(),
        Kind::Enum(_) => proptest::sample::select(vec![0, -1, 99])
            .prop_map(Value::EnumNumber)
            .boxed(),
        kind => whole(
            kind,
            proptest::sample::select(vec![0, 12, 1000, -1, i64::MIN, i64::MAX, 1 << 31, 1 << 32]).boxed(),
        ),
    }
}

/// A whole number as a value of its kind.
fn whole(kind: &Kind, number: BoxedStrategy<i64>) -> BoxedStrategy<Value> {
    let kind = kind.clone();
    number
        .prop_map(move |number| match kind {
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(number as i32),
            Kind::Uint32 | Kind::Fixed32 => Value::U32(number as u32),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(number as u64),
            _ => Value::I64(number),
        })
        .boxed()
}

fn odd_number() -> impl Strategy<Value = f64> {
    proptest::sample::select(vec![
        0.0,
        -0.0,
        1.0,
        3.0,
        -1.0,
        1e308,
        f64::MIN_POSITIVE,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ])
}

/// Beginnings of files that are read.
const FILES: &[&[u8]] = &[
    b"%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 1 0 R>>endobj\ntrailer<</Root 1 0 R>>",
    b"PK\x03\x04\x14\0\0\0\x08\0",
    b"\xff\xfeh\0i\0",
    b"<html><body><table><tr><td>1<table><tr><td>2",
    b"{\"text\": \"a line\"}\n{\"text\": ",
];

const GRAPH: &str = include_str!("../../../services/orchestrator/graphs/plain-rag.yaml");

/// What is asked, answered and stored.
const TEXTS: &[&str] = &[
    "How many days of paid leave does every employee have?",
    "Every employee has 25 days of paid leave a year. [1]",
    "When does the ferry leave?",
    "페리는 언제 출발하나요?",
];

/// Texts that nobody means to send.
fn odd_text() -> impl Strategy<Value = String> {
    let odd = vec![
        "",
        " ",
        "\0",
        "\n",
        "\u{1b}[2J",
        "\u{feff}",
        "\u{202e}?yadot\u{202c}",
        "../../etc/passwd",
        "http://127.0.0.1:1/",
        "%00",
        "'; --",
        "{{ fence }}",
        "a: &a [*a, *a]",
        "名前",
        "👩‍👩‍👧‍👦",
        "e\u{301}\u{301}\u{301}",
        "1e999",
        "00000000-0000-0000-0000-000000000000",
        GRAPH,
    ];
    prop_oneof![
        4 => proptest::sample::select(odd).prop_map(str::to_owned),
        1 => (1_usize..20_000).prop_map(|length| "x".repeat(length)),
        1 => (1_usize..3000).prop_map(|length| "あ b.\n".repeat(length)),
        1 => any::<String>(),
    ]
}
