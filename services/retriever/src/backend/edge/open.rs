//! An open collection: its catalog and its index, reconciled on open.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use super::catalog::{Catalog, CatalogError, DocumentRecord, Snapshot};
use super::index::{Index, IndexError, Point};
use super::private;
use crate::backend::{EmbedderInfo, Repaired};
use crate::terms::Terms;

pub(super) const CATALOG: &str = "documents.redb";
const NEW_CATALOG: &str = "documents.redb.new";
pub(super) const INDEX: &str = "index";

/// The catalog or the index failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error(transparent)]
    Catalog(CatalogError),
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Another thread closed the collection in between.
    #[error("the collection is not open")]
    NotOpen,
    /// The collection was removed.
    #[error("the collection was removed")]
    Removed,
    /// The catalog is there and holds nothing that could be read.
    #[error("{0}")]
    Damaged(String),
}

impl<E: Into<CatalogError>> From<E> for OpenError {
    fn from(error: E) -> Self {
        Self::Catalog(error.into())
    }
}

pub(super) struct Open {
    pub(super) catalog: Catalog,
    /// `None` until it is needed, and before the first document, which determines the dimensions.
    pub(super) index: Option<Index>,
    /// What was done when the index was opened.
    pub(super) repaired: Repaired,
}

/// What an operation needs of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Catalog,
    Index,
}

impl Open {
    /// Opens the catalog in the folder of a collection, or creates both.
    ///
    /// # Errors
    /// [`OpenError::Damaged`] where the catalog is lost or cannot be read: it is not replaced by an empty one, which would
    /// remove every document.
    pub(super) fn at(folder: &Path) -> Result<Self, OpenError> {
        let path = folder.join(CATALOG);
        let damaged = |reason: &str| Err(OpenError::Damaged(format!("{CATALOG} {reason}")));
        match fs::metadata(&path) {
            Ok(_) => {}
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            Err(_) if folder.join(INDEX).exists() => return damaged("is missing"),
            Err(_) => {
                private::create_folder(folder)?;
                // Under another name until it is whole, so that a crash leaves none that is not.
                let new = folder.join(NEW_CATALOG);
                remove_file(&new)?;
                drop(Catalog::create(&new)?);
                fs::rename(&new, &path)?;
                // A new file survives a power cut only if its directory entry is synced.
                File::open(folder)?.sync_all()?;
                if let Some(parent) = folder.parent() {
                    File::open(parent)?.sync_all()?;
                }
            }
        }
        let catalog = Catalog::open(&path).and_then(|catalog| {
            catalog.embedder()?;
            Ok(catalog)
        });
        match catalog {
            Ok(catalog) => Ok(Self {
                catalog,
                index: None,
                repaired: Repaired::default(),
            }),
            Err(error) if is_damage(&error) => damaged(&format!("is damaged ({error})")),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the collection is open as far as an operation needs it.
    pub(super) fn has(&self, need: Need) -> bool {
        need == Need::Catalog || self.index.is_some() || self.catalog.known_embedder().is_none()
    }

    /// Opens the index, where there are documents, and reconciles it with the catalog.
    pub(super) fn open_index(&mut self, folder: &Path) -> Result<(), OpenError> {
        if let (None, Some(embedder)) = (&self.index, self.catalog.embedder()?) {
            let (index, repaired) = open_index(&folder.join(INDEX), embedder.dimensions, &self.catalog)?;
            (self.index, self.repaired) = (Some(index), repaired);
        }
        Ok(())
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
fn open_index(folder: &Path, dimensions: usize, catalog: &Catalog) -> Result<(Index, Repaired), OpenError> {
    let opened = Index::open(folder, dimensions)
        .map_err(OpenError::from)
        .and_then(|index| {
            let repaired = reconcile(&index, catalog)?;
            Ok((index, repaired))
        });
    match opened {
        Ok(opened) => Ok(opened),
        Err(OpenError::Catalog(error)) => Err(OpenError::Catalog(error)),
        Err(error) => {
            tracing::warn!(%error, folder = %folder.display(), "cannot open the vector index, rebuilding it");
            remove_folder(folder)?;
            let index = Index::open(folder, dimensions)?;
            let repaired = reconcile(&index, catalog)?;
            Ok((index, repaired))
        }
    }
}

/// Whether a catalog cannot be read because of what is in it, rather than because of the disk.
fn is_damage(error: &CatalogError) -> bool {
    match error {
        CatalogError::Corrupted(_) => true,
        CatalogError::Io(error) => matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof),
        _ => false,
    }
}

fn remove_file(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn remove_folder(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reconciles the index with the catalog: removes orphaned points and inserts missing ones.
fn reconcile(index: &Index, catalog: &Catalog) -> Result<Repaired, OpenError> {
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
    let mut restored = 0;
    snapshot.each_document(|_, record| {
        let there = present.get(&record.version).copied().unwrap_or(0);
        if there < record.chunks {
            restored += u64::from(record.chunks - there);
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
    let removed = orphans.len() as u64;
    index.remove(orphans.into_iter())?;
    missing
        .iter()
        .try_for_each(|record| reinsert(index, &snapshot, record))?;
    Ok(Repaired {
        removed,
        restored,
        incomplete: Vec::new(),
    })
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
        .collect::<Result<Vec<(u32, Option<Arc<[f32]>>, Terms)>, CatalogError>>()?;
    let chunks = chunks
        .iter()
        .map(|(chunk, embedding, terms)| (*chunk, embedding.as_deref(), terms));
    Ok(index.insert(record.version, &record.metadata, chunks)?)
}

/// The points of a document version.
pub(super) fn points_of(version: super::catalog::Version) -> impl Iterator<Item = Point> {
    (0..version.chunks).map(move |chunk| Point {
        version: version.number,
        chunk,
    })
}
