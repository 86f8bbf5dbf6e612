//! Copies: a collection with the embeddings of this retriever's embedder, from what is stored of it.
//!
//! A copy is made in a draft, which no request can name, and takes its place in one step once it is whole. Documents are
//! gone through in the order of their ids, those that the draft has already are left as they are, and what is gone from the
//! collection goes from the draft, until nothing was left to do: so a copy that broke off is made again, and what was
//! written meanwhile is in it, but for what is written while it takes its place.

use std::collections::VecDeque;
use std::sync::Arc;

use emend_chassis::{ActorHandle, Caller, Work};
use emend_core::Scope;
use emend_proto::v1::CopyCollectionResponse;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::export::{Export, NextIds, PAGE};
use crate::backend::{NewDocument, Section, StoreError, part};
use crate::error::RetrieverError;
use crate::ingest::{PreparedChunk, passage_terms, with_context};
use crate::library::Library;
use crate::split::SplitError;
use crate::terms::Terms;
use crate::work::call;

/// Copies that are made at once.
pub(crate) const COPIES: usize = 1;

/// Times that a collection is gone through.
const MAX_PASSES: u32 = 16;

/// What to copy, and the collection that the copy becomes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Copy {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// Find the draft, and count the documents.
#[derive(Clone)]
struct Begin(Copy);

impl Work<Library> for Begin {
    type Reply = (String, u64);
    type Error = RetrieverError;
    const NAME: &'static str = "copy_begin";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        let total = library.store.collection(&self.0.from).await?.documents;
        let draft = library.store.draft(&self.0.to).await?;
        match library.store.embedder(&draft).await {
            // One that was begun with another embedder.
            Ok(begun) if begun != library.embedder_info() => drop(library.store.delete_collection(&draft).await?),
            Ok(_) | Err(StoreError::UnknownCollection { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok((draft, total))
    }
}

/// Copy a document unless the draft has it. Says whether there was something to do.
#[derive(Clone)]
struct CopyDocument {
    from: String,
    draft: String,
    document: String,
}

impl Work<Library> for CopyDocument {
    type Reply = bool;
    type Error = RetrieverError;
    const NAME: &'static str = "copy_document";

    async fn run(self, library: &Library, scope: &Scope) -> Result<bool, RetrieverError> {
        let Self { from, draft, document } = &self;
        let store = &library.store;
        let (stored, copied) = (
            store.stored(from, document).await?,
            store.stored(draft, document).await?,
        );
        let is_new = |stored: [u8; 32]| copied.is_none_or(|copied| copied.fingerprint != stored);
        if !stored.is_some_and(|stored| is_new(stored.fingerprint)) {
            return Ok(false);
        }
        let Some(document) = store.read(from, document).await? else {
            return Ok(false);
        };
        let document = library.embedded_again(document, scope).await?;
        store.put(draft, &library.embedder_info(), document).await?;
        Ok(true)
    }
}

/// Remove documents from the draft that are gone. Returns the last one that was looked at, if more may come, and whether
/// there was something to do.
#[derive(Clone)]
struct RemoveGone {
    from: String,
    draft: String,
    after: String,
}

impl Work<Library> for RemoveGone {
    type Reply = (Option<String>, bool);
    type Error = RetrieverError;
    const NAME: &'static str = "copy_remove";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        let store = &library.store;
        let copied = match store.documents(&self.draft, &self.after, PAGE).await {
            Err(StoreError::UnknownCollection { .. }) => return Ok((None, false)),
            copied => copied?,
        };
        let mut gone = Vec::new();
        for document in &copied {
            if store.stored(&self.from, &document.id).await?.is_none() {
                gone.push(document.id.clone());
            }
        }
        let any = !gone.is_empty();
        if any {
            store.delete(&self.draft, gone).await?;
        }
        let more = copied.len() == PAGE;
        Ok((copied.into_iter().next_back().map(|last| last.id).filter(|_| more), any))
    }
}

/// Make the draft the collection.
#[derive(Clone)]
struct Publish {
    draft: String,
    copy: Copy,
}

impl Work<Library> for Publish {
    type Reply = ();
    type Error = RetrieverError;
    const NAME: &'static str = "copy_publish";

    async fn run(self, library: &Library, _: &Scope) -> Result<(), RetrieverError> {
        match library.store.publish(&self.draft, &self.copy.to).await {
            Err(StoreError::UnknownCollection { .. }) => Err(RetrieverError::NothingToCopy {
                collection: self.copy.from,
            }),
            published => Ok(published?),
        }
    }
}

impl Library {
    /// A stored document with the embeddings of this embedder. Its passages stay, but for those that are too long for it.
    async fn embedded_again(&self, document: NewDocument, scope: &Scope) -> Result<NewDocument, RetrieverError> {
        let (embedder, split, scope) = (Arc::clone(&self.embedder), self.split, scope.clone());
        let (id, span) = (document.id.clone(), tracing::Span::current());
        let cut = move || {
            let count = |text: &str| embedder.count_tokens(text);
            let mut pieces = Vec::with_capacity(document.chunks.len());
            for chunk in &document.chunks {
                if scope.is_stopped() {
                    return Err(RetrieverError::Stopped);
                }
                let section = document.sections.get(chunk.section as usize);
                let nothing = Section {
                    start: chunk.start,
                    text: String::new(),
                    headings: Vec::new(),
                };
                let section = section.unwrap_or(&nothing);
                let (start, end, text) = part(section, Some((chunk.start, chunk.end)));
                let mut add = |start, end, text: &str, terms: Option<Terms>| {
                    let text = with_context(&document.title, &section.headings, text);
                    pieces.push(PreparedChunk {
                        section: chunk.section,
                        start,
                        end,
                        terms: terms.unwrap_or_else(|| passage_terms(&document.source, &text)),
                        text,
                        embedding: None,
                    });
                };
                if count(&text) <= split.chunk {
                    add(start, end, &text, Some(chunk.terms.clone()));
                    continue;
                }
                let stop = || scope.is_stopped();
                let shorter = split.split(&text, false, &count, &stop).map_err(|error| match error {
                    SplitError::Stopped => RetrieverError::Stopped,
                    SplitError::Config(error) => RetrieverError::Unreadable {
                        document: document.id.clone(),
                        reason: error.to_string(),
                    },
                })?;
                for piece in shorter.chunks {
                    add(start + piece.start, start + piece.end, piece.text, None);
                }
            }
            Ok((document, pieces))
        };
        let cut = tokio::task::spawn_blocking(move || span.in_scope(cut)).await;
        let (document, pieces) = cut.map_err(|source| RetrieverError::Broken { document: id, source })??;
        let chunks = self.embed_chunks(pieces).await?;
        Ok(NewDocument { chunks, ..document })
    }
}

/// What comes next.
enum Next {
    Begin,
    /// Documents that were listed, and after which others may come.
    Documents(VecDeque<String>, Option<String>),
    /// Documents that are gone, after this one.
    Gone(String),
    Publish,
    Nothing,
}

struct Copying {
    copy: Copy,
    writer: ActorHandle<Library>,
    /// Dropped with the stream, which stops the work.
    caller: Caller,
    shutdown: CancellationToken,
    next: Next,
    draft: String,
    /// Documents that were looked at in the first pass.
    documents: u64,
    total: u64,
    pass: u32,
    /// Whether this pass had something to do.
    worked: bool,
    _permit: OwnedSemaphorePermit,
}

/// Makes a copy as its progress is taken.
pub(crate) fn copy(
    copy: Copy,
    writer: ActorHandle<Library>,
    caller: Caller,
    shutdown: CancellationToken,
    permit: OwnedSemaphorePermit,
) -> BoxStream<'static, Result<CopyCollectionResponse, Status>> {
    let copying = Copying {
        copy,
        writer,
        caller,
        shutdown,
        next: Next::Begin,
        draft: String::new(),
        documents: 0,
        total: 0,
        pass: 1,
        worked: false,
        _permit: permit,
    };
    stream::try_unfold(copying, |mut copying| async move {
        Ok(copying.step().await?.map(|progress| (progress, copying)))
    })
    .boxed()
}

impl Copying {
    async fn step(&mut self) -> Result<Option<CopyCollectionResponse>, Status> {
        loop {
            if self.shutdown.is_cancelled() {
                return Err(Status::unavailable(
                    "shutting down: copy again, it goes on where it broke off",
                ));
            }
            let progress = match std::mem::replace(&mut self.next, Next::Nothing) {
                Next::Begin => {
                    (self.draft, self.total) = self.call(Begin(self.copy.clone())).await?;
                    self.next = Next::Documents(VecDeque::new(), Some(String::new()));
                    true
                }
                Next::Documents(listed, after) => self.documents(listed, after).await?,
                Next::Gone(after) => {
                    self.gone(after).await?;
                    false
                }
                Next::Publish => {
                    let (draft, copy) = (self.draft.clone(), self.copy.clone());
                    self.call(Publish { draft, copy }).await?;
                    return Ok(Some(self.progress(true)));
                }
                Next::Nothing => return Ok(None),
            };
            if progress {
                return Ok(Some(self.progress(false)));
            }
        }
    }

    /// Copies one document or lists more. Says whether that is progress.
    async fn documents(&mut self, mut listed: VecDeque<String>, after: Option<String>) -> Result<bool, Status> {
        if let Some(document) = listed.pop_front() {
            let (from, draft) = (self.copy.from.clone(), self.draft.clone());
            self.worked |= self.call(CopyDocument { from, draft, document }).await?;
            self.documents += u64::from(self.pass == 1);
            self.next = Next::Documents(listed, after);
            return Ok(self.pass == 1);
        }
        let Some(after) = after else {
            self.next = Next::Gone(String::new());
            return Ok(false);
        };
        let collection = self.copy.from.clone();
        let (_, ids) = self.call(NextIds(Export { collection, after })).await?;
        let after = ids.last().cloned().filter(|_| ids.len() == PAGE);
        self.next = Next::Documents(ids.into(), after);
        Ok(false)
    }

    async fn gone(&mut self, after: String) -> Result<(), Status> {
        let (from, draft) = (self.copy.from.clone(), self.draft.clone());
        let (last, removed) = self.call(RemoveGone { from, draft, after }).await?;
        self.worked |= removed;
        self.next = match last {
            Some(last) => Next::Gone(last),
            None if !std::mem::take(&mut self.worked) => Next::Publish,
            None if self.pass == MAX_PASSES => {
                return Err(Status::unavailable(format!(
                    "documents of collection {:?} change faster than they are copied: copy again when they rest",
                    self.copy.from
                )));
            }
            None => {
                self.pass += 1;
                Next::Documents(VecDeque::new(), Some(String::new()))
            }
        };
        Ok(())
    }

    async fn call<W: Work<Library, Error = RetrieverError> + Clone>(&self, work: W) -> Result<W::Reply, Status> {
        Ok(call(&self.writer, &self.caller.scope(), &self.caller.span, &work).await?)
    }

    fn progress(&self, published: bool) -> CopyCollectionResponse {
        CopyCollectionResponse {
            documents: self.documents,
            total: self.total.max(self.documents),
            published,
        }
    }
}
