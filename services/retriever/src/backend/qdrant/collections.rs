//! Collections on the server: made, described, counted, removed.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use qdrant_client::qdrant::quantization_config::Quantization;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    CountPoints, CreateCollection, CreateFieldIndexCollection, Distance, FieldType, Filter, GetCollectionInfoRequest,
    HnswConfigDiff, ListCollectionsRequest, Memory, Modifier, QuantizationConfig, QuantizationType, RetrievedPoint,
    ScalarQuantization, ScrollPoints, SparseVectorConfig, SparseVectorParams, Value, VectorParams, VectorParamsMap,
    VectorsConfig, WithPayloadSelector,
};

use super::Inner;
use super::aliases::COPY;
use super::record::Version;
use super::wire::{
    DENSE, KIND_DOCUMENT, KIND_PASSAGE, KIND_UNSETTLED, TERMS, Unreadable, all_payload, indexed_fields, kept, of_kinds,
    of_versions, vectors,
};
use crate::backend::{CollectionInfo, EmbedderInfo, ListedDocument, StoreError};

/// What a collection on the server says of itself: the format of its points, and its embedder.
const FORMAT: &str = "emend_format";
const EMBEDDER: &str = "emend_embedder";
const DIMENSIONS: &str = "emend_dimensions";

/// Increased when the points change, so that an older program does not misread newer ones.
const FORMAT_NUMBER: i64 = 2;

/// How long the embedder of a collection is remembered. A collection that was removed and made again with another embedder
/// is known by then.
const REMEMBERED: Duration = Duration::from_secs(5);

/// Collections that are described at once.
const AT_ONCE: usize = 8;

/// Points of a page.
pub(super) const PAGE: u32 = 1000;

/// Versions of a filter.
pub(super) const VERSIONS_AT_ONCE: usize = 1000;

impl Inner {
    /// The name of a collection on the server.
    pub(super) fn full(&self, name: &str) -> String {
        format!("{}{name}", self.settings.prefix)
    }

    /// Makes the collection unless it is there.
    ///
    /// # Errors
    /// [`StoreError::OtherEmbedder`] where it has another one.
    pub(super) async fn ensure(&self, name: &str, embedder: &EmbedderInfo) -> Result<(), StoreError> {
        let stored = match self.described(name).await {
            Err(StoreError::UnknownCollection { .. }) => {
                let created = self.create(name, embedder).await;
                // Another retriever may have been faster, or this one, in a try whose answer was lost.
                match self.described(name).await {
                    Err(StoreError::UnknownCollection { .. }) => return created,
                    described => described?,
                }
            }
            described => described?,
        };
        if stored != *embedder {
            return Err(StoreError::OtherEmbedder {
                collection: name.to_owned(),
                stored,
                given: embedder.clone(),
            });
        }
        let indexed = self.locked(&self.indexed).contains(name);
        if !indexed {
            // Again at the first write of each process: a writer may have died in between.
            for (field, kind) in indexed_fields() {
                self.index(name, field, kind).await?;
            }
            self.locked(&self.indexed).insert(name.to_owned());
        }
        Ok(())
    }

    async fn create(&self, name: &str, embedder: &EmbedderInfo) -> Result<(), StoreError> {
        let layout = &self.settings.layout;
        #[expect(deprecated, reason = "servers that do not know what came in its place take it")]
        let dense = VectorParams {
            size: embedder.dimensions as u64,
            distance: Distance::Cosine.into(),
            on_disk: layout.on_disk.then_some(true),
            memory: layout.on_disk.then(|| Memory::Cold.into()),
            ..VectorParams::default()
        };
        #[expect(deprecated, reason = "servers that do not know what came in its place take it")]
        let bytes = ScalarQuantization {
            r#type: QuantizationType::Int8.into(),
            quantile: Some(0.99),
            always_ram: Some(true),
            memory: Some(Memory::Pinned.into()),
        };
        let terms = SparseVectorParams {
            modifier: Some(Modifier::Idf.into()),
            ..SparseVectorParams::default()
        };
        let text = |text: &str| Value::from(text);
        let dimensions = i64::try_from(embedder.dimensions).unwrap_or(i64::MAX);
        let request = CreateCollection {
            collection_name: self.full(name),
            hnsw_config: (layout.m.is_some() || layout.ef_construct.is_some()).then(|| HnswConfigDiff {
                m: layout.m.map(u64::from),
                ef_construct: layout.ef_construct.map(u64::from),
                ..HnswConfigDiff::default()
            }),
            shard_number: layout.shards,
            replication_factor: layout.replicas,
            // All of them: a read from any replica then has every write that was acknowledged.
            write_consistency_factor: layout.write_consistency.or(layout.replicas),
            vectors_config: Some(VectorsConfig {
                config: Some(Config::ParamsMap(VectorParamsMap {
                    map: HashMap::from([(DENSE.to_owned(), dense)]),
                })),
            }),
            quantization_config: layout.scalar_quantization.then_some(QuantizationConfig {
                quantization: Some(Quantization::Scalar(bytes)),
            }),
            sparse_vectors_config: Some(SparseVectorConfig {
                map: HashMap::from([(TERMS.to_owned(), terms)]),
            }),
            // Together with the collection, so that there is none without.
            metadata: HashMap::from([
                (FORMAT.to_owned(), FORMAT_NUMBER.into()),
                (EMBEDDER.to_owned(), text(&embedder.id)),
                (DIMENSIONS.to_owned(), dimensions.into()),
            ]),
            ..CreateCollection::default()
        };
        let create = |request| {
            let mut client = self.client.collections();
            async move { client.create(request).await }
        };
        self.client
            .call("make a collection", name, request, create)
            .await
            .map(drop)
    }

    async fn index(&self, name: &str, field: String, kind: FieldType) -> Result<(), StoreError> {
        let request = CreateFieldIndexCollection {
            collection_name: self.full(name),
            wait: Some(true),
            field_name: field,
            field_type: Some(kind.into()),
            ..CreateFieldIndexCollection::default()
        };
        let index = |request| {
            let mut client = self.client.points();
            async move { client.create_field_index(request).await }
        };
        self.client.call("index a field", name, request, index).await.map(drop)
    }

    /// The embedder of a collection, as the server says now.
    pub(super) async fn described(&self, name: &str) -> Result<EmbedderInfo, StoreError> {
        const OPERATION: &str = "describe a collection";
        let request = GetCollectionInfoRequest {
            collection_name: self.full(name),
        };
        let get = |request| {
            let mut client = self.client.collections();
            async move { client.get(request).await }
        };
        let described = self.client.call(OPERATION, name, request, get).await;
        if described.is_err() {
            self.forget(name);
        }
        let config = described?.result.and_then(|info| info.config).unwrap_or_default();
        let number = |field| match config.metadata.get(field).and_then(|value: &Value| value.kind.as_ref()) {
            Some(Kind::IntegerValue(number)) => Some(*number),
            _ => None,
        };
        let id = match config.metadata.get(EMBEDDER).and_then(|value| value.kind.as_ref()) {
            Some(Kind::StringValue(id)) => Some(id.clone()),
            _ => None,
        };
        let dimensions = number(DIMENSIONS).and_then(|number| usize::try_from(number).ok());
        match (number(FORMAT), id, dimensions) {
            (Some(FORMAT_NUMBER), Some(id), Some(dimensions)) => {
                let embedder = EmbedderInfo { id, dimensions };
                let remembered = (Instant::now(), embedder.clone());
                self.locked(&self.embedders).insert(name.to_owned(), remembered);
                Ok(embedder)
            }
            (format, _, _) => Err(StoreError::Server {
                url: self.client.url.clone(),
                operation: OPERATION,
                reason: format!(
                    "collection {} has format {}, this program reads format {FORMAT_NUMBER}: choose another --qdrant-prefix, \
                     and fill it by ingesting again or from an export of the program that wrote this one",
                    self.full(name),
                    format.map_or_else(|| "none".to_owned(), |number| number.to_string())
                ),
            }),
        }
    }

    /// The embedder of a collection, as it was a few seconds ago at most.
    pub(super) async fn embedder(&self, name: &str) -> Result<EmbedderInfo, StoreError> {
        let remembered = self.locked(&self.embedders).get(name).cloned();
        match remembered {
            Some((at, embedder)) if at.elapsed() < REMEMBERED => Ok(embedder),
            _ => self.described(name).await,
        }
    }

    /// Forgets what is remembered of a collection.
    pub(super) fn forget(&self, name: &str) {
        self.locked(&self.embedders).remove(name);
        self.locked(&self.indexed).remove(name);
    }

    /// The names of the collections on the server, copies among them.
    pub(super) async fn listed(&self) -> Result<Vec<String>, StoreError> {
        let list = |request| {
            let mut client = self.client.collections();
            async move { client.list(request).await }
        };
        let listed = self
            .client
            .call("list the collections", "", ListCollectionsRequest {}, list)
            .await?;
        let names = listed.collections.into_iter();
        let own = names.filter_map(|collection| Some(collection.name.strip_prefix(&self.settings.prefix)?.to_owned()));
        Ok(own.collect())
    }

    /// The names of the collections as requests have them, sorted.
    async fn names(&self) -> Result<Vec<String>, StoreError> {
        let mut names = self.listed().await?;
        names.extend(self.aliases().await?.into_iter().map(|(alias, _)| alias));
        names.retain(|name| !name.is_empty() && !name.starts_with(COPY));
        names.sort();
        Ok(names)
    }

    /// All collections that can be described.
    pub(super) async fn infos(&self) -> Result<Vec<CollectionInfo>, StoreError> {
        let names = self.names().await?;
        let infos = stream::iter(names).map(|name| async move {
            match self.info(&name).await {
                Ok(info) => Ok(Some(info)),
                // Removed since, or somebody else's.
                Err(StoreError::UnknownCollection { .. }) => Ok(None),
                Err(error @ StoreError::Server { .. }) => {
                    tracing::warn!(
                        error = emend_core::error_chain(&error),
                        "left a collection out of the list"
                    );
                    Ok(None)
                }
                Err(error) => Err(error),
            }
        });
        let infos: Vec<Option<CollectionInfo>> = infos.buffered(AT_ONCE).try_collect().await?;
        Ok(infos.into_iter().flatten().collect())
    }

    /// The counts and the embedder of a collection.
    pub(super) async fn info(&self, name: &str) -> Result<CollectionInfo, StoreError> {
        let embedder = self.described(name).await?;
        let documents = self.count(name, Filter::must([of_kinds(&[KIND_DOCUMENT])])).await?;
        let passages = self.count(name, Filter::must([of_kinds(&[KIND_PASSAGE])])).await?;
        let mut invisible: Vec<Version> = Vec::new();
        self.scroll(
            name,
            Filter::must([of_kinds(&[KIND_UNSETTLED])]),
            all_payload(),
            false,
            |point| {
                invisible.extend(kept(&point.payload)?.record.invisible().map(|entry| entry.version));
                Ok(())
            },
        )
        .await?;
        let mut hidden = 0;
        for versions in invisible.chunks(VERSIONS_AT_ONCE) {
            let filter = Filter::must([of_kinds(&[KIND_PASSAGE]), of_versions(versions)]);
            hidden += self.count(name, filter).await?;
        }
        Ok(CollectionInfo {
            name: name.to_owned(),
            documents,
            passages: passages.saturating_sub(hidden),
            embedder,
        })
    }

    pub(super) async fn count(&self, name: &str, filter: Filter) -> Result<u64, StoreError> {
        let request = CountPoints {
            collection_name: self.full(name),
            filter: Some(filter),
            exact: Some(true),
            ..CountPoints::default()
        };
        let count = |request| {
            let mut client = self.client.points();
            async move { client.count(request).await }
        };
        let counted = self.client.call("count points", name, request, count).await?;
        Ok(counted.result.unwrap_or_default().count)
    }

    /// Removes a collection with all copies of it, and returns how many documents it had. What readers see goes last, and
    /// with it its alias, so that nothing is left that could not be asked to be removed again.
    pub(super) async fn drop_collection(&self, name: &str) -> Result<u64, StoreError> {
        let real = self.real(name).await?;
        // Nothing of somebody else's.
        self.described(&real).await?;
        let documents = self.count(&real, Filter::must([of_kinds(&[KIND_DOCUMENT])])).await?;
        for copy in self.copies(name).await? {
            if copy != real {
                self.remove_collection(&copy).await?;
            }
        }
        self.remove_collection(&real).await?;
        Ok(documents)
    }

    /// At most `limit` documents with ids greater than `after`, in the order of their ids.
    ///
    /// The server cannot sort by a text: every record is read, and the first ones are kept. That is some tenths of a second
    /// for a hundred thousand documents, whatever the limit.
    pub(super) async fn documents(
        &self,
        name: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<ListedDocument>, StoreError> {
        let mut first: BTreeMap<String, ListedDocument> = BTreeMap::new();
        let filter = Filter::must([of_kinds(&[KIND_DOCUMENT])]);
        self.scroll(name, filter, all_payload(), false, |point| {
            let record = kept(&point.payload)?.record;
            let wanted = record.id.as_str() > after
                && (first.len() < limit || first.last_key_value().is_some_and(|(last, _)| record.id < *last));
            if wanted && let Some(current) = record.current {
                first.insert(record.id.clone(), current.listed(&record.id));
                if first.len() > limit {
                    first.pop_last();
                }
            }
            Ok(())
        })
        .await?;
        Ok(first.into_values().collect())
    }

    /// Calls `each` for every point that a filter lets through.
    pub(super) async fn scroll(
        &self,
        name: &str,
        filter: Filter,
        payload: Option<WithPayloadSelector>,
        with_vectors: bool,
        mut each: impl FnMut(&RetrievedPoint) -> Result<(), Unreadable>,
    ) -> Result<(), StoreError> {
        const OPERATION: &str = "read points";
        let mut offset = None;
        loop {
            let request = ScrollPoints {
                collection_name: self.full(name),
                filter: Some(filter.clone()),
                offset: offset.take(),
                limit: Some(PAGE),
                with_payload: payload.clone(),
                with_vectors: vectors(with_vectors),
                ..ScrollPoints::default()
            };
            let scroll = |request| {
                let mut client = self.client.points();
                async move { client.scroll(request).await }
            };
            let page = self.client.call(OPERATION, name, request, scroll).await?;
            for point in &page.result {
                each(point).map_err(|error| self.unreadable(OPERATION, &error))?;
            }
            match page.next_page_offset {
                Some(next) => offset = Some(next),
                None => return Ok(()),
            }
        }
    }
}
