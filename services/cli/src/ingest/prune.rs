//! Removing documents that are gone.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::Duration,
};

use emend_chassis::retrying;
use emend_core::Deadline;
use emend_proto::v1::{DeleteDocumentsRequest, ListDocumentsRequest, StoredDocument};
use tonic::{Code, Status};

use super::Retriever;
use crate::documents::is_address;

/// Deadline of the calls that remove documents after an ingest.
const MAX_REMOVE_TIME: Duration = Duration::from_secs(10 * 60);
/// Maximum ids per delete request.
const DELETE_AT_ONCE: usize = 1000;

/// Which documents of a collection are removed when they are not found any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prune {
    /// None.
    Nothing,
    /// Those that were ingested from the paths that are ingested now, or from below them.
    Owned,
    /// All: the collection mirrors the paths.
    Everything,
}

/// What is known when documents are removed.
pub(super) struct Pruning<'a> {
    pub(super) prune: Prune,
    /// Identifiers of documents that are there, stored or not.
    pub(super) seen: &'a HashSet<String>,
    /// What was ingested, in full.
    pub(super) roots: &'a [PathBuf],
    /// Files and folders that could not be looked at.
    pub(super) unread: &'a [PathBuf],
    /// Files some of whose records could not be read: nobody knows which.
    pub(super) incomplete: HashSet<&'a Path>,
}

impl Pruning<'_> {
    /// Whether a stored document is gone from where it was ingested from.
    fn removes(&self, document: &StoredDocument) -> bool {
        if self.seen.contains(&document.id) {
            return false;
        }
        let has_owner = !document.owner.is_empty();
        let owner = Path::new(if has_owner { &document.owner } else { &document.source });
        if self.unread.iter().any(|unread| owner.starts_with(unread)) || self.incomplete.contains(owner) {
            return false;
        }
        // A record of an older version does not say which file it is in.
        if !has_owner && document.id != document.source && !self.incomplete.is_empty() {
            return false;
        }
        match self.prune {
            Prune::Nothing => false,
            // A page is within no other page, whatever their addresses.
            Prune::Owned => self.roots.iter().any(|root| match is_address(root) {
                true => owner.as_os_str() == root.as_os_str(),
                false => owner.starts_with(root),
            }),
            Prune::Everything => true,
        }
    }
}

/// Removes the documents of a collection that are gone. Returns how many.
pub(super) async fn remove_others(client: &Retriever, collection: &str, pruning: &Pruning<'_>) -> Result<u64, Status> {
    // A long ingest outlives its connection, which the server closes by and by.
    let deadline = Deadline::after(MAX_REMOVE_TIME);
    let mut gone = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = ListDocumentsRequest {
            collection: collection.to_owned(),
            page_size: None,
            page_token,
        };
        let page = retrying(deadline, |attempt| {
            let (mut client, request) = (client.clone(), attempt.request(request.clone()));
            async move { client.list_documents(request).await }
        })
        .await;
        let page = match page {
            Ok(page) => page.into_inner(),
            // The collection does not exist because every document failed.
            Err(status) if status.code() == Code::NotFound => return Ok(0),
            Err(status) => return Err(status),
        };
        let others = page.documents.into_iter().filter(|document| pruning.removes(document));
        gone.extend(others.map(|document| document.id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    delete(client, collection, &gone).await
}

/// Removes documents. Returns how many of them were there.
pub(super) async fn delete(client: &Retriever, collection: &str, documents: &[String]) -> Result<u64, Status> {
    let deadline = Deadline::after(MAX_REMOVE_TIME);
    let mut removed = 0;
    for ids in documents.chunks(DELETE_AT_ONCE) {
        let request = DeleteDocumentsRequest {
            collection: collection.to_owned(),
            document_ids: ids.to_vec(),
        };
        let deleted = retrying(deadline, |attempt| {
            let (mut client, request) = (client.clone(), attempt.request(request.clone()));
            async move { client.delete_documents(request).await }
        });
        match deleted.await {
            Ok(deleted) => removed += u64::from(deleted.into_inner().deleted),
            // The collection never got a document.
            Err(status) if status.code() == Code::NotFound => return Ok(removed),
            Err(status) => return Err(status),
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests;
