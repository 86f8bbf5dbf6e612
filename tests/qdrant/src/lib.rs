//! A stand-in for a Qdrant server: the traits of its own protocol over its own engine, one shard, no replicas.
//!
//! It takes what the retriever sends and refuses what it does not know, so that nothing is taken silently.

mod convert;
mod refuse;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use qdrant_client::qdrant::alias_operations::Action;
use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::{Qdrant, QdrantServer};
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{self as q, points_selector::PointsSelectorOneOf};
use qdrant_edge::{
    ConditionalInsertOperation, CountRequest, CreateIndex, Distance, EdgeConfig, EdgeShard, EdgeSparseVectorParams,
    EdgeVectorParams, FieldIndexOperations, Filter, Modifier, NamedQuery, PayloadFieldSchema, PayloadSchemaType,
    PointInsertOperations, PointOperations, QueryEnum, ScrollRequest, SearchParams, SearchRequest, UpdateMode,
    UpdateOperation, WalOptions, WithPayloadInterface, WithVector,
};
use tonic::{Request, Response, Status};

/// The version that it says it is.
const VERSION: &str = "1.17.0";

type Answer<T> = Result<Response<T>, Status>;
type Answering<'a, T> = Pin<Box<dyn Future<Output = Answer<T>> + Send + 'a>>;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Server(Arc<State>);

struct State {
    // Dropped before the folder that they write to.
    collections: RwLock<BTreeMap<String, Arc<Collection>>>,
    aliases: RwLock<BTreeMap<String, String>>,
    folder: tempfile::TempDir,
}

struct Collection {
    shard: EdgeShard,
    config: q::CollectionConfig,
}

impl Server {
    /// Serves on a port of its own until the process ends, and returns the address.
    pub(crate) async fn start() -> (Self, String) {
        let server = Self(Arc::new(State {
            folder: tempfile::tempdir().unwrap(),
            collections: RwLock::default(),
            aliases: RwLock::default(),
        }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = tonic::transport::Server::builder()
            .add_service(QdrantServer::new(server.clone()))
            .add_service(CollectionsServer::new(server.clone()).max_decoding_message_size(64 << 20))
            .add_service(PointsServer::new(server.clone()).max_decoding_message_size(64 << 20));
        tokio::spawn(router.serve_with_incoming(tokio_stream::wrappers::TcpListenerStream::new(listener)));
        (server, url)
    }

    /// How many points a collection has, of any kind.
    pub(crate) fn points(&self, name: &str) -> usize {
        self.count_of(name, None).unwrap()
    }

    fn count_of(&self, name: &str, filter: Option<Filter>) -> Result<usize, Status> {
        let request = CountRequest { filter, exact: true };
        self.collection(name)?.shard.count(request).map_err(failed)
    }

    fn collection(&self, name: &str) -> Result<Arc<Collection>, Status> {
        let collections = self.0.collections.read().unwrap_or_else(PoisonError::into_inner);
        let aliases = self.0.aliases.read().unwrap_or_else(PoisonError::into_inner);
        let found = collections.get(aliases.get(name).map_or(name, String::as_str)).cloned();
        found.ok_or_else(|| Status::not_found(format!("Not found: Collection `{name}` doesn't exist!")))
    }

    /// All changes of aliases, in one step.
    fn change_aliases(&self, request: q::ChangeAliases) -> Result<(), Status> {
        let collections = self.0.collections.read().unwrap_or_else(PoisonError::into_inner);
        let mut aliases = self.0.aliases.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = aliases.clone();
        for action in request.actions.into_iter().filter_map(|action| action.action) {
            match action {
                Action::CreateAlias(create) => {
                    if collections.contains_key(&create.alias_name)
                        || !collections.contains_key(&create.collection_name)
                    {
                        return Err(Status::invalid_argument(format!("alias {create:?}")));
                    }
                    changed.insert(create.alias_name, create.collection_name);
                }
                Action::DeleteAlias(delete) => {
                    let known = changed.remove(&delete.alias_name);
                    known.ok_or_else(|| Status::not_found(delete.alias_name))?;
                }
                Action::RenameAlias(_) => return Err(Status::unimplemented("renaming an alias")),
            }
        }
        *aliases = changed;
        Ok(())
    }

    fn make(&self, request: q::CreateCollection) -> Result<(), Status> {
        let name = request.collection_name;
        let mut collections = self.0.collections.write().unwrap_or_else(PoisonError::into_inner);
        if collections.contains_key(&name) {
            let message = format!("Wrong input: Collection `{name}` already exists!");
            return Err(Status::already_exists(message));
        }
        let mut config = EdgeConfig::builder().wal_options(WalOptions {
            segment_capacity: 8 << 20,
            ..WalOptions::default()
        });
        let Some(Config::ParamsMap(dense)) = request
            .vectors_config
            .as_ref()
            .and_then(|config| config.config.as_ref())
        else {
            return Err(Status::invalid_argument("vectors are named here"));
        };
        for (name, params) in &dense.map {
            assert_eq!(params.distance, i32::from(q::Distance::Cosine));
            config = config.vector(
                name,
                EdgeVectorParams::builder(params.size as usize, Distance::Cosine).build(),
            );
        }
        for (name, params) in request.sparse_vectors_config.unwrap_or_default().map {
            assert_eq!(params.modifier, Some(q::Modifier::Idf.into()));
            config = config.sparse_vector(name, EdgeSparseVectorParams::builder().modifier(Modifier::Idf).build());
        }
        let folder: PathBuf = self.0.folder.path().join(uuid::Uuid::new_v4().to_string());
        std::fs::create_dir_all(&folder)?;
        let shard = EdgeShard::new(&folder, config.build()).map_err(failed)?;
        let config = q::CollectionConfig {
            metadata: request.metadata,
            ..q::CollectionConfig::default()
        };
        collections.insert(name, Arc::new(Collection { shard, config }));
        Ok(())
    }

    fn upsert_points(&self, request: q::UpsertPoints) -> Result<(), Status> {
        assert_eq!(request.wait, Some(true), "a write that nobody waits for");
        let mode = request.update_mode();
        let collection = self.collection(&request.collection_name)?;
        let points = request.points.into_iter().map(convert::point);
        let points = points.collect::<Result<Vec<_>, _>>()?;
        let points_op = PointInsertOperations::PointsList(points.into_iter().map(Into::into).collect());
        let operation = match (request.update_filter, mode) {
            (None, q::UpdateMode::Upsert) => PointOperations::UpsertPoints(points_op),
            (filter, mode) => PointOperations::UpsertPointsConditional(ConditionalInsertOperation {
                points_op,
                condition: convert::filter(&filter.unwrap_or_default())?,
                update_mode: Some(match mode {
                    q::UpdateMode::Upsert => UpdateMode::Upsert,
                    q::UpdateMode::InsertOnly => UpdateMode::InsertOnly,
                    q::UpdateMode::UpdateOnly => UpdateMode::UpdateOnly,
                }),
            }),
        };
        collection
            .shard
            .update(UpdateOperation::PointOperation(operation))
            .map_err(failed)
    }

    fn delete_points(&self, request: q::DeletePoints) -> Result<(), Status> {
        assert_eq!(request.wait, Some(true), "a write that nobody waits for");
        let collection = self.collection(&request.collection_name)?;
        let selected = request.points.and_then(|points| points.points_selector_one_of);
        let Some(PointsSelectorOneOf::Filter(filter)) = selected else {
            return Err(Status::unimplemented("points are removed by a filter here"));
        };
        let operation = PointOperations::DeletePointsByFilter(convert::filter(&filter)?);
        collection
            .shard
            .update(UpdateOperation::PointOperation(operation))
            .map_err(failed)
    }

    fn query_points(&self, request: q::QueryPoints) -> Result<Vec<q::ScoredPoint>, Status> {
        let collection = self.collection(&request.collection_name)?;
        let vector = convert::query(request.query)?;
        let using = request
            .using
            .ok_or_else(|| Status::invalid_argument("no vector is named"))?;
        let params = request.params.map(|params| SearchParams {
            hnsw_ef: params.hnsw_ef.map(|ef| ef as usize),
            exact: params.exact.unwrap_or_default(),
            ..SearchParams::default()
        });
        let found = collection.shard.search(SearchRequest {
            query: QueryEnum::Nearest(NamedQuery::new(vector, using)),
            filter: request.filter.as_ref().map(convert::filter).transpose()?,
            params,
            limit: request.limit.unwrap_or(10) as usize,
            offset: 0,
            with_payload: Some(WithPayloadInterface::Bool(true)),
            with_vector: None,
            score_threshold: None,
        });
        let found = found.map_err(failed)?.into_iter().map(convert::scored);
        Ok(found.collect())
    }

    fn scroll_points(&self, request: q::ScrollPoints) -> Result<q::ScrollResponse, Status> {
        let collection = self.collection(&request.collection_name)?;
        let found = collection.shard.scroll(ScrollRequest {
            offset: request.offset.map(convert::id).transpose()?,
            limit: request.limit.map(|limit| limit as usize),
            filter: request.filter.as_ref().map(convert::filter).transpose()?,
            with_payload: Some(WithPayloadInterface::Bool(true)),
            with_vector: WithVector::Bool(convert::wanted(request.with_vectors)),
            order_by: None,
        });
        let (records, next) = found.map_err(failed)?;
        Ok(q::ScrollResponse {
            next_page_offset: next.map(convert::id_back),
            result: records.into_iter().map(convert::retrieved).collect(),
            ..q::ScrollResponse::default()
        })
    }

    fn get_points(&self, request: q::GetPoints) -> Result<q::GetResponse, Status> {
        let collection = self.collection(&request.collection_name)?;
        let ids = request
            .ids
            .into_iter()
            .map(convert::id)
            .collect::<Result<Vec<_>, _>>()?;
        let found = collection.shard.retrieve(
            &ids,
            Some(WithPayloadInterface::Bool(true)),
            Some(WithVector::Bool(convert::wanted(request.with_vectors))),
        );
        Ok(q::GetResponse {
            result: found.map_err(failed)?.into_iter().map(convert::retrieved).collect(),
            ..q::GetResponse::default()
        })
    }

    fn index_field(&self, request: q::CreateFieldIndexCollection) -> Result<(), Status> {
        let kind = match request.field_type() {
            q::FieldType::Keyword => PayloadSchemaType::Keyword,
            q::FieldType::Float => PayloadSchemaType::Float,
            other => return Err(Status::unimplemented(format!("an index of {other:?}"))),
        };
        let operation = FieldIndexOperations::CreateIndex(CreateIndex {
            field_name: convert::path(&request.field_name)?,
            field_schema: Some(PayloadFieldSchema::FieldType(kind)),
        });
        let collection = self.collection(&request.collection_name)?;
        collection
            .shard
            .update(UpdateOperation::FieldIndexOperation(operation))
            .map_err(failed)
    }
}

fn failed(error: qdrant_edge::OperationError) -> Status {
    Status::internal(error.to_string())
}

#[tonic::async_trait]
impl Qdrant for Server {
    async fn health_check(&self, _: Request<q::HealthCheckRequest>) -> Answer<q::HealthCheckReply> {
        Ok(Response::new(q::HealthCheckReply {
            title: "stand-in".to_owned(),
            version: VERSION.to_owned(),
            commit: None,
        }))
    }
}
