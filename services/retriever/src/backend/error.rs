//! How a store can fail.

use std::path::PathBuf;

use emend_core::{Reason, Resource, ServiceError};

use super::{EmbedderInfo, Holder};

/// Errors of a vector store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The collection does not exist.
    #[error("unknown collection {name:?}: {}", known_collections(known))]
    UnknownCollection {
        /// The requested name.
        name: String,
        /// The existing names, sorted.
        known: Vec<String>,
    },
    /// The collection was created with another embedder.
    #[error(
        "collection {collection:?} holds embeddings of {} ({} values), this service embeds with {} ({} values): start it \
         with the collection's embedder, or embed the collection again with `emend collections copy`",
        stored.id, stored.dimensions, given.id, given.dimensions
    )]
    OtherEmbedder {
        /// The collection.
        collection: String,
        /// The embedder of the collection.
        stored: EmbedderInfo,
        /// The embedder of this service.
        given: EmbedderInfo,
    },
    /// Another process uses the folder.
    #[error(
        "data folder {} is in use by another process: {holder}stop it, or choose another folder with --data-dir",
        folder.display()
    )]
    InUse {
        /// The data folder.
        folder: PathBuf,
        /// What that process says of where it is reached.
        holder: Holder,
    },
    /// The folder cannot be created, read or written.
    #[error("data folder {} cannot be used: choose a writable folder with --data-dir", folder.display())]
    Folder {
        /// The data folder.
        folder: PathBuf,
        /// The I/O error.
        #[source]
        source: std::io::Error,
    },
    /// The server of the collections does not answer.
    #[error(
        "Qdrant at {url} does not answer ({reason}): check that it runs and that --qdrant-url is right, then try again"
    )]
    Unreachable {
        /// Its address, without secrets.
        url: String,
        /// What was seen.
        reason: String,
    },
    /// The server of the collections wants another API key.
    #[error(
        "Qdrant at {url} refuses this service ({reason}): set its API key with --qdrant-api-key-file or \
         EMEND_QDRANT_API_KEY"
    )]
    Refused {
        /// Its address, without secrets.
        url: String,
        /// What it said.
        reason: String,
    },
    /// There is no safe connection to the server of the collections.
    #[error(
        "Qdrant at {url} cannot be trusted ({reason}): check that it speaks TLS there, with a certificate for this address \
         that has not expired, and give the certificate of its authority with --qdrant-ca-file"
    )]
    Untrusted {
        /// Its address, without secrets.
        url: String,
        /// What is wrong with TLS.
        reason: String,
    },
    /// The server of the collections is too old.
    #[error("Qdrant at {url} is version {version:?}, at least {needed} is needed: update it")]
    Outdated {
        /// Its address, without secrets.
        url: String,
        /// Its version.
        version: String,
        /// The oldest version with the updates that are needed.
        needed: String,
    },
    /// The server of the collections has reached a limit.
    #[error("Qdrant at {url} takes no more ({reason}): try again later, or give it more room")]
    Busy {
        /// Its address, without secrets.
        url: String,
        /// What it said.
        reason: String,
    },
    /// The server of the collections failed.
    #[error("Qdrant at {url} cannot {operation} ({reason}): see its log")]
    Server {
        /// Its address, without secrets.
        url: String,
        /// The operation that failed.
        operation: &'static str,
        /// What it said.
        reason: String,
    },
    /// Others write the document again and again.
    #[error("document {document:?} of collection {collection:?} is being changed by others: try again")]
    Contended {
        /// The collection.
        collection: String,
        /// The document.
        document: String,
    },
    /// A stored document is not whole.
    #[error(
        "document {document:?} of collection {collection:?} is damaged ({reason}): run `emend collections repair`, which finds \
         all of them, and then ingest it again"
    )]
    DamagedDocument {
        /// The collection.
        collection: String,
        /// The document.
        document: String,
        /// What is wrong.
        reason: String,
    },
    /// The collection was removed while it was used.
    #[error("collection {name:?} was removed meanwhile: try again")]
    Removed {
        /// The collection.
        name: String,
    },
    /// No copy can become this collection.
    #[error(
        "collection {name:?} was not made by a copy, and the Qdrant server cannot put one in its place: copy to a name that is \
         not taken, and to the same one from then on"
    )]
    Occupied {
        /// The collection.
        name: String,
    },
    /// Not enough free disk space to write safely.
    #[error(
        "no room left for data folder {}: {free_mib} MiB are free and {needed_mib} MiB are needed; free some space",
        folder.display()
    )]
    NoSpace {
        /// The collection's folder.
        folder: PathBuf,
        /// Free space in MiB.
        free_mib: u64,
        /// Needed space in MiB.
        needed_mib: u64,
    },
    /// The catalog of a collection is lost or damaged.
    #[error(
        "collection {collection:?} cannot be opened: {reason}; restore {} from a backup, or remove it and ingest the \
         documents again",
        folder.display()
    )]
    Damaged {
        /// The collection.
        collection: String,
        /// The collection's folder.
        folder: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("cannot {operation} in {}: check the disk and its permissions", folder.display())]
    Storage {
        /// The operation that failed.
        operation: &'static str,
        /// The collection's folder.
        folder: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// The same error of the collection that was asked for, where the store calls it otherwise.
    pub(crate) fn of(mut self, asked: &str) -> Self {
        match &mut self {
            Self::UnknownCollection { name: collection, .. }
            | Self::OtherEmbedder { collection, .. }
            | Self::Contended { collection, .. }
            | Self::DamagedDocument { collection, .. }
            | Self::Removed { name: collection } => asked.clone_into(collection),
            _ => {}
        }
        self
    }
}

fn known_collections(known: &[String]) -> String {
    if known.is_empty() {
        "there are none yet, ingest documents first".to_owned()
    } else {
        format!("known are {}", emend_core::list_names(known))
    }
}

impl ServiceError for StoreError {
    fn reason(&self) -> Reason {
        match self {
            Self::UnknownCollection { .. } => Reason::CollectionNotFound,
            Self::OtherEmbedder { .. } => Reason::EmbedderMismatch,
            Self::InUse { .. }
            | Self::Folder { .. }
            | Self::Occupied { .. }
            | Self::Refused { .. }
            | Self::Untrusted { .. }
            | Self::Outdated { .. } => Reason::StoreUnusable,
            Self::Damaged { .. } | Self::DamagedDocument { .. } => Reason::StoredDataDamaged,
            Self::Unreachable { .. } => Reason::StoreUnavailable,
            Self::Contended { .. } | Self::Removed { .. } => Reason::ChangedMeanwhile,
            Self::NoSpace { .. } | Self::Busy { .. } => Reason::StorageFull,
            Self::Storage { .. } | Self::Server { .. } => Reason::StoreFailed,
        }
    }

    fn resource(&self) -> Option<Resource> {
        match self {
            Self::UnknownCollection { name, .. } | Self::Removed { name } => Some(Resource::collection(name)),
            Self::OtherEmbedder { collection, .. } | Self::Damaged { collection, .. } => {
                Some(Resource::collection(collection))
            }
            Self::DamagedDocument { document, .. } | Self::Contended { document, .. } => {
                Some(Resource::document(document))
            }
            _ => None,
        }
    }
}
