//! What became of documents, in numbers and one at a time.

use std::collections::BTreeMap;
use std::path::Path;

use emend_core::{printable, printable_line};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    documents::{FileKind, Kinds, Skipped},
    terminal,
};

/// Most failures and lines that are named in a report.
const MAX_NAMED: usize = 10;

/// The outcome of an ingest: the numbers of documents, and the failures.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// New or changed documents that were stored.
    pub ingested: u64,
    /// Documents that were stored already.
    pub unchanged: u64,
    /// Documents that were unreadable or rejected by the retriever, with the reason.
    pub failed: BTreeMap<String, String>,
    /// Files that are neither text nor documents that are read, and lines of JSON Lines that are too long, as `file:line`.
    pub skipped: BTreeMap<String, Skipped>,
    /// Documents that were removed because they are gone from where they were ingested from.
    pub removed: u64,
    /// Passages of the documents that were stored.
    pub passages: u64,
}

impl Outcome {
    /// Counts a file or line that is skipped.
    pub(super) fn skip(&mut self, skipped: &Skipped) {
        self.skipped.insert(skipped.source.clone(), skipped.clone());
    }

    /// Counts a document that could not be read or stored.
    pub(super) fn fail(&mut self, document: &str, reason: &str) {
        self.failed.insert(document.to_owned(), reason.to_owned());
    }

    /// Counts a file or line that could not be read.
    pub(super) fn leave(&mut self, unreadable: &Skipped) {
        match unreadable.kind {
            FileKind::LongLine => self.skip(unreadable),
            _ => self.fail(&unreadable.source, &unreadable.reason),
        }
    }

    /// Forgets that a file failed or was skipped that is read again or gone, and the same of its lines.
    pub(super) fn forget(&mut self, file: &Path) {
        let file = file.display().to_string();
        let is_of_file = |source: &str| {
            let line = source.strip_prefix(&file).and_then(|rest| rest.strip_prefix(':'));
            source == file || line.is_some_and(|line| line.bytes().all(|byte| byte.is_ascii_digit()))
        };
        self.failed.retain(|document, _| !is_of_file(document));
        self.skipped.retain(|source, _| !is_of_file(source));
    }

    /// What is skipped, by kind.
    fn skipped_kinds(&self) -> Kinds {
        self.skipped.values().collect()
    }

    /// Counts what became of a document.
    pub(super) fn count(&mut self, change: &Change) {
        match change {
            Change::Ingested { passages, .. } => {
                self.ingested += 1;
                self.passages += u64::from(*passages);
            }
            Change::Unchanged { .. } => self.unchanged += 1,
            Change::Removed { .. } => self.removed += 1,
            Change::Failed { document, reason } => self.fail(document, reason),
            // Counted by its kind.
            Change::Skipped { .. } => {}
        }
    }

    /// The last line of JSON.
    pub(super) fn summary(&self) -> Value {
        let skipped = self.skipped.iter().map(|(source, skipped)| (source, &skipped.reason));
        json!({
            "event": "summary",
            "ingested": self.ingested,
            "unchanged": self.unchanged,
            "removed": self.removed,
            "passages": self.passages,
            "failed": self.failed,
            "skipped": skipped.collect::<BTreeMap<_, _>>(),
            "skippedKinds": self.skipped_kinds(),
        })
    }
}

/// What became of one document or file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Change {
    /// Stored, new or changed.
    Ingested { document: String, passages: u32 },
    /// Stored already, with the same text.
    Unchanged { document: String },
    /// Removed from the collection.
    Removed { document: String },
    /// Not stored.
    Failed { document: String, reason: String },
    /// No document.
    Skipped { file: String, reason: String },
}

impl Change {
    /// Shows it: as a line of JSON on standard output, or as a line for people on standard error.
    pub(super) fn show(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return terminal::print_json(self, false);
        }
        let (what, name, more) = match self {
            Self::Ingested { document, passages } => {
                let unit = if *passages == 1 { "passage" } else { "passages" };
                ("ingested", document, format!(" ({passages} {unit})"))
            }
            Self::Unchanged { document } => ("unchanged", document, String::new()),
            Self::Removed { document } => ("removed", document, String::new()),
            Self::Failed { document, reason } => ("failed", document, format!(": {}", printable_line(reason))),
            Self::Skipped { file, reason } => ("skipped", file, format!(": {}", printable_line(reason))),
        };
        terminal::eprintln(format_args!("{what} {}{more}", printable_line(name)));
        Ok(())
    }
}

/// Prints the outcome to standard error.
pub fn report(outcome: &Outcome) {
    let mut parts = Vec::new();
    let mut count = |number: u64, what: &str| {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    };
    count(outcome.ingested, "ingested");
    count(outcome.unchanged, "unchanged");
    count(outcome.removed, "removed");
    count(outcome.failed.len() as u64, "failed");
    if parts.is_empty() {
        parts.push("nothing to do".to_owned());
    }
    terminal::eprintln(format_args!("documents: {}", parts.join(", ")));
    if !outcome.skipped.is_empty() {
        terminal::eprintln(format_args!(
            "skipped: {} (-v names them)",
            printable_line(&outcome.skipped_kinds().to_string())
        ));
    }
    // A file that is no document surprises nobody; a line that is none does.
    let lines = outcome.skipped.values().filter(|line| line.kind == FileKind::LongLine);
    for line in lines.take(MAX_NAMED) {
        terminal::eprintln(format_args!(
            "  {}: {}",
            printable_line(&line.source),
            printable(&line.reason)
        ));
    }
    for (document, reason) in outcome.failed.iter().take(MAX_NAMED) {
        terminal::eprintln(format_args!("  {}: {}", printable_line(document), printable(reason)));
    }
    if outcome.failed.len() > MAX_NAMED {
        terminal::eprintln(format_args!("  and {} more", outcome.failed.len() - MAX_NAMED));
    }
}

#[cfg(test)]
mod tests;
