//! Points, payloads and filters as the server takes them.
//!
//! ```text
//! kind: ["document"]                    a record with a visible version; "absent" one without
//! kind: ["document", "unsettled"]       … that names versions that are not visible
//!   revision: UUID, record: JSON
//! kind: ["passage"]                     a chunk, with the vectors `dense` and `terms`
//!   version: UUID, document, index, section, start, end, language, metadata: [keyword, …], numbers: [{field, value}, …]
//! kind: ["section"]                     a section
//!   version: UUID, document, index, start, text, headings: [text, …] where there are any
//! ```

use std::collections::{BTreeMap, HashMap};

use emend_text::Language;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::with_payload_selector::SelectorOptions;
use qdrant_client::qdrant::{
    Condition, DenseVector, FieldType, Filter, NamedVectors, PayloadIncludeSelector, PointId, PointStruct, Range,
    RetrievedPoint, SparseVector, Struct, Value, Vector, VectorOutput, Vectors, WithPayloadSelector,
    WithVectorsSelector, point_id, vector, vector_output, vectors, vectors_output, with_vectors_selector,
};
use uuid::Uuid;

use super::record::{Record, Version};
use crate::backend::filter::{
    METADATA, NUMBERS, NUMBERS_FIELD, NUMBERS_VALUE, bound, field_keyword, keywords, numbers, value_keyword,
};
use crate::backend::{self, Chunk, Section, Test};
use crate::terms::Terms;

pub(super) const DENSE: &str = "dense";
pub(super) const TERMS: &str = "terms";

pub(super) const KIND: &str = "kind";
pub(super) const VERSION: &str = "version";
pub(super) const REVISION: &str = "revision";
const RECORD: &str = "record";
const DOCUMENT: &str = "document";
const INDEX: &str = "index";
const SECTION: &str = "section";
const START: &str = "start";
const END: &str = "end";
const TEXT: &str = "text";
const HEADINGS: &str = "headings";
const LANGUAGE: &str = "language";

/// Fields with an index.
pub(super) fn indexed_fields() -> [(String, FieldType); 6] {
    let keyword = |name: &str| (name.to_owned(), FieldType::Keyword);
    [
        keyword(KIND),
        keyword(VERSION),
        keyword(REVISION),
        keyword(METADATA),
        keyword(&format!("{NUMBERS}[].{NUMBERS_FIELD}")),
        (format!("{NUMBERS}[].{NUMBERS_VALUE}"), FieldType::Float),
    ]
}

/// Values of the field `kind`.
pub(super) const KIND_DOCUMENT: &str = "document";
pub(super) const KIND_ABSENT: &str = "absent";
pub(super) const KIND_UNSETTLED: &str = "unsettled";
pub(super) const KIND_PASSAGE: &str = "passage";
pub(super) const KIND_SECTION: &str = "section";

/// Names the points of records. It is stored in their ids, so it must never change.
const RECORDS: Uuid = Uuid::from_u128(0x7bb0_1d3e_66a1_4c5e_9a43_0f6f_2f1c_55d7);

/// A record as it is stored, with the number of this state of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept {
    pub(super) revision: Version,
    pub(super) record: Record,
}

/// What is stored is not what this program writes.
#[derive(Debug, thiserror::Error)]
#[error("a point has no {0} that could be read")]
pub(super) struct Unreadable(pub(super) &'static str);

/// A hit of a search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passage {
    pub(super) document: String,
    pub(super) version: Version,
    pub(super) index: u32,
    pub(super) section: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    /// The language of its section; `None` where the document was stored before there was one.
    pub(super) language: Option<Language>,
}

pub(super) fn record_id(document: &str) -> PointId {
    uuid(Uuid::new_v5(&RECORDS, document.as_bytes()))
}

pub(super) fn section_id(version: Version, index: u32) -> PointId {
    uuid(Uuid::new_v5(&version.0, format!("{KIND_SECTION}:{index}").as_bytes()))
}

pub(super) fn passage_id(version: Version, index: u32) -> PointId {
    uuid(Uuid::new_v5(&version.0, format!("{KIND_PASSAGE}:{index}").as_bytes()))
}

fn uuid(id: Uuid) -> PointId {
    PointId {
        point_id_options: Some(point_id::PointIdOptions::Uuid(id.to_string())),
    }
}

/// The point of a record.
pub(super) fn record_point(kept: &Kept) -> Result<PointStruct, Unreadable> {
    let record = &kept.record;
    let json = serde_json::to_string(record).map_err(|_| Unreadable(RECORD))?;
    let mut kinds = vec![if record.current.is_some() {
        KIND_DOCUMENT
    } else {
        KIND_ABSENT
    }];
    if record.is_unsettled() {
        kinds.push(KIND_UNSETTLED);
    }
    Ok(point(
        record_id(&record.id),
        [
            (KIND, kinds.into()),
            (REVISION, kept.revision.to_string().into()),
            (RECORD, json.into()),
        ],
        [],
    ))
}

pub(super) fn section_point(document: &str, version: Version, index: u32, section: &Section) -> PointStruct {
    let headings = (!section.headings.is_empty()).then(|| (HEADINGS, section.headings.clone().into()));
    let fields = [
        (KIND, vec![KIND_SECTION].into()),
        (VERSION, version.to_string().into()),
        (DOCUMENT, document.into()),
        (INDEX, i64::from(index).into()),
        (START, i64::from(section.start).into()),
        (TEXT, section.text.as_str().into()),
    ];
    point(section_id(version, index), fields.into_iter().chain(headings), [])
}

pub(super) fn passage_point(
    document: &str,
    metadata: &BTreeMap<String, String>,
    version: Version,
    index: u32,
    chunk: &Chunk,
    language: Option<Language>,
) -> PointStruct {
    let numbers = numbers(metadata).map(|(field, value)| {
        let fields = [(NUMBERS_FIELD, field.into()), (NUMBERS_VALUE, value.into())];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        Value::from(Kind::StructValue(Struct { fields: fields.into() }))
    });
    let dense = chunk.embedding.as_ref().map(|embedding| {
        let data = embedding.to_vec();
        (DENSE, vector::Vector::Dense(DenseVector { data }))
    });
    let language = language.map(|language| (LANGUAGE, language.code().into()));
    let sparse = (!chunk.terms.is_empty()).then(|| (TERMS, vector::Vector::Sparse(sparse(&chunk.terms))));
    let fields = [
        (KIND, vec![KIND_PASSAGE].into()),
        (VERSION, version.to_string().into()),
        (DOCUMENT, document.into()),
        (INDEX, i64::from(index).into()),
        (SECTION, i64::from(chunk.section).into()),
        (START, i64::from(chunk.start).into()),
        (END, i64::from(chunk.end).into()),
        (METADATA, keywords(metadata).collect::<Vec<_>>().into()),
        (NUMBERS, numbers.collect::<Vec<_>>().into()),
    ];
    point(
        passage_id(version, index),
        fields.into_iter().chain(language),
        dense.into_iter().chain(sparse),
    )
}

fn point(
    id: PointId,
    payload: impl IntoIterator<Item = (&'static str, Value)>,
    vectors: impl IntoIterator<Item = (&'static str, vector::Vector)>,
) -> PointStruct {
    let vectors = vectors.into_iter().map(|(name, vector)| {
        let vector = Vector {
            vector: Some(vector),
            ..Vector::default()
        };
        (name.to_owned(), vector)
    });
    PointStruct {
        id: Some(id),
        payload: payload
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        // A point without vectors says so: none at all is refused.
        vectors: Some(Vectors {
            vectors_options: Some(vectors::VectorsOptions::Vectors(NamedVectors {
                vectors: vectors.collect(),
            })),
        }),
    }
}

pub(super) fn sparse(terms: &Terms) -> SparseVector {
    SparseVector {
        values: terms.weights.clone(),
        indices: terms.indices.clone(),
    }
}

/// A filter by metadata as the server reads it.
pub(super) fn server_filter(filter: &[backend::Condition]) -> Option<Filter> {
    let (mut must, mut must_not) = (Vec::new(), Vec::new());
    for backend::Condition { field, test } in filter {
        match test {
            Test::OneOf(values) => {
                let keywords: Vec<_> = values.iter().map(|value| value_keyword(field, value)).collect();
                must.push(Condition::matches(METADATA, keywords));
            }
            // The engine takes one condition that must and must not hold for one that must: these differ.
            Test::Exists(true) => must.push(Condition::matches(METADATA, vec![field_keyword(field)])),
            Test::Exists(false) => must_not.push(Condition::matches(METADATA, field_keyword(field))),
            Test::Range(range) => {
                let within = Range {
                    gt: bound(range.gt),
                    gte: bound(range.gte),
                    lt: bound(range.lt),
                    lte: bound(range.lte),
                };
                let both = Filter::must([
                    Condition::matches(NUMBERS_FIELD, range.key(field)),
                    Condition::range(NUMBERS_VALUE, within),
                ]);
                must.push(Condition::nested(NUMBERS, both));
            }
        }
    }
    (!filter.is_empty()).then(|| Filter {
        must,
        must_not,
        ..Filter::default()
    })
}

/// Points of one of these kinds.
pub(super) fn of_kinds(kinds: &[&str]) -> Condition {
    let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    Condition::matches(KIND, kinds)
}

/// Points of one of these versions.
pub(super) fn of_versions(versions: &[Version]) -> Condition {
    let versions: Vec<String> = versions.iter().map(Version::to_string).collect();
    Condition::matches(VERSION, versions)
}

/// The record in this very state.
pub(super) fn in_state(kept: &Kept) -> Filter {
    Filter::must([
        Condition::has_id([record_id(&kept.record.id)]),
        Condition::matches(REVISION, kept.revision.to_string()),
    ])
}

pub(super) fn all_payload() -> Option<WithPayloadSelector> {
    Some(WithPayloadSelector {
        selector_options: Some(SelectorOptions::Enable(true)),
    })
}

fn fields(names: &[&str]) -> Option<WithPayloadSelector> {
    Some(WithPayloadSelector {
        selector_options: Some(SelectorOptions::Include(PayloadIncludeSelector {
            fields: names.iter().map(|name| (*name).to_owned()).collect(),
        })),
    })
}

/// The fields that [`passage`] reads.
pub(super) fn passage_fields() -> Option<WithPayloadSelector> {
    fields(&[DOCUMENT, VERSION, INDEX, SECTION, START, END, LANGUAGE])
}

/// The fields that [`owner`] reads.
pub(super) fn owner_fields() -> Option<WithPayloadSelector> {
    fields(&[DOCUMENT, VERSION, KIND])
}

pub(super) fn vectors(wanted: bool) -> Option<WithVectorsSelector> {
    Some(WithVectorsSelector {
        selector_options: Some(with_vectors_selector::SelectorOptions::Enable(wanted)),
    })
}

type Payload = HashMap<String, Value>;

pub(super) fn kept(payload: &Payload) -> Result<Kept, Unreadable> {
    let record = serde_json::from_str(text(payload, RECORD)?).map_err(|_| Unreadable(RECORD))?;
    let revision = version_of(payload, REVISION)?;
    Ok(Kept { revision, record })
}

pub(super) fn passage(payload: &Payload) -> Result<Passage, Unreadable> {
    Ok(Passage {
        document: text(payload, DOCUMENT)?.to_owned(),
        version: version_of(payload, VERSION)?,
        index: number(payload, INDEX)?,
        section: number(payload, SECTION)?,
        start: number(payload, START)?,
        end: number(payload, END)?,
        language: match payload.contains_key(LANGUAGE) {
            true => Language::from_code(text(payload, LANGUAGE)?),
            false => None,
        },
    })
}

/// A section: its version, its index and itself.
pub(super) fn section(payload: &Payload) -> Result<(Version, u32, Section), Unreadable> {
    Ok((
        version_of(payload, VERSION)?,
        number(payload, INDEX)?,
        Section {
            start: number(payload, START)?,
            text: text(payload, TEXT)?.to_owned(),
            headings: texts(payload, HEADINGS)?,
        },
    ))
}

/// The document and version of a passage or section, and whether it is a passage.
pub(super) fn owner(payload: &Payload) -> Result<(String, Version, bool), Unreadable> {
    let is_passage = match payload.get(KIND).and_then(|value| value.kind.as_ref()) {
        Some(Kind::ListValue(list)) => list
            .values
            .iter()
            .any(|kind| matches!(&kind.kind, Some(Kind::StringValue(kind)) if kind == KIND_PASSAGE)),
        _ => return Err(Unreadable(KIND)),
    };
    let document = text(payload, DOCUMENT)?.to_owned();
    Ok((document, version_of(payload, VERSION)?, is_passage))
}

/// A chunk with its index, of a point with payload and vectors.
pub(super) fn chunk(point: &RetrievedPoint) -> Result<(u32, Chunk), Unreadable> {
    let passage = passage(&point.payload)?;
    let named = match point
        .vectors
        .as_ref()
        .and_then(|vectors| vectors.vectors_options.as_ref())
    {
        Some(vectors_output::VectorsOptions::Vectors(named)) => Some(&named.vectors),
        // It has neither an embedding nor words.
        None => None,
        Some(_) => return Err(Unreadable(DENSE)),
    };
    let named = |name| named.and_then(|vectors| vectors.get(name));
    let embedding = match named(DENSE) {
        Some(output) => Some(dense_values(output).ok_or(Unreadable(DENSE))?.into()),
        None => None,
    };
    let terms = match named(TERMS) {
        Some(output) => sparse_values(output).ok_or(Unreadable(TERMS))?,
        None => Terms::default(),
    };
    let chunk = Chunk {
        section: passage.section,
        start: passage.start,
        end: passage.end,
        embedding,
        terms,
    };
    Ok((passage.index, chunk))
}

fn dense_values(output: &VectorOutput) -> Option<&[f32]> {
    match &output.vector {
        Some(vector_output::Vector::Dense(dense)) => Some(&dense.data),
        _ => None,
    }
}

/// In the order of the hashes, whatever order the server keeps.
fn sparse_values(output: &VectorOutput) -> Option<Terms> {
    let Some(vector_output::Vector::Sparse(sparse)) = &output.vector else {
        return None;
    };
    let mut pairs: Vec<(u32, f32)> = sparse
        .indices
        .iter()
        .copied()
        .zip(sparse.values.iter().copied())
        .collect();
    pairs.sort_by_key(|(index, _)| *index);
    Some(pairs.into_iter().collect())
}

fn text<'a>(payload: &'a Payload, name: &'static str) -> Result<&'a str, Unreadable> {
    match payload.get(name).and_then(|value| value.kind.as_ref()) {
        Some(Kind::StringValue(text)) => Ok(text),
        _ => Err(Unreadable(name)),
    }
}

/// A list of texts; empty where there is none.
fn texts(payload: &Payload, name: &'static str) -> Result<Vec<String>, Unreadable> {
    let values = match payload.get(name).and_then(|value| value.kind.as_ref()) {
        None => return Ok(Vec::new()),
        Some(Kind::ListValue(list)) => list.values.iter(),
        Some(_) => return Err(Unreadable(name)),
    };
    let texts = values.map(|value| match &value.kind {
        Some(Kind::StringValue(text)) => Ok(text.clone()),
        _ => Err(Unreadable(name)),
    });
    texts.collect()
}

fn number(payload: &Payload, name: &'static str) -> Result<u32, Unreadable> {
    match payload.get(name).and_then(|value| value.kind.as_ref()) {
        Some(Kind::IntegerValue(number)) => u32::try_from(*number).map_err(|_| Unreadable(name)),
        _ => Err(Unreadable(name)),
    }
}

fn version_of(payload: &Payload, name: &'static str) -> Result<Version, Unreadable> {
    text(payload, name)?.to_owned().try_into().map_err(|_| Unreadable(name))
}
