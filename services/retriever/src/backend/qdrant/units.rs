//! Units of documents, read back.

use std::collections::{BTreeMap, HashSet};

use super::Inner;
use super::record::Current;
use super::search::READS;
use super::wire::{passage, passage_id, section, section_id};
use crate::backend::ranking::part;
use crate::backend::{DocumentUnits, ReadUnits, Section, StoreError, StoredUnit, Unit};

/// Units that are read by one call.
const AT_ONCE: usize = 200;

const OPERATION: &str = "read a document";

impl Inner {
    /// The units of a document that `read` asks for; `None` if there is no such document.
    pub(super) async fn document(
        &self,
        name: &str,
        document: &str,
        read: ReadUnits,
    ) -> Result<Option<DocumentUnits>, StoreError> {
        for _ in 0..READS {
            let Some(current) = self.record(name, document).await?.and_then(|kept| kept.record.current) else {
                self.described(name).await?;
                return Ok(None);
            };
            let total = match read.unit {
                Unit::Section => current.sections,
                Unit::Chunk => current.passages,
            };
            if let Some(units) = self.units(name, &current, total, read).await? {
                return Ok(Some(DocumentUnits {
                    fingerprint: current.fingerprint,
                    metadata: current.metadata.clone(),
                    document: current.listed(document),
                    total,
                    units,
                }));
            }
            let now = self.record(name, document).await?;
            if now.is_some_and(|kept| kept.record.version() == Some(current.version)) {
                return Err(StoreError::DamagedDocument {
                    collection: name.to_owned(),
                    document: document.to_owned(),
                    reason: "passages or sections are missing".to_owned(),
                });
            }
        }
        Err(self.contended(name, document))
    }

    /// Units of one version; `None` if some are not there.
    async fn units(
        &self,
        name: &str,
        current: &Current,
        total: u32,
        read: ReadUnits,
    ) -> Result<Option<Vec<StoredUnit>>, StoreError> {
        let indexes: Vec<u32> = (read.from..total).take(read.limit).collect();
        let (mut units, mut bytes) = (Vec::new(), 0);
        for indexes in indexes.chunks(AT_ONCE) {
            // The section of each unit, and the part of it.
            let mut places: BTreeMap<u32, (u32, Option<(u32, u32)>)> = BTreeMap::new();
            match read.unit {
                Unit::Section => places.extend(indexes.iter().map(|index| (*index, (*index, None)))),
                Unit::Chunk => {
                    let ids = indexes.iter().map(|index| passage_id(current.version, *index));
                    for point in self.points(OPERATION, name, ids.collect()).await? {
                        let passage = passage(&point.payload).map_err(|error| self.unreadable(OPERATION, &error))?;
                        places.insert(passage.index, (passage.section, Some((passage.start, passage.end))));
                    }
                }
            }
            let wanted: HashSet<u32> = places.values().map(|(section, _)| *section).collect();
            let ids = wanted.iter().map(|index| section_id(current.version, *index));
            let mut sections: BTreeMap<u32, Section> = BTreeMap::new();
            for point in self.points(OPERATION, name, ids.collect()).await? {
                let (_, index, section) =
                    section(&point.payload).map_err(|error| self.unreadable(OPERATION, &error))?;
                sections.insert(index, section);
            }
            for index in indexes {
                let place = places.get(index);
                let found = place.and_then(|(section, chunk)| Some((sections.get(section)?, *chunk)));
                let Some((section, chunk)) = found else { return Ok(None) };
                let (start, end, text) = part(section, chunk);
                let unit = StoredUnit {
                    index: *index,
                    start,
                    end,
                    text,
                    headings: section.headings.clone(),
                };
                bytes += unit.bytes();
                if bytes > read.bytes && !units.is_empty() {
                    return Ok(Some(units));
                }
                units.push(unit);
            }
        }
        Ok(Some(units))
    }
}
