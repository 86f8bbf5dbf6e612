//! Reads a stored document back, a page of passages at a time.

use std::fmt;

use emend_core::{did_you_mean, list_names};
use emend_proto::v1::{self, Span, StoredPassage};

use crate::backend::{Fingerprint, ReadUnits, Unit};
use crate::error::RetrieverError;
use crate::headings;
use crate::library::{Library, passage_id};
use crate::work::GetDocument;

/// Most bytes of the texts of a page. The identifiers, the fields and the framing of a message have room beside them.
pub(crate) const MAX_PAGE_BYTES: usize = 3 << 20;
/// How many identifiers an unknown one is compared with.
const MAX_COMPARED: usize = 1000;

/// Where a page of a document ended, and of which version of the document it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageToken {
    version: u64,
    next: u32,
}

impl PageToken {
    fn new(fingerprint: &Fingerprint, next: u32) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = *fingerprint;
        let version = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        Self { version, next }
    }

    /// What [`Display`](fmt::Display) wrote.
    pub(crate) fn parse(token: &str) -> Option<Self> {
        let (version, next) = token.split_once('-')?;
        Some(Self {
            version: u64::from_str_radix(version, 16).ok()?,
            next: next.parse().ok()?,
        })
    }
}

impl fmt::Display for PageToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}-{}", self.version, self.next)
    }
}

impl Library {
    /// A page of a document.
    pub(crate) async fn read_back(&self, task: GetDocument) -> Result<v1::GetDocumentResponse, RetrieverError> {
        let read = ReadUnits {
            unit: task.unit,
            from: task.after.map_or(0, |after| after.next),
            limit: task.limit,
            bytes: MAX_PAGE_BYTES,
        };
        let found = self.store.document(&task.collection, &task.document, read).await?;
        let Some(found) = found else {
            return Err(self.unknown_document(&task).await?);
        };
        if task
            .after
            .is_some_and(|after| after != PageToken::new(&found.fingerprint, after.next))
        {
            return Err(RetrieverError::Replaced {
                document: task.document,
            });
        }
        let next = found.units.last().map_or(found.total, |unit| unit.index + 1);
        let next_page_token = match next < found.total {
            true => PageToken::new(&found.fingerprint, next).to_string(),
            false => String::new(),
        };
        let title = &found.document.title;
        let passages = found.units.into_iter().map(|unit| StoredPassage {
            headings: headings::above(title, unit.headings, &unit.text),
            id: passage_id(&task.document, task.unit, unit.index),
            span: Some(Span {
                start: unit.start,
                end: unit.end,
            }),
            text: unit.text,
        });
        let passages = passages.collect();
        Ok(v1::GetDocumentResponse {
            passages,
            document: Some(found.document.into()),
            metadata: found.metadata.into_iter().collect(),
            total_passages: found.total,
            next_page_token,
        })
    }

    /// The error of a document that does not exist, which says what does.
    async fn unknown_document(&self, task: &GetDocument) -> Result<RetrieverError, RetrieverError> {
        let listed = self.store.documents(&task.collection, "", MAX_COMPARED).await?;
        let ids: Vec<&str> = listed.iter().map(|document| document.id.as_str()).collect();
        let known = match (ids.as_slice(), listed.len() == MAX_COMPARED) {
            ([], _) => "it holds none".to_owned(),
            (ids, false) => format!("it holds {}", list_names(ids)),
            (ids, true) => format!("the first of its documents are {}", list_names(ids)),
        };
        // A search names the passage, whose identifier is the document's and more.
        let whole = [Unit::Section, Unit::Chunk].map(unit_letter);
        let of_passage = task.document.rsplit_once('#').filter(|(_, passage)| {
            passage.starts_with(whole) && passage[1..].bytes().all(|byte| byte.is_ascii_digit())
        });
        let hint = match of_passage {
            Some((document, _)) => format!("; that is the identifier of a passage: ask for the document {document:?}"),
            None => did_you_mean(&task.document, ids),
        };
        Ok(RetrieverError::UnknownDocument {
            collection: task.collection.clone(),
            document: task.document.clone(),
            known: format!("{known}{hint}"),
        })
    }
}

/// What stands before the number of a unit in the identifier of a passage.
pub(crate) fn unit_letter(unit: Unit) -> char {
    match unit {
        Unit::Section => 'p',
        Unit::Chunk => 'c',
    }
}

#[cfg(test)]
mod tests;
