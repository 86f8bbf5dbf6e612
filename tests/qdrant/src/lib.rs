//! A stand-in for a Qdrant server: the traits of its own protocol over its own engine, one shard, no replicas.
//!
//! It takes what the retriever sends and refuses what it does not know, so that nothing is taken silently. Who may call it
//! is in [`Access`], what it was asked in [`Requests`]. No code that is served depends on it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a double that fails, fails its test")]

mod access;
mod convert;
mod refuse;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use qdrant_client::qdrant::alias_operations::Action;
use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::{Qdrant, QdrantServer};
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{self as q, points_selector::PointsSelectorOneOf};
use qdrant_edge::{
    ConditionalInsertOperation, CountRequest, CreateIndex, Distance, EdgeConfig, EdgeOptimizersConfig, EdgeShard,
    EdgeSparseVectorParams, EdgeVectorParams, FieldIndexOperations, Filter, Modifier, NamedQuery, PayloadFieldSchema,
    PayloadSchemaType, PointInsertOperations, PointOperations, QueryEnum, ScrollRequest, SearchRequest, UpdateMode,
    UpdateOperation, WalOptions, WithPayloadInterface, WithVector,
};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::ServerTlsConfig;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

pub use access::{Access, Authority};

/// The version that it says it is unless told otherwise.
const VERSION: &str = "1.17.0";

type Answer<T> = Result<Response<T>, Status>;
type Answering<'a, T> = Pin<Box<dyn Future<Output = Answer<T>> + Send + 'a>>;

/// A stand-in. Cheap to clone.
#[derive(Clone)]
pub struct Server(Arc<State>);

/// What a stand-in was asked.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// The last collection that was to be made.
    pub created: Option<q::CreateCollection>,
    /// The last query.
    pub queried: Option<q::QueryPoints>,
    /// All upserts in order, without their points.
    pub upserted: Vec<q::UpsertPoints>,
    /// The last points that were to be removed.
    pub deleted: Option<q::DeletePoints>,
}

struct State {
    // Dropped before the folder that they write to.
    collections: RwLock<BTreeMap<String, Arc<Collection>>>,
    aliases: RwLock<BTreeMap<String, String>>,
    folder: tempfile::TempDir,
    version: RwLock<String>,
    /// The answer to every call but the one for the version.
    failure: RwLock<Option<Status>>,
    requests: Mutex<Requests>,
}

struct Collection {
    shard: EdgeShard,
    config: q::CollectionConfig,
}

impl Server {
    /// Serves everybody on a port of its own until the runtime ends, and returns the address.
    pub async fn start() -> (Self, String) {
        Self::start_for(Access::default()).await
    }

    /// As [`start`](Self::start), for those who may call it.
    pub async fn start_for(access: Access) -> (Self, String) {
        let Access { key, identity } = access;
        let server = Self(Arc::new(State {
            folder: tempfile::tempdir().unwrap(),
            collections: RwLock::default(),
            aliases: RwLock::default(),
            version: RwLock::new(VERSION.to_owned()),
            failure: RwLock::default(),
            requests: Mutex::default(),
        }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if identity.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let guard = access::Guard::new(server.clone(), key);
        let collections = CollectionsServer::new(server.clone()).max_decoding_message_size(64 << 20);
        let points = PointsServer::new(server.clone()).max_decoding_message_size(64 << 20);
        let mut serving = tonic::transport::Server::builder();
        if let Some(identity) = identity {
            serving = serving.tls_config(ServerTlsConfig::new().identity(identity)).unwrap();
        }
        let router = serving
            // Everybody is told the version, as by the real one.
            .add_service(QdrantServer::new(server.clone()))
            .add_service(InterceptedService::new(collections, guard.clone()))
            .add_service(InterceptedService::new(points, guard));
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        tokio::spawn(router.serve_with_incoming(incoming));
        (server, url)
    }

    /// Says from now on that it is this version.
    pub fn set_version(&self, version: &str) {
        let mut said = self.0.version.write().unwrap_or_else(PoisonError::into_inner);
        version.clone_into(&mut said);
    }

    /// Answers with this status from now on, or works again; it always tells its version.
    pub fn set_failure(&self, status: Option<Status>) {
        *self.0.failure.write().unwrap_or_else(PoisonError::into_inner) = status;
    }

    fn failure(&self) -> Option<Status> {
        self.0.failure.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it was asked since the last call of this.
    pub fn take_requests(&self) -> Requests {
        std::mem::take(&mut *self.requests())
    }

    fn requests(&self) -> std::sync::MutexGuard<'_, Requests> {
        self.0.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of its collections and aliases, sorted.
    pub fn names(&self) -> Vec<String> {
        let collections = self.0.collections.read().unwrap_or_else(PoisonError::into_inner);
        let aliases = self.0.aliases.read().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<String> = collections.keys().chain(aliases.keys()).cloned().collect();
        names.sort();
        names
    }

    /// How many points a collection has, of any kind.
    pub fn points(&self, name: &str) -> usize {
        self.count_of(name, None).unwrap()
    }

    /// Removes the points that have these values in these fields, behind the back of who stored them, and returns how many
    /// there were.
    pub fn lose(&self, name: &str, values: &[(&str, &str)]) -> usize {
        let before = self.points(name);
        let conditions = values
            .iter()
            .map(|(field, value)| q::Condition::matches(*field, (*value).to_owned()));
        let filter = q::Filter::must(conditions);
        let request = q::DeletePoints {
            collection_name: name.to_owned(),
            wait: Some(true),
            points: Some(filter.into()),
            ..q::DeletePoints::default()
        };
        self.delete_points(request).unwrap();
        before - self.points(name)
    }

    /// Removes a collection and its aliases. Says whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let mut collections = self.0.collections.write().unwrap_or_else(PoisonError::into_inner);
        let mut aliases = self.0.aliases.write().unwrap_or_else(PoisonError::into_inner);
        aliases.retain(|_, real| real != name);
        collections.remove(name).is_some()
    }

    /// Builds the graphs and the bytes of a collection, which the real one does by itself as a collection grows.
    pub fn optimize(&self, name: &str) {
        self.collection(name).unwrap().shard.optimize().unwrap();
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
        self.requests().created = Some(request.clone());
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
        // So that few vectors are as many as a real one has when it optimizes.
        config = config.optimizers(EdgeOptimizersConfig {
            indexing_threshold: Some(1),
            ..EdgeOptimizersConfig::default()
        });
        if let Some(quantization) = request.quantization_config {
            config = config.quantization_config(convert::quantization(quantization)?);
        }
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
        self.requests().upserted.push(q::UpsertPoints {
            points: Vec::new(),
            ..request.clone()
        });
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
        self.requests().deleted = Some(request.clone());
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
        self.requests().queried = Some(request.clone());
        let collection = self.collection(&request.collection_name)?;
        let vector = convert::query(request.query)?;
        let using = request
            .using
            .ok_or_else(|| Status::invalid_argument("no vector is named"))?;
        let found = collection.shard.search(SearchRequest {
            query: QueryEnum::Nearest(NamedQuery::new(vector, using)),
            filter: request.filter.as_ref().map(convert::filter).transpose()?,
            params: request.params.map(convert::params),
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
            version: self.0.version.read().unwrap_or_else(PoisonError::into_inner).clone(),
            commit: None,
        }))
    }
}
