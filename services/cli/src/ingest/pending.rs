//! Documents that are found by their words, and are still to be embedded.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::Arc,
};

use anyhow::Result;
use indicatif::ProgressBar;

use super::{
    Retriever,
    outcome::{Change, Outcome},
    send::{ReadFile, Sending, Sent},
};
use crate::documents::{Fields, Source, total_bytes};

/// Files with documents that a collection has by their words alone.
pub struct Pending {
    client: Retriever,
    collection: String,
    sources: Vec<Source>,
    fields: Arc<Fields>,
    by_words: HashSet<String>,
    bytes: u64,
}

impl Pending {
    /// Those of `sources` that have one of these documents; `None` where there is none.
    pub(super) fn new(
        client: &Retriever,
        collection: &str,
        mut sources: Vec<Source>,
        fields: &Arc<Fields>,
        files: &[ReadFile],
        by_words: HashSet<String>,
    ) -> Option<Self> {
        let files: HashMap<&Path, &ReadFile> = files.iter().map(|file| (file.path.as_path(), file)).collect();
        sources.retain(|source| files.get(source.path()).is_some_and(|file| file.has_one_of(&by_words)));
        (!sources.is_empty()).then(|| Self {
            client: client.clone(),
            collection: collection.to_owned(),
            bytes: total_bytes(&sources),
            sources,
            fields: Arc::clone(fields),
            by_words,
        })
    }

    /// The size of the files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Stores the documents with their embeddings, as they are now. The bar counts the bytes of the files. Of failures those are
    /// told that keep one of the documents without its embeddings; the others of their files were told before.
    ///
    /// # Errors
    /// The retriever rejects the stream or is unreachable. Acknowledged documents stay stored.
    pub async fn embed(self, bar: ProgressBar) -> Result<Outcome> {
        let sending = Sending::new(&self.client, &self.collection, self.sources, &self.fields).with_bar(bar);
        let Sent {
            mut outcome,
            unreadable,
            ..
        } = sending.send(&mut |_: &Change| {}).await?;
        unreadable.iter().for_each(|document| outcome.leave(document));
        outcome.failed.retain(|document, _| self.by_words.contains(document));
        Ok(outcome)
    }
}
