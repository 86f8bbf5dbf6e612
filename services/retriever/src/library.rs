//! The store and the embedder, and the operations of the actor's tasks on them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use emend_chassis::metrics::Latency;
use emend_core::{ServiceError, Turns, error_chain, fail_span, semconv};
use emend_models::embed::{Embedder, Embedding, Input};
use emend_proto::v1::{self, Origin, Passage, SearchMode, Span};
use emend_text::Language;
use futures::future::try_join_all;
use opentelemetry::KeyValue;
use tracing::{Instrument, field, info_span};

use crate::backend::{
    CollectionInfo, EmbedderInfo, ListedDocument, Query, Search, SearchHit, StoreError, Unit, VectorStore,
};
use crate::error::RetrieverError;
use crate::headings;
use crate::read_back::unit_letter;
use crate::room::Room;
use crate::split::SplitSettings;
use crate::terms::Terms;
use crate::work::{DeleteDocuments, ListDocuments, Retrieve};

/// Collections that are written and searched with one embedder.
pub(crate) struct Library {
    pub(crate) store: Arc<dyn VectorStore>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) split: SplitSettings,
    /// For documents that are being ingested.
    pub(crate) room: Room,
    /// For passages that are read to be sent.
    pub(crate) replies: Room,
    /// Whether a document is stored with embeddings that another collection has of it. Not where keys tell callers apart: how fast
    /// a guess is stored would tell whether somebody else has its text.
    pub(crate) shares_embeddings: bool,
    /// The provider of the embedder, for telemetry.
    provider: &'static str,
    duration: Latency,
}

impl Library {
    /// Must be called after telemetry is initialized; its instruments are no-ops otherwise.
    pub(crate) fn new(
        store: Arc<dyn VectorStore>,
        embedder: Arc<dyn Embedder>,
        split: SplitSettings,
        shares_embeddings: bool,
        provider: &'static str,
    ) -> Self {
        let duration = Latency::new(semconv::GEN_AI_CLIENT_OPERATION_DURATION);
        Self {
            store,
            embedder,
            split,
            room: Room::of_documents(),
            replies: Room::of_replies(),
            shares_embeddings,
            provider,
            duration,
        }
    }

    pub(crate) fn embedder_info(&self) -> EmbedderInfo {
        EmbedderInfo {
            id: self.embedder.space().to_owned(),
            dimensions: self.embedder.dimensions(),
        }
    }

    /// Fails if the collection was created with another embedder, whose vectors are not comparable.
    pub(crate) async fn check_embedder(&self, collection: &str) -> Result<(), StoreError> {
        let (stored, given) = (self.store.embedder(collection).await?, self.embedder_info());
        if stored == given {
            return Ok(());
        }
        Err(StoreError::OtherEmbedder {
            collection: collection.to_owned(),
            stored,
            given,
        })
    }

    /// Retrieves the best passages for a query.
    pub(crate) async fn retrieve(&self, task: Retrieve) -> Result<Vec<Passage>, RetrieverError> {
        let span = info_span!(
            "retrieval",
            otel.name = format!("retrieval {}", task.collection),
            otel.status_code = field::Empty,
            otel.status_description = field::Empty,
            { semconv::GEN_AI_OPERATION_NAME } = "retrieval",
            { semconv::GEN_AI_DATA_SOURCE_ID } = task.collection,
            { semconv::ERROR_TYPE } = field::Empty,
            emend.retrieval.mode = task.mode.as_str_name(),
            emend.retrieval.top_k = task.top_k,
            emend.retrieval.passages = field::Empty,
        );
        let work = async {
            // Check the collection before embedding the query, so that a misspelt name costs nothing.
            self.check_embedder(&task.collection).await?;
            let queries = self.queries(&task.query, task.mode).await?.into_iter();
            let searches = queries.map(|(query, language)| self.search(&task, query, language));
            let found = by_turns(try_join_all(searches).await?, task.top_k);
            // A copy of another embedder may have taken its place since.
            self.check_embedder(&task.collection).await?;
            Ok::<_, RetrieverError>(found)
        };
        let found = work.instrument(span.clone()).await;
        match &found {
            Ok(found) => {
                span.record("emend.retrieval.passages", found.len());
            }
            Err(error) => fail(&span, error),
        }
        Ok(found?.into_iter().map(passage).collect())
    }

    /// The best units for a part of the query.
    async fn search(
        &self,
        task: &Retrieve,
        query: Query,
        language: Language,
    ) -> Result<Vec<SearchHit>, RetrieverError> {
        let search = Search {
            query,
            limit: task.top_k,
            unit: task.unit,
            filter: task.filter.clone(),
            language: Some(language),
            ef: task.ef,
            exact: task.exact,
        };
        Ok(self.store.search(&task.collection, search).await?)
    }

    /// The query of each [part](emend_text::parts) of a text in a mode, with its language; hybrid where none is asked for.
    async fn queries(&self, text: &str, mode: SearchMode) -> Result<Vec<(Query, Language)>, RetrieverError> {
        let whole = text.to_owned();
        let analyze = move || -> Vec<(String, Terms, Language)> {
            let parts = emend_text::parts(&whole).into_iter();
            let analyzed = parts.map(|part| (part.to_string(), Terms::of_query(&part), emend_text::language(&part)));
            analyzed.collect()
        };
        let parts = Turns::shared().piece(text.len(), analyze).await?;
        if mode == SearchMode::Sparse {
            let sparse = |(_, terms, language)| (Query::Sparse(terms), language);
            return Ok(parts.into_iter().map(sparse).collect());
        }
        let texts = parts.iter().map(|(part, ..)| part.clone()).collect();
        let embeddings = self.embed(Input::Query, texts).await?.into_iter();
        let queries = embeddings
            .zip(parts)
            .map(|(embedding, (_, terms, language))| match mode {
                SearchMode::Dense => (Query::Dense(embedding), language),
                _ => (Query::Hybrid(embedding, terms), language),
            });
        Ok(queries.collect())
    }

    /// Embeds texts as unit vectors, in the same order.
    pub(crate) async fn embed(&self, kind: Input, texts: Vec<String>) -> Result<Vec<Embedding>, RetrieverError> {
        let model = self.embedder.id();
        let span = info_span!(
            "embeddings",
            otel.name = format!("embeddings {model}"),
            otel.status_code = field::Empty,
            otel.status_description = field::Empty,
            { semconv::GEN_AI_OPERATION_NAME } = "embeddings",
            { semconv::GEN_AI_PROVIDER_NAME } = self.provider,
            { semconv::GEN_AI_REQUEST_MODEL } = model,
            { semconv::ERROR_TYPE } = field::Empty,
            { semconv::EMEND_EMBEDDINGS_TEXTS } = texts.len(),
        );
        let (count, began) = (texts.len(), Instant::now());
        let embedded = self.embedder.embed(kind, texts).instrument(span.clone()).await;
        let embedded = embedded
            .map_err(|source| RetrieverError::Embed {
                embedder: model.to_owned(),
                source,
            })
            .and_then(|embeddings| self.checked(embeddings, count));
        let mut attributes = vec![
            KeyValue::new(semconv::GEN_AI_OPERATION_NAME, "embeddings"),
            KeyValue::new(semconv::GEN_AI_PROVIDER_NAME, self.provider),
            KeyValue::new(semconv::GEN_AI_REQUEST_MODEL, model.to_owned()),
        ];
        if let Err(error) = &embedded {
            fail(&span, error);
            attributes.push(KeyValue::new(semconv::ERROR_TYPE, error.code().name()));
        }
        self.duration.record(began.elapsed(), &attributes, &span);
        embedded
    }

    /// Validates embeddings: a vector with the wrong dimensions or a NaN would corrupt the index.
    fn checked(&self, embeddings: Vec<Embedding>, expected: usize) -> Result<Vec<Embedding>, RetrieverError> {
        let dimensions = self.embedder.dimensions();
        let wrong = |found: String, expected: String| RetrieverError::Embeddings {
            embedder: self.embedder.id().to_owned(),
            found,
            expected,
        };
        if embeddings.len() != expected {
            return Err(wrong(format!("{} embeddings", embeddings.len()), expected.to_string()));
        }
        if let Some(odd) = embeddings.iter().find(|embedding| embedding.len() != dimensions) {
            return Err(wrong(
                format!("an embedding of {} values", odd.len()),
                dimensions.to_string(),
            ));
        }
        if embeddings
            .iter()
            .any(|embedding| embedding.iter().any(|value| !value.is_finite()))
        {
            return Err(wrong(
                "an embedding with a NaN or infinite value".to_owned(),
                "finite values".to_owned(),
            ));
        }
        Ok(embeddings)
    }

    pub(crate) async fn delete(&self, task: DeleteDocuments) -> Result<u32, RetrieverError> {
        Ok(self.store.delete(&task.collection, task.documents).await?)
    }

    /// Lists a page of documents. The page token is the last id, so paging is stable while documents are added and
    /// removed.
    pub(crate) async fn documents(&self, task: ListDocuments) -> Result<v1::ListDocumentsResponse, RetrieverError> {
        // Fetch one more than the page size to know whether there is another page.
        let mut listed = self
            .store
            .documents(&task.collection, &task.after, task.limit + 1)
            .await?;
        let more = listed.len() > task.limit;
        listed.truncate(task.limit);
        let last = listed.last().filter(|_| more).map(|document| document.id.clone());
        Ok(v1::ListDocumentsResponse {
            documents: listed.into_iter().map(Into::into).collect(),
            next_page_token: last.unwrap_or_default(),
        })
    }

    pub(crate) async fn collections(&self) -> Result<Vec<v1::Collection>, RetrieverError> {
        Ok(self.store.collections().await?.into_iter().map(Into::into).collect())
    }

    pub(crate) async fn collection(&self, name: &str) -> Result<v1::Collection, RetrieverError> {
        Ok(self.store.collection(name).await?.into())
    }
}

fn fail(span: &tracing::Span, error: &RetrieverError) {
    fail_span(span, error.code().name(), &error_chain(error));
}

impl From<ListedDocument> for v1::StoredDocument {
    fn from(document: ListedDocument) -> Self {
        let ListedDocument {
            id,
            title,
            source,
            owner,
            passages,
        } = document;
        Self {
            id,
            title,
            source,
            passages,
            owner,
        }
    }
}

impl From<CollectionInfo> for v1::Collection {
    fn from(info: CollectionInfo) -> Self {
        Self {
            name: info.name,
            documents: info.documents,
            passages: info.passages,
            embedder: info.embedder.id,
            dimensions: u32::try_from(info.embedder.dimensions).unwrap_or(u32::MAX),
        }
    }
}

/// The identifier of a unit of a document.
pub(crate) fn passage_id(document: &str, unit: Unit, index: u32) -> String {
    format!("{document}#{}{index}", unit_letter(unit))
}

/// What several searches found, the best of each by turns, each unit once, at most `limit`.
fn by_turns(mut searches: Vec<Vec<SearchHit>>, limit: usize) -> Vec<SearchHit> {
    if let [found] = searches.as_mut_slice() {
        return std::mem::take(found);
    }
    let mut searches: Vec<_> = searches.into_iter().map(Vec::into_iter).collect();
    let mut seen = HashSet::new();
    let mut merged = Vec::new();
    while merged.len() < limit && searches.iter().any(|found| found.len() > 0) {
        for found in &mut searches {
            let new = found.find(|hit| seen.insert((hit.document.clone(), hit.index)));
            merged.extend(new);
        }
    }
    merged.truncate(limit);
    merged
}

fn passage(found: SearchHit) -> Passage {
    let headings = headings::above(&found.title, found.headings, &found.text);
    Passage {
        id: passage_id(&found.document, found.unit, found.index),
        document_id: found.document,
        title: found.title,
        text: found.text,
        origin: Origin::Local.into(),
        source: found.source,
        score: found.score,
        span: Some(Span {
            start: found.start,
            end: found.end,
        }),
        retrieved_at: None,
        metadata: found.metadata.into_iter().collect(),
        pieces: Vec::new(),
        headings,
    }
}
