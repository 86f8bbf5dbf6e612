//! Which fields of a record make a document: those of a line of JSON Lines, or the columns of a row.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use emend_core::{did_you_mean, limits::MAX_DOCUMENT_BYTES, list_names};
use emend_proto::v1::{Document, DocumentFormat};

/// Most fields that an option names.
const MAX_FIELDS: usize = 64;

/// What stands for each part of a document. The default takes `doc_id` or `id`, `title`, `text` and `url`, and all other
/// fields as metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The identifier.
    pub id: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The text: these, with an empty line between them.
    pub text: Vec<String>,
    /// Where a person can find it.
    pub source: Option<String>,
    /// Metadata; where none is named, all fields that are nothing else.
    pub metadata: Vec<String>,
}

/// A named field that no record has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownField {
    /// There are records, none of which has it.
    #[error("{option}: no record has a field `{}`; known are {}{}", emend_core::cut(field), known(fields), did_you_mean(field, fields.iter().map(String::as_str)))]
    Unknown {
        /// The option that names it.
        option: &'static str,
        /// Its name.
        field: String,
        /// The fields that records have, sorted.
        fields: Vec<String>,
    },
    /// There are no records.
    #[error("{option} {field}: there is no file of JSON Lines or CSV whose fields it could name")]
    NoRecords {
        /// The option that names it.
        option: &'static str,
        /// Its name.
        field: String,
    },
    /// More fields than are taken.
    #[error("{option}: at most {MAX_FIELDS} fields are taken, there are {count}")]
    TooMany {
        /// The option.
        option: &'static str,
        /// How many there are.
        count: usize,
    },
}

fn known(fields: &[String]) -> String {
    match fields {
        [] => "none".to_owned(),
        fields => list_names(fields),
    }
}

/// A record: its fields that have one value, as text.
pub(super) type Record = BTreeMap<String, String>;

impl Fields {
    /// Whether any field is named, so that the rows of a table are documents of their own.
    pub fn are_named(&self) -> bool {
        *self != Self::default()
    }

    fn named(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let one = |option, field| std::iter::repeat(option).zip(field);
        one("--id-field", self.id.as_slice())
            .chain(one("--title-field", self.title.as_slice()))
            .chain(one("--text-field", &self.text))
            .chain(one("--source-field", self.source.as_slice()))
            .chain(one("--metadata-field", &self.metadata))
    }

    /// Makes sure that each named field is one of `known`, those that records have; `None` where there are no records.
    ///
    /// # Errors
    /// [`UnknownField`] for the first that is not.
    pub(super) fn check(&self, known: Option<&BTreeSet<String>>) -> Result<(), UnknownField> {
        for (option, names) in [("--text-field", &self.text), ("--metadata-field", &self.metadata)] {
            let count = names.len();
            if count > MAX_FIELDS {
                return Err(UnknownField::TooMany { option, count });
            }
        }
        for (option, field) in self.named() {
            let field = field.clone();
            match known {
                None => return Err(UnknownField::NoRecords { option, field }),
                Some(known) if !known.contains(&field) => {
                    let fields = known.iter().cloned().collect();
                    return Err(UnknownField::Unknown { option, field, fields });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The document of a record of the file `owner`; why it is none. Where nothing says where a person can find it, that is
    /// the file and its identifier: the number of its line changes with what stands before it.
    pub(super) fn document(&self, mut record: Record, owner: &str) -> Result<Document, String> {
        let names = match &self.id {
            Some(field) => vec![field.as_str()],
            None => vec!["doc_id", "id"],
        };
        let id = names.iter().find_map(|name| record.get(*name));
        let Some(id) = id.cloned() else {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let fields: Vec<&String> = record.keys().collect();
            let advice = match self.id {
                Some(_) => String::new(),
                None => "; name the field with --id-field".to_owned(),
            };
            return Err(format!(
                "has no {}{advice}; it has {}",
                names.join(" and no "),
                list_names(fields)
            ));
        };
        let default = ["text".to_owned()];
        let named = if self.text.is_empty() { &default[..] } else { &self.text };
        let parts: Vec<&String> = named.iter().filter_map(|name| record.get(name)).collect();
        if parts.is_empty() {
            let names: Vec<String> = named.iter().map(|name| format!("`{name}`")).collect();
            let fields: Vec<&String> = record.keys().collect();
            return Err(format!(
                "document `{id}` has no {}; it has {}",
                names.join(" and no "),
                list_names(fields)
            ));
        }
        let parts: Vec<&str> = parts
            .into_iter()
            .map(|part| part.trim_end())
            .filter(|part| !part.trim().is_empty())
            .collect();
        let text = match (parts.as_slice(), self.text.is_empty()) {
            ([], _) => return Err(format!("the text of document `{id}` is empty")),
            (_, true) => record.get("text").cloned().unwrap_or_default(),
            (parts, false) => parts.join("\n\n"),
        };
        if text.len() > MAX_DOCUMENT_BYTES {
            let limit = MAX_DOCUMENT_BYTES >> 20;
            return Err(format!(
                "the text of document `{id}` is above the limit of {limit} MiB; split it"
            ));
        }
        let title_field = self.title.as_deref().unwrap_or("title");
        let source_field = self.source.as_deref().unwrap_or("url");
        let title = record.get(title_field).cloned().unwrap_or_default();
        let source = record
            .get(source_field)
            .cloned()
            .unwrap_or_else(|| format!("{owner}#{id}"));
        let metadata: HashMap<String, String> = if self.metadata.is_empty() {
            let mut used = vec![title_field, source_field];
            used.extend(names);
            used.extend(named.iter().map(String::as_str));
            record
                .into_iter()
                .filter(|(name, _)| !used.contains(&name.as_str()))
                .collect()
        } else {
            let chosen = self.metadata.iter();
            chosen.filter_map(|name| record.remove_entry(name)).collect()
        };
        Ok(Document {
            id,
            title,
            format: DocumentFormat::PlainText.into(),
            content: text.into_bytes(),
            source,
            metadata,
            owner: owner.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
