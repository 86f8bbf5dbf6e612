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

/// One to `most` messages, one in three of which has its bytes changed.
pub(super) fn stream(of: &MessageDescriptor, most: usize) -> impl Strategy<Value = Vec<Sent>> + use<> {
    let changed = prop_oneof![2 => Just(Vec::new()), 1 => vec((any::<Index>(), any::<u8>()), 1..4)];
    let sent = (message(of, DEPTH), changed, option::weighted(0.1, any::<Index>()));
    let sent = sent.prop_map(|(message, changed, cut)| Sent { message, changed, cut });
    vec(sent, 1..=most)
}

fn message(of: &MessageDescriptor, depth: u32) -> BoxedStrategy<DynamicMessage> {
    let of = of.clone();
    let fields: Vec<FieldDescriptor> = of.fields().filter(|_| depth > 0).collect();
    let values: Vec<_> = fields
        .iter()
        .map(|field| option::weighted(0.7, value(field, depth)))
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
fn value(field: &FieldDescriptor, depth: u32) -> BoxedStrategy<Value> {
    let one = |field: &FieldDescriptor| single(&field.kind(), depth);
    if field.is_map() {
        let kind = field.kind();
        let entry = kind.as_message().unwrap();
        let value = one(&entry.map_entry_value_field());
        let entries = vec((text(), value), 0..4);
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
        vec(one(field), 0..4).prop_map(Value::List).boxed()
    } else {
        one(field)
    }
}

fn single(kind: &Kind, depth: u32) -> BoxedStrategy<Value> {
    let whole =
        || prop_oneof![3 => 0_i64..12, 1 => proptest::sample::select(vec![-1, i64::MIN, i64::MAX, 1 << 31, 1 << 32])];
    match kind {
        Kind::String => text().prop_map(Value::String).boxed(),
        Kind::Bytes => prop_oneof![
            text().prop_map(String::into_bytes),
            vec(any::<u8>(), 0..64),
            proptest::sample::select(FILES).prop_map(<[u8]>::to_vec),
        ]
        .prop_map(|bytes| Value::Bytes(bytes.into()))
        .boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Double => number().prop_map(Value::F64).boxed(),
        Kind::Float => number().prop_map(|number| Value::F32(number as f32)).boxed(),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => whole().prop_map(|number| Value::I32(number as i32)).boxed(),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => whole().prop_map(Value::I64).boxed(),
        Kind::Uint32 | Kind::Fixed32 => whole().prop_map(|number| Value::U32(number as u32)).boxed(),
        Kind::Uint64 | Kind::Fixed64 => whole().prop_map(|number| Value::U64(number as u64)).boxed(),
        Kind::Enum(known) => {
            let known: Vec<i32> = known.values().map(|value| value.number()).chain([-1, 99]).collect();
            proptest::sample::select(known).prop_map(Value::EnumNumber).boxed()
        }
        Kind::Message(of) => message(of, depth - 1).prop_map(Value::Message).boxed(),
    }
}

fn number() -> impl Strategy<Value = f64> {
    proptest::sample::select(vec![
        0.0,
        -0.0,
        0.5,
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

/// What is known, what cannot be, and anything.
fn text() -> impl Strategy<Value = String> {
    const GRAPH: &str = include_str!("../../../services/orchestrator/graphs/plain-rag.yaml");
    let known = vec![
        COLLECTION,
        "self-rag",
        "self-corrective-rag",
        "top_k",
        "leave.md",
        "en",
        "user",
        "How many days of paid leave does every employee have?",
        "When does it leave? \u{202e}?yadot\u{202c}",
        "Every employee has 25 days of paid leave a year. [1]",
        GRAPH,
    ];
    let odd = vec![
        "",
        " ",
        "\0",
        "\n",
        "\u{1b}[2J",
        "\u{feff}",
        "\u{202e}",
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
    ];
    prop_oneof![
        6 => proptest::sample::select(known).prop_map(str::to_owned),
        2 => proptest::sample::select(odd).prop_map(str::to_owned),
        1 => (1_usize..20_000).prop_map(|length| "x".repeat(length)),
        1 => (1_usize..3000).prop_map(|length| "あ b.\n".repeat(length)),
        1 => any::<String>(),
    ]
}
