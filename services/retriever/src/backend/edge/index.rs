//! The vector index of a collection: one shard of Qdrant's engine.
//!
//! The shard's write-ahead log is never replayed, and some of its failures are panics. Both are acceptable because the
//! index is a copy: lost points are restored from the catalog, and a shard that cannot be repaired is rebuilt.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use qdrant_edge::external::serde_json::{self, Value, json};
use qdrant_edge::{
    CreateIndex, DEFAULT_VECTOR_NAME, Distance, EdgeConfig, EdgeOptimizersConfig, EdgeShard, EdgeSparseVectorParams,
    EdgeVectorParams, FieldIndexOperations, Filter, JsonPath, Modifier, NamedQuery, PayloadFieldSchema,
    PayloadSchemaType, PointId, PointInsertOperations, PointOperations, PointStruct, QueryEnum, ScrollRequest,
    SearchParams, SearchRequest, UpdateOperation, Vector, VectorInternal, Vectors, WalOptions, WithPayloadInterface,
};

use super::writer::VACUUM_AT;
use crate::backend::filter::{
    METADATA, NUMBERS, NUMBERS_FIELD, NUMBERS_VALUE, bound, field_keyword, keywords, numbers, value_keyword,
};
use crate::backend::{Condition, Search, Test};
use crate::terms::Terms;

/// Bits of a point id for the chunk index; the others hold the version.
const CHUNK_BITS: u32 = 24;
/// Size of the candidate list of a search that does not say one. Of 100,000 passages it finds 998 of 1000 nearest, where the
/// engine's own 100 find 982, in less than half of the time of a scan (`benches/search.rs`).
const EF: usize = 192;
/// Maximum chunks of a document, as many as a point id can distinguish.
pub(super) const MAX_CHUNKS: u32 = 1 << CHUNK_BITS;

/// The sparse vector of a point.
const TERMS: &str = "terms";

/// Size of a segment of the write-ahead log: large enough for an operation, with little preallocated for a small
/// collection.
const LOG_SEGMENT_BYTES: usize = 8 << 20;

/// The folder of the write-ahead log within the index folder.
const LOG: &str = "wal";

/// Points per upsert.
const UPSERT_BATCH: usize = 256;

/// Points per page when the index is compared with the catalog.
const SCROLL_PAGE: usize = 100_000;

/// Errors of the vector index.
#[derive(Debug, thiserror::Error)]
pub(super) enum IndexError {
    #[error("the vector index failed: {0}")]
    Failed(String),
    #[error("the vector index panicked: {0}")]
    Panicked(String),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The point of a chunk in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Point {
    pub(super) version: u64,
    pub(super) chunk: u32,
}

impl Point {
    fn id(self) -> PointId {
        PointId::NumId(self.version << CHUNK_BITS | u64::from(self.chunk))
    }

    fn of(id: &PointId) -> Option<Self> {
        match id {
            PointId::NumId(number) => {
                let chunk = u32::try_from(number & u64::from(MAX_CHUNKS - 1)).ok()?;
                Some(Self {
                    version: number >> CHUNK_BITS,
                    chunk,
                })
            }
            PointId::Uuid(_) => None,
        }
    }
}

pub(super) struct Index {
    /// `None` only while it is being closed.
    shard: Option<EdgeShard>,
}

impl Index {
    /// Opens the index in `folder`, or creates an empty one.
    pub(super) fn open(folder: &Path, dimensions: usize) -> Result<Self, IndexError> {
        guarded(|| {
            let vectors = EdgeVectorParams::builder(dimensions, Distance::Cosine).build();
            let log = WalOptions {
                segment_capacity: LOG_SEGMENT_BYTES,
                ..WalOptions::default()
            };
            let terms = EdgeSparseVectorParams::builder().modifier(Modifier::Idf).build();
            let config = EdgeConfig::builder()
                .vector(DEFAULT_VECTOR_NAME, vectors)
                .sparse_vector(TERMS, terms)
                .optimizers(EdgeOptimizersConfig {
                    vacuum_min_vector_number: Some(VACUUM_AT),
                    ..EdgeOptimizersConfig::default()
                })
                .wal_options(log)
                .build();
            if folder.join("segments").exists() {
                trim_log(&folder.join(LOG))?;
                let shard = EdgeShard::load(folder, Some(config)).map_err(failed)?;
                let indexed = shard.info().payload_schema;
                for (field, _) in fields()? {
                    if !indexed.contains_key(&field) {
                        return Err(IndexError::Failed(format!(
                            "an earlier version made it, without {field}"
                        )));
                    }
                }
                return Ok(shard);
            }
            fs::create_dir_all(folder)?;
            let shard = EdgeShard::new(folder, config).map_err(failed)?;
            for (field_name, kind) in fields()? {
                let field_schema = Some(PayloadFieldSchema::FieldType(kind));
                let create = FieldIndexOperations::CreateIndex(CreateIndex {
                    field_name,
                    field_schema,
                });
                shard
                    .update(UpdateOperation::FieldIndexOperation(create))
                    .map_err(failed)?;
            }
            Ok(shard)
        })
        .map(|shard| Self { shard: Some(shard) })
    }

    fn shard<T>(&self, work: impl FnOnce(&EdgeShard) -> Result<T, IndexError>) -> Result<T, IndexError> {
        match &self.shard {
            Some(shard) => guarded(|| work(shard)),
            None => Err(IndexError::Failed("the index is closed".to_owned())),
        }
    }

    /// Upserts the chunks of a document version.
    pub(super) fn insert<'a>(
        &self,
        version: u64,
        metadata: &BTreeMap<String, String>,
        chunks: impl Iterator<Item = (u32, Option<&'a [f32]>, &'a Terms)>,
    ) -> Result<(), IndexError> {
        let numbers = numbers(metadata).map(|(field, value)| json!({ NUMBERS_FIELD: field, NUMBERS_VALUE: value }));
        let payload = json!({
            METADATA: keywords(metadata).collect::<Vec<_>>(),
            NUMBERS: numbers.collect::<Vec<_>>(),
        });
        let mut batch = Vec::with_capacity(UPSERT_BATCH);
        let write = |batch: Vec<PointStruct>| {
            let points = batch.into_iter().map(Into::into).collect();
            let insert = PointOperations::UpsertPoints(PointInsertOperations::PointsList(points));
            self.shard(|shard| shard.update(UpdateOperation::PointOperation(insert)).map_err(failed))
        };
        for (chunk, embedding, terms) in chunks {
            let id = Point { version, chunk }.id();
            let mut vectors = Vec::with_capacity(2);
            if let Some(embedding) = embedding {
                vectors.push((DEFAULT_VECTOR_NAME, Vector::new_dense(embedding)));
            }
            if !terms.is_empty() {
                vectors.push((TERMS, sparse(terms)?));
            }
            batch.push(PointStruct::new(id, Vectors::new_named(vectors), payload.clone()));
            if batch.len() == UPSERT_BATCH {
                write(std::mem::take(&mut batch))?;
            }
        }
        if batch.is_empty() { Ok(()) } else { write(batch) }
    }

    /// Removes points.
    pub(super) fn remove(&self, points: impl Iterator<Item = Point>) -> Result<(), IndexError> {
        let ids: Vec<PointId> = points.map(Point::id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        self.shard(|shard| {
            shard
                .update(UpdateOperation::PointOperation(PointOperations::DeletePoints { ids }))
                .map_err(failed)
        })
    }

    /// The nearest points by cosine similarity, best first.
    pub(super) fn nearest(
        &self,
        embedding: &[f32],
        search: &Search,
        limit: usize,
    ) -> Result<Vec<(Point, f64)>, IndexError> {
        let Search { filter, ef, exact, .. } = search;
        let params = SearchParams {
            hnsw_ef: ef.or(Some(EF)),
            exact: *exact,
            ..SearchParams::default()
        };
        self.search(
            NamedQuery::default_dense(embedding.to_vec()),
            filter,
            Some(params),
            limit,
        )
    }

    /// The points that have words of a query, best first by BM25.
    pub(super) fn matching(
        &self,
        terms: &Terms,
        filter: &[Condition],
        limit: usize,
    ) -> Result<Vec<(Point, f64)>, IndexError> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        self.search(NamedQuery::new(sparse(terms)?.into(), TERMS), filter, None, limit)
    }

    fn search(
        &self,
        query: NamedQuery<VectorInternal>,
        filter: &[Condition],
        params: Option<SearchParams>,
        limit: usize,
    ) -> Result<Vec<(Point, f64)>, IndexError> {
        let request = SearchRequest {
            query: QueryEnum::Nearest(query),
            filter: engine_filter(filter)?,
            params,
            limit,
            offset: 0,
            with_payload: None,
            with_vector: None,
            score_threshold: None,
        };
        let found = self.shard(|shard| shard.search(request).map_err(failed))?;
        Ok(found
            .iter()
            .filter_map(|hit| Some((Point::of(&hit.id)?, f64::from(hit.score))))
            .collect())
    }

    /// All points.
    pub(super) fn points(&self) -> Result<Vec<Point>, IndexError> {
        self.shard(|shard| {
            let mut points = Vec::new();
            let mut offset = None;
            loop {
                let request = ScrollRequest {
                    offset,
                    limit: Some(SCROLL_PAGE),
                    with_payload: Some(WithPayloadInterface::Bool(false)),
                    ..ScrollRequest::default()
                };
                let (records, next) = shard.scroll(request).map_err(failed)?;
                points.extend(records.iter().filter_map(|record| Point::of(&record.id)));
                match next {
                    Some(next) => offset = Some(next),
                    None => return Ok(points),
                }
            }
        })
    }

    /// The number of points that are not in an HNSW graph yet and are compared exhaustively.
    pub(super) fn unindexed(&self) -> Result<usize, IndexError> {
        self.shard(|shard| {
            let info = shard.info();
            Ok(info.points_count.saturating_sub(info.indexed_vectors_count))
        })
    }

    /// Builds HNSW graphs for large segments, merges small segments, vacuums deleted points and flushes.
    pub(super) fn optimize(&self) -> Result<(), IndexError> {
        self.shard(|shard| {
            shard.optimize().map_err(failed)?;
            shard.flush();
            Ok(())
        })
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        // Dropping a shard flushes it, and a failed flush panics. On a full disk that must not abort the process.
        let shard = self.shard.take();
        if let Err(error) = guarded(|| {
            drop(shard);
            Ok(())
        }) {
            tracing::warn!(%error, "cannot flush the vector index, it will be repaired when it is opened again");
        }
    }
}

/// Runs work on the engine and converts panics to errors. They cannot leave our own state inconsistent: the engine's
/// state is its own, and it is reopened after an error.
fn guarded<T>(work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|message| (*message).to_owned()));
        Err(IndexError::Panicked(
            message.unwrap_or_else(|| "for an unknown reason".to_owned()),
        ))
    })
}

/// Converts an engine error, without its backtrace.
fn failed(error: qdrant_edge::OperationError) -> IndexError {
    IndexError::Failed(error.to_string())
}

fn sparse(terms: &Terms) -> Result<Vector, IndexError> {
    Vector::new_sparse(terms.indices.as_slice(), terms.weights.as_slice()).map_err(failed)
}

/// The payload fields that are indexed.
fn fields() -> Result<[(JsonPath, PayloadSchemaType); 3], IndexError> {
    let path = |name: &str| {
        name.parse()
            .map_err(|()| IndexError::Failed(format!("{name:?} is not a path")))
    };
    Ok([
        (path(METADATA)?, PayloadSchemaType::Keyword),
        (
            path(&format!("{NUMBERS}[].{NUMBERS_FIELD}"))?,
            PayloadSchemaType::Keyword,
        ),
        (path(&format!("{NUMBERS}[].{NUMBERS_VALUE}"))?, PayloadSchemaType::Float),
    ])
}

/// A filter as the engine reads it.
fn engine_filter(filter: &[Condition]) -> Result<Option<Filter>, IndexError> {
    if filter.is_empty() {
        return Ok(None);
    }
    let matching = |field: &str, with: Value| json!({ "key": field, "match": with });
    let (mut must, mut must_not) = (Vec::new(), Vec::new());
    for Condition { field, test } in filter {
        match test {
            Test::OneOf(values) => {
                let keywords: Vec<_> = values.iter().map(|value| value_keyword(field, value)).collect();
                must.push(matching(METADATA, json!({ "any": keywords })));
            }
            // The engine takes one condition that must and must not hold for one that must: these differ.
            Test::Exists(true) => must.push(matching(METADATA, json!({ "any": [field_keyword(field)] }))),
            Test::Exists(false) => must_not.push(matching(METADATA, json!({ "value": field_keyword(field) }))),
            Test::Range(range) => {
                let within = json!({
                    "gt": bound(range.gt), "gte": bound(range.gte), "lt": bound(range.lt), "lte": bound(range.lte),
                });
                let both = [
                    matching(NUMBERS_FIELD, json!({ "value": range.key(field) })),
                    json!({ "key": NUMBERS_VALUE, "range": within }),
                ];
                must.push(json!({ "nested": { "key": NUMBERS, "filter": { "must": both } } }));
            }
        }
    }
    let filter = serde_json::from_value(json!({ "must": must, "must_not": must_not }));
    filter.map(Some).map_err(|error| IndexError::Failed(error.to_string()))
}

/// Size in bytes of the write-ahead log in an index folder.
pub(super) fn log_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder.join(LOG)) else {
        return 0;
    };
    entries
        .filter_map(|entry| entry.ok()?.metadata().ok())
        .map(|metadata| metadata.len())
        .sum()
}

/// Removes the closed segments of the write-ahead log. The engine never removes or reads them. The last one must stay,
/// since operation numbers continue from it.
fn trim_log(folder: &Path) -> Result<(), IndexError> {
    let mut closed: Vec<(u64, std::path::PathBuf)> = Vec::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for entry in entries {
        let path = entry?.path();
        let start = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_prefix("closed-"))
            .and_then(|start| start.parse().ok());
        if let Some(start) = start {
            closed.push((start, path));
        }
    }
    closed.sort();
    closed.pop();
    for (_, path) in closed {
        fs::remove_file(path)?;
    }
    Ok(())
}
