//! Units of documents, read back from the catalog.

use super::catalog::{CatalogError, Snapshot};
use crate::backend::ranking::part;
use crate::backend::{DocumentUnits, ReadUnits, StoredUnit, Unit};

/// The units of a document that `read` asks for; `None` if there is no such document.
pub(super) fn of_document(
    snapshot: &Snapshot,
    document: &str,
    read: ReadUnits,
) -> Result<Option<DocumentUnits>, CatalogError> {
    let Some(record) = snapshot.document(document)? else {
        return Ok(None);
    };
    let total = match read.unit {
        Unit::Section => record.sections,
        Unit::Chunk => record.chunks,
    };
    let (mut units, mut bytes) = (Vec::new(), 0);
    for index in (read.from..total).take(read.limit) {
        let (_, unit) = unit(snapshot, record.version, read.unit, index)?;
        bytes += unit.bytes();
        if bytes > read.bytes && !units.is_empty() {
            break;
        }
        units.push(unit);
    }
    Ok(Some(DocumentUnits {
        fingerprint: record.fingerprint,
        metadata: record.metadata.clone(),
        document: record.listed(document),
        total,
        units,
    }))
}

/// Reads one unit of a version of a document, with the index of its section.
pub(super) fn unit(
    snapshot: &Snapshot,
    version: u64,
    unit: Unit,
    index: u32,
) -> Result<(u32, StoredUnit), CatalogError> {
    let (of, chunk) = match unit {
        Unit::Section => (index, None),
        Unit::Chunk => {
            let (of, start, end) = snapshot.chunk(version, index)?;
            (of, Some((start, end)))
        }
    };
    let section = snapshot.section(version, of)?;
    let (start, end, text) = part(&section, chunk);
    let unit = StoredUnit {
        index,
        start,
        end,
        text,
        headings: section.headings,
    };
    Ok((of, unit))
}
