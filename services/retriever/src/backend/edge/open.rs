//! An open collection: its catalog and its index, reconciled on open.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use super::catalog::{Catalog, CatalogError, DocumentRecord, Snapshot};
use super::index::{Index, IndexError, Point};
use crate::backend::EmbedderInfo;
use crate::terms::Terms;

const CATALOG: &str = "documents.redb";
pub(super) const INDEX: &str = "index";

/// The catalog or the index failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error(transparent)]
    Catalog(CatalogError),
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl<E: Into<CatalogError>> From<E> for OpenError {
    fn from(error: E) -> Self {
        Self::Catalog(error.into())
    }
}

pub(super) struct Open {
    pub(super) catalog: Catalog,
    /// `None` before the first document, which determines the dimensions.
    pub(super) index: Option<Index>,
}

impl Open {
    /// Opens the folder of a collection, or creates it.
    pub(super) fn at(folder: &Path) -> Result<Self, OpenError> {
        let fresh = !folder.exists();
        fs::create_dir_all(folder)?;
        let catalog = Catalog::open(&folder.join(CATALOG))?;
        if fresh {
            // A new file survives a power cut only if its directory entry is synced.
            File::open(folder)?.sync_all()?;
            if let Some(parent) = folder.parent() {
                File::open(parent)?.sync_all()?;
            }
        }
        let index = match catalog.embedder()? {
            Some(embedder) => Some(open_index(&folder.join(INDEX), embedder.dimensions, &catalog)?),
            None => None,
        };
        Ok(Self { catalog, index })
    }

    /// Creates an empty index for the first document of a collection.
    pub(super) fn make_index(&mut self, folder: &Path, embedder: &EmbedderInfo) -> Result<(), OpenError> {
        self.index = None;
        remove_folder(&folder.join(INDEX))?;
        self.index = Some(Index::open(&folder.join(INDEX), embedder.dimensions)?);
        Ok(())
    }
}

/// Opens the index and reconciles it with the catalog. An index that cannot be repaired is rebuilt.
fn open_index(folder: &Path, dimensions: usize, catalog: &Catalog) -> Result<Index, OpenError> {
    let opened = Index::open(folder, dimensions)
        .map_err(OpenError::from)
        .and_then(|index| {
            reconcile(&index, catalog)?;
            Ok(index)
        });
    match opened {
        Ok(index) => Ok(index),
        Err(OpenError::Catalog(error)) => Err(OpenError::Catalog(error)),
        Err(error) => {
            tracing::warn!(%error, folder = %folder.display(), "cannot open the vector index, rebuilding it");
            remove_folder(folder)?;
            let index = Index::open(folder, dimensions)?;
            reconcile(&index, catalog)?;
            Ok(index)
        }
    }
}

fn remove_folder(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reconciles the index with the catalog: removes orphaned points and inserts missing ones.
fn reconcile(index: &Index, catalog: &Catalog) -> Result<(), OpenError> {
    let snapshot = catalog.snapshot()?;
    let mut live: HashMap<u64, u32> = HashMap::new();
    snapshot.each_document(|_, record| {
        live.insert(record.version, record.chunks);
        Ok(())
    })?;
    let mut present: HashMap<u64, u32> = HashMap::new();
    let mut orphans = Vec::new();
    for point in index.points()? {
        match live.get(&point.version) {
            Some(chunks) if point.chunk < *chunks => *present.entry(point.version).or_default() += 1,
            _ => orphans.push(point),
        }
    }
    let mut missing = Vec::new();
    snapshot.each_document(|_, record| {
        if present.get(&record.version).copied().unwrap_or(0) < record.chunks {
            missing.push(record);
        }
        Ok(())
    })?;
    if !(orphans.is_empty() && missing.is_empty()) {
        tracing::info!(
            orphans = orphans.len(),
            documents = missing.len(),
            "reconciling the vector index with the catalog: removing orphaned points, restoring missing ones"
        );
    }
    index.remove(orphans.into_iter())?;
    missing.iter().try_for_each(|record| reinsert(index, &snapshot, record))
}

/// Inserts the points of a stored document into the index.
fn reinsert(index: &Index, snapshot: &Snapshot, record: &DocumentRecord) -> Result<(), OpenError> {
    let chunks = (0..record.chunks)
        .map(|chunk| {
            let (embedding, terms) = (
                snapshot.embedding(record.version, chunk)?,
                snapshot.terms(record.version, chunk)?,
            );
            Ok((chunk, embedding, terms))
        })
        .collect::<Result<Vec<(u32, Arc<[f32]>, Terms)>, CatalogError>>()?;
    let chunks = chunks
        .iter()
        .map(|(chunk, embedding, terms)| (*chunk, &**embedding, terms));
    Ok(index.insert(record.version, &record.metadata, chunks)?)
}

/// The points of a document version.
pub(super) fn points_of(version: super::catalog::Version) -> impl Iterator<Item = Point> {
    (0..version.chunks).map(move |chunk| Point {
        version: version.number,
        chunk,
    })
}
