//! What a request may ask for.

use emend_core::cut;
use emend_core::limits::{MAX_FILTERS, MAX_PASSAGES, MAX_QUESTION_BYTES};
use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;

use emend_chassis::{InvalidRequest, Violations};
use emend_proto::condition;
use emend_proto::v1::{
    CopyCollectionRequest, DeleteCollectionRequest, DeleteDocumentsRequest, Document, DocumentFormat, EmbeddedDocument,
    EmbeddedPassage, ExportCollectionRequest, GetCollectionRequest, GetDocumentRequest, ListDocumentsRequest,
    RepairCollectionRequest, RetrieveRequest, SearchMode,
};

use crate::backend::{Unit, filter_of};
use crate::read_back::PageToken;
use crate::transfer::{Copy, Export};
use crate::work::{
    DeleteCollection, DeleteDocuments, GetCollection, GetDocument, ListDocuments, RepairCollection, Retrieve,
};

const DEFAULT_COLLECTION: &str = "default";
const DEFAULT_TOP_K: u32 = 4;
const DEFAULT_PAGE_SIZE: u32 = 1000;

const MAX_TOP_K: u32 = MAX_PASSAGES as u32;
const MAX_EF: u32 = 4096;
const MAX_PAGE_SIZE: u32 = 10_000;
const DEFAULT_PASSAGES: u32 = 100;
/// Most passages of a page of a document.
const MAX_PAGE_PASSAGES: u32 = 1000;
const MAX_ID_BYTES: usize = 512;
const MAX_NAME_BYTES: usize = 64;
/// Longest path or address of a document, in bytes.
const MAX_SOURCE_BYTES: usize = 4 << 10;
/// Longest title that is sent, in bytes. What is stored of it is shorter.
const MAX_SENT_TITLE_BYTES: usize = 64 << 10;
const MAX_FIELD_BYTES: usize = 1 << 10;
const MAX_DELETED: usize = 1000;
/// Longest name of an embedder, in bytes.
const MAX_EMBEDDER_BYTES: usize = 256;
/// Most values of an embedding.
const MAX_DIMENSIONS: usize = 65_536;

/// Reads a query.
pub(crate) fn retrieve(request: RetrieveRequest) -> Result<Retrieve, InvalidRequest> {
    let mut violations = Violations::new();
    let mode = request.mode();
    let query = &request.query;
    violations
        .require(!query.trim().is_empty(), "query", || "must not be blank".to_owned())
        .require(query.len() <= MAX_QUESTION_BYTES, "query", || {
            format!("must be at most {MAX_QUESTION_BYTES} bytes, is {}", query.len())
        });
    let collection = collection(&mut violations, request.collection);
    let top_k = within(
        &mut violations,
        "top_k",
        request.top_k.unwrap_or(DEFAULT_TOP_K),
        MAX_TOP_K,
    );
    let ef = request.ef.map(|ef| within(&mut violations, "ef", ef, MAX_EF));
    fields(&mut violations, "filter", &request.filter);
    for (place, problem) in condition::problems(&request.conditions) {
        violations.push(format!("conditions{place}"), problem);
    }
    violations.require(SearchMode::try_from(request.mode).is_ok(), "mode", || {
        format!(
            "{} is unknown: known are SEARCH_MODE_DENSE, SEARCH_MODE_SPARSE and SEARCH_MODE_HYBRID",
            request.mode
        )
    });
    violations.finish()?;
    Ok(Retrieve {
        mode,
        query: request.query,
        collection,
        top_k,
        filter: filter_of(request.filter, request.conditions),
        unit: unit(request.parents),
        ef,
        exact: request.exact,
    })
}

/// Reads which documents to remove.
pub(crate) fn delete(request: DeleteDocumentsRequest) -> Result<DeleteDocuments, InvalidRequest> {
    let mut violations = Violations::new();
    let collection = collection(&mut violations, request.collection);
    let documents = request.document_ids;
    violations.require((1..=MAX_DELETED).contains(&documents.len()), "document_ids", || {
        format!("must be 1 to {MAX_DELETED}, are {}", documents.len())
    });
    for (index, id) in documents.iter().enumerate().take(MAX_DELETED) {
        document_id(&mut violations, &format!("document_ids[{index}]"), id);
    }
    violations.finish()?;
    // One that is named twice is removed, and counted, once.
    let documents = documents.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    Ok(DeleteDocuments { collection, documents })
}

/// Reads which documents to list.
pub(crate) fn list(request: ListDocumentsRequest) -> Result<ListDocuments, InvalidRequest> {
    let mut violations = Violations::new();
    let collection = collection(&mut violations, request.collection);
    let limit = within(
        &mut violations,
        "page_size",
        request.page_size.unwrap_or(DEFAULT_PAGE_SIZE),
        MAX_PAGE_SIZE,
    );
    violations.finish()?;
    Ok(ListDocuments {
        collection,
        after: request.page_token,
        limit,
    })
}

/// Reads which document to read back.
pub(crate) fn get_document(request: GetDocumentRequest) -> Result<GetDocument, InvalidRequest> {
    let mut violations = Violations::new();
    let collection = collection(&mut violations, request.collection);
    document_id(&mut violations, "document_id", &request.document_id);
    let limit = within(
        &mut violations,
        "page_size",
        request.page_size.unwrap_or(DEFAULT_PASSAGES),
        MAX_PAGE_PASSAGES,
    );
    let after = match request.page_token.as_str() {
        "" => None,
        token => PageToken::parse(token).or_else(|| {
            violations.push(
                "page_token",
                format!(
                    "must be the `next_page_token` of a page of the same document, is `{}`",
                    cut(token)
                ),
            );
            None
        }),
    };
    violations.finish()?;
    Ok(GetDocument {
        collection,
        document: request.document_id,
        unit: unit(request.parents),
        after,
        limit,
    })
}

/// Reads which collection to describe.
pub(crate) fn get(request: GetCollectionRequest) -> Result<GetCollection, InvalidRequest> {
    let mut violations = Violations::new();
    let collection = collection(&mut violations, request.collection);
    violations.finish()?;
    Ok(GetCollection(collection))
}

/// Reads which collection to remove.
pub(crate) fn delete_collection(request: DeleteCollectionRequest) -> Result<DeleteCollection, InvalidRequest> {
    let mut violations = Violations::new();
    name(&mut violations, &request.collection);
    violations.finish()?;
    Ok(DeleteCollection(request.collection))
}

/// Reads which collection to repair.
pub(crate) fn repair_collection(request: RepairCollectionRequest) -> Result<RepairCollection, InvalidRequest> {
    let mut violations = Violations::new();
    let collection = collection(&mut violations, request.collection);
    violations.finish()?;
    Ok(RepairCollection(collection))
}

/// Reads what to export.
pub(crate) fn export(request: ExportCollectionRequest) -> Result<Export, InvalidRequest> {
    let mut violations = Violations::new();
    let collection = collection(&mut violations, request.collection);
    let after = request.after_document_id;
    violations.require(after.len() <= MAX_ID_BYTES, "after_document_id", || {
        format!("must be at most {MAX_ID_BYTES} bytes, is {}", after.len())
    });
    violations.finish()?;
    Ok(Export { collection, after })
}

/// Reads what to copy.
pub(crate) fn copy(request: CopyCollectionRequest) -> Result<Copy, InvalidRequest> {
    let mut violations = Violations::new();
    let from = collection(&mut violations, request.collection);
    name_in(&mut violations, "to", &request.to);
    violations.finish()?;
    Ok(Copy { from, to: request.to })
}

/// The collection of an ingest's message: its own, else that of the message before.
pub(crate) fn collection_after(previous: &str, given: String) -> String {
    match (given.is_empty(), previous.is_empty()) {
        (false, _) => given,
        (true, false) => previous.to_owned(),
        (true, true) => DEFAULT_COLLECTION.to_owned(),
    }
}

/// Checks a document; its content is checked when it is read.
pub(crate) fn document(collection: &str, document: &Document) -> Result<(), InvalidRequest> {
    let mut violations = Violations::new();
    name(&mut violations, collection);
    document_id(&mut violations, "document.id", &document.id);
    text_field(&mut violations, "document.id", &document.id);
    text_field(&mut violations, "document.source", &document.source);
    text_field(&mut violations, "document.owner", &document.owner);
    let length = document.title.len();
    violations.require(length <= MAX_SENT_TITLE_BYTES, "document.title", || {
        format!("must be at most {MAX_SENT_TITLE_BYTES} bytes, is {length}")
    });
    fields(&mut violations, "document.metadata", &document.metadata);
    violations.require(
        DocumentFormat::try_from(document.format).is_ok(),
        "document.format",
        || {
            let known = (1..).map_while(|number| DocumentFormat::try_from(number).ok());
            let known: Vec<_> = known.map(|format| format.as_str_name()).collect();
            format!("{} is unknown: known are {}", document.format, known.join(", "))
        },
    );
    violations.finish()
}

/// Checks a document that is embedded already, and returns the dimensions of its embeddings.
pub(crate) fn embedded(collection: &str, embedder: &str, document: &EmbeddedDocument) -> Result<usize, InvalidRequest> {
    let mut violations = Violations::new();
    name(&mut violations, collection);
    violations.require((1..=MAX_EMBEDDER_BYTES).contains(&embedder.len()), "embedder", || {
        format!("must be 1 to {MAX_EMBEDDER_BYTES} bytes, is {}", embedder.len())
    });
    document_id(&mut violations, "document.id", &document.id);
    text_field(&mut violations, "document.id", &document.id);
    text_field(&mut violations, "document.source", &document.source);
    text_field(&mut violations, "document.owner", &document.owner);
    let length = document.title.len();
    violations.require(length <= MAX_FIELD_BYTES, "document.title", || {
        format!("must be at most {MAX_FIELD_BYTES} bytes, is {length}")
    });
    fields(&mut violations, "document.metadata", &document.metadata);
    let length = document.fingerprint.len();
    violations.require(length == 32, "document.fingerprint", || {
        format!("must be 32 bytes, is {length}")
    });
    let dimensions = document.passages.first().map_or(0, |passage| passage.embedding.len());
    violations.require((1..=MAX_DIMENSIONS).contains(&dimensions), "document.passages", || {
        format!("must be at least one, with an embedding of 1 to {MAX_DIMENSIONS} values, is {dimensions}")
    });
    for (index, section) in document.sections.iter().enumerate() {
        let field = format!("document.sections[{index}].headings");
        if violations.headings(&field, &section.headings).is_empty() {
            // The store on the local disk keeps one a line.
            let is_line = |heading: &String| !heading.trim().is_empty() && !heading.contains(char::is_control);
            violations.require(section.headings.iter().all(is_line), &field, || {
                "must not be blank and must not have control characters".to_owned()
            });
        }
        if !violations.is_empty() {
            break;
        }
    }
    let sections = document.sections.iter().map(|section| {
        let length = u32::try_from(section.text.chars().count()).unwrap_or(u32::MAX);
        section.start..=section.start.saturating_add(length)
    });
    let sections: Vec<_> = sections.collect();
    // One is enough to say that the document is not what was exported.
    let mut passages = document.passages.iter().enumerate();
    if let Some((index, wrong)) = passages.find_map(|(index, passage)| {
        let wrong = wrong_passage(passage, dimensions, &sections)?;
        Some((index, wrong))
    }) {
        violations.push(format!("document.passages[{index}]"), wrong);
    }
    violations.finish()?;
    Ok(dimensions)
}

/// What is wrong with a passage, if something is.
fn wrong_passage(passage: &EmbeddedPassage, dimensions: usize, sections: &[RangeInclusive<u32>]) -> Option<String> {
    let Some(section) = sections.get(passage.section as usize) else {
        return Some(format!(
            "must be of one of {} sections, is of {}",
            sections.len(),
            passage.section
        ));
    };
    let (start, end) = (passage.start, passage.end);
    if start > end || !section.contains(&start) || !section.contains(&end) {
        return Some(format!("must be within {section:?}, is {start} to {end}"));
    }
    let embedding = &passage.embedding;
    if embedding.len() != dimensions {
        return Some(format!("must have {dimensions} values, has {}", embedding.len()));
    }
    let norm = embedding
        .iter()
        .map(|value| f64::from(*value).powi(2))
        .sum::<f64>()
        .sqrt();
    // One that is not a number is in no range.
    if !(0.99..=1.01).contains(&norm) {
        return Some(format!("must have a unit vector, has one of length {norm}"));
    }
    let (hashes, weights) = (&passage.term_hashes, &passage.term_weights);
    if hashes.len() != weights.len() || !hashes.is_sorted_by(|left, right| left < right) {
        return Some("must have a weight for each hash, and hashes that ascend".to_owned());
    }
    let weight = weights.iter().find(|weight| !(weight.is_finite() && **weight > 0.0))?;
    Some(format!("must have weights above 0, has {weight}"))
}

fn collection(violations: &mut Violations, given: String) -> String {
    let collection = collection_after("", given);
    name(violations, &collection);
    collection
}

fn name(violations: &mut Violations, name: &str) {
    name_in(violations, "collection", name);
}

fn name_in(violations: &mut Violations, field: &str, name: &str) {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    // A name is a folder's name: with a dot in front it would be hidden, or another folder altogether.
    let ok = (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(allowed) && !name.starts_with('.');
    violations.require(ok, field, || {
        let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
        format!("must be 1 to {MAX_NAME_BYTES} of a–z, A–Z, 0–9, -, _, . and not begin with a dot, is {shown:?}")
    });
}

/// Sections unless chunks are asked for.
fn unit(parents: Option<bool>) -> Unit {
    match parents {
        Some(false) => Unit::Chunk,
        Some(true) | None => Unit::Section,
    }
}

fn document_id(violations: &mut Violations, field: &str, id: &str) {
    violations.require((1..=MAX_ID_BYTES).contains(&id.len()), field, || {
        format!("must be 1 to {MAX_ID_BYTES} bytes, is {}", id.len())
    });
}

/// Checks what is shown as a place: a terminal would obey control characters.
fn text_field(violations: &mut Violations, field: &str, text: &str) {
    violations
        .require(text.len() <= MAX_SOURCE_BYTES, field, || {
            format!("must be at most {MAX_SOURCE_BYTES} bytes, is {}", text.len())
        })
        .require(!text.contains(char::is_control), field, || {
            let shown: String = text.chars().take(MAX_NAME_BYTES).collect();
            format!("must not have control characters, is {shown:?}: rename it")
        });
}

fn within(violations: &mut Violations, field: &str, value: u32, most: u32) -> usize {
    violations.require((1..=most).contains(&value), field, || {
        format!("must be 1 to {most}, is {value}")
    });
    value as usize
}

fn fields(violations: &mut Violations, field: &str, fields: &HashMap<String, String>) {
    violations.require(fields.len() <= MAX_FILTERS, field, || {
        format!("must have at most {MAX_FILTERS} entries, has {}", fields.len())
    });
    let mut long: Vec<_> = fields
        .iter()
        .filter(|(key, value)| key.is_empty() || key.len() + value.len() > MAX_FIELD_BYTES)
        .collect();
    long.sort();
    for (key, value) in long.into_iter().take(MAX_FILTERS) {
        let shown: String = key.chars().take(40).collect();
        violations.push(
            format!("{field}[{shown:?}]"),
            match key.is_empty() {
                true => "must have a name".to_owned(),
                false => format!(
                    "must be at most {MAX_FIELD_BYTES} bytes with its name, is {}",
                    key.len() + value.len()
                ),
            },
        );
    }
}

#[cfg(test)]
mod tests;
