//! Files whose records are documents of their own: JSON Lines, and tables whose fields are named.

use std::{collections::BTreeSet, fs::File, io::BufReader, path::Path, sync::Arc};

use emend_core::{BoundedLines, NumberedLine, open_regular_unlinked};
use emend_documents::Rows;
use emend_proto::v1::Document;
use serde_json::Value;

use super::{
    FileKind, Skipped,
    fields::{Fields, Record},
    skipped,
};

/// Longest line of such a file, in bytes: a document of the largest size, and what JSON adds to it.
pub(super) const MAX_JSON_LINE_BYTES: usize = 40 << 20;
/// Records of a file that its fields are told by.
const SAMPLED_RECORDS: usize = 100;

/// Documents of a file, read lazily.
pub(super) type Documents = Box<dyn Iterator<Item = Result<Document, Skipped>> + Send>;

/// The documents of a file of JSON Lines.
pub(super) fn json_lines(path: &Path, fields: &Arc<Fields>) -> Documents {
    let name = path.display().to_string();
    match open_regular_unlinked(path) {
        Err(error) => Box::new(std::iter::once(Err(skipped(name, error.to_string())))),
        Ok(file) => Box::new(json_documents(file, name, Arc::clone(fields), MAX_JSON_LINE_BYTES)),
    }
}

/// The documents of a file of JSON Lines. A line longer than `limit` bytes is skipped; where reading fails, it ends.
pub(super) fn json_documents(
    file: File,
    name: String,
    fields: Arc<Fields>,
    limit: usize,
) -> impl Iterator<Item = Result<Document, Skipped>> + Send {
    let mut has_failed = false;
    BoundedLines::new(BufReader::new(file), limit)
        .take_while(move |line| !std::mem::replace(&mut has_failed, line.is_err()))
        .filter_map(move |line| {
            let NumberedLine { number, bytes } = match line {
                Ok(line) => line,
                Err(error) => return Some(Err(skipped(name.clone(), error.to_string()))),
            };
            let at = format!("{name}:{number}");
            match bytes {
                Some(bytes) if bytes.trim_ascii().is_empty() => None,
                Some(bytes) => Some(json_document(&bytes, &at, &name, &fields)),
                None => Some(Err(oversized(at, limit))),
            }
        })
}

/// A line that is not looked at.
fn oversized(at: String, limit: usize) -> Skipped {
    Skipped {
        source: at,
        reason: format!("the line is longer than {} MiB; split the document", limit >> 20),
        kind: FileKind::LongLine,
    }
}

/// The document of a line, an object whose fields with one value count.
pub(super) fn json_document(line: &[u8], at: &str, owner: &str, fields: &Fields) -> Result<Document, Skipped> {
    let record = json_record(line).map_err(|reason| skipped(at.to_owned(), reason))?;
    let document = fields.document(record, owner);
    document.map_err(|reason| skipped(at.to_owned(), reason))
}

fn json_record(line: &[u8]) -> Result<Record, String> {
    match serde_json::from_slice(line) {
        Ok(Value::Object(fields)) => {
            let record = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, scalar(value)?)));
            Ok(record.collect())
        }
        Ok(_) => Err("is not a JSON object with `doc_id` and `text`".to_owned()),
        Err(error) => Err(format!("is not JSON: {error}")),
    }
}

fn scalar(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The documents of a table, one a row.
pub(super) fn rows(path: &Path, fields: &Arc<Fields>) -> Documents {
    let name = path.display().to_string();
    let opened = open_regular_unlinked(path).map_err(|error| error.to_string());
    let rows = match opened.and_then(|file| Rows::new(file).map_err(|error| error.to_string())) {
        Err(reason) => return Box::new(std::iter::once(Err(skipped(name, reason)))),
        Ok(rows) => rows,
    };
    let (header, fields) = (rows.header().to_vec(), Arc::clone(fields));
    let mut has_failed = false;
    let read = rows.take_while(move |row| !std::mem::replace(&mut has_failed, row.is_err()));
    Box::new(read.map(move |row| {
        let row = row.map_err(|error| Skipped {
            source: name.clone(),
            reason: error.to_string(),
            kind: match error {
                emend_documents::RowError::TooLong { .. } => FileKind::LongLine,
                _ => FileKind::Unreadable,
            },
        })?;
        let at = format!("{name}:{}", row.line);
        // An empty cell is no value.
        let cells = header.iter().cloned().zip(row.values);
        let record = cells.filter(|(_, value)| !value.trim().is_empty()).collect();
        let document = fields.document(record, &name);
        document.map_err(|reason| skipped(at, reason))
    }))
}

/// Adds the fields that the first records of a file of JSON Lines have. A file that cannot be read has none: it is
/// reported when it is read.
pub(super) fn fields_of_json_lines(path: &Path, known: &mut BTreeSet<String>) {
    let Ok(file) = open_regular_unlinked(path) else {
        return;
    };
    let lines = BoundedLines::new(BufReader::new(file), MAX_JSON_LINE_BYTES);
    let lines = lines.take(SAMPLED_RECORDS).map_while(Result::ok);
    for record in lines.filter_map(|line| json_record(&line.bytes?).ok()) {
        known.extend(record.into_keys());
    }
}

/// Adds the columns of a table.
pub(super) fn fields_of_rows(path: &Path, known: &mut BTreeSet<String>) {
    let rows = open_regular_unlinked(path).ok().and_then(|file| Rows::new(file).ok());
    known.extend(rows.into_iter().flat_map(|rows| rows.header().to_vec()));
}

#[cfg(test)]
mod tests;
