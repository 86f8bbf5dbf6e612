//! The gRPC adapter: validate, hand to an actor, map the error.

use std::sync::Arc;
use std::time::Duration;

use emend_chassis::{ActorHandle, CallError, Caller, Identity, Permission};
use emend_proto::v1::retriever_service_server::RetrieverService;
use emend_proto::v1::{
    CopyCollectionRequest, CopyCollectionResponse, DeleteCollectionRequest, DeleteCollectionResponse,
    DeleteDocumentsRequest, DeleteDocumentsResponse, ExportCollectionRequest, ExportCollectionResponse,
    GetCollectionRequest, GetCollectionResponse, GetDocumentRequest, GetDocumentResponse, ImportCollectionRequest,
    ImportCollectionResponse, IngestRequest, IngestResponse, ListCollectionsRequest, ListCollectionsResponse,
    ListDocumentsRequest, ListDocumentsResponse, RepairCollectionRequest, RepairCollectionResponse, RetrieveRequest,
    RetrieveResponse,
};
use futures::stream::BoxStream;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use crate::acknowledge::{Limits, acknowledge};
use crate::error::RetrieverError;
use crate::library::Library;
use crate::transfer::{copy, export, import};
use crate::validate;
use crate::work::ListCollections;

/// When an import or a copy that finds no room may come back.
const TRANSFER_RETRY: Duration = Duration::from_secs(5);

/// `emend.v1.RetrieverService` in front of the actors.
pub(crate) struct Service {
    /// Admits everything but documents.
    pub(crate) reader: ActorHandle<Library>,
    /// Admits documents: a large ingest must not take the places of queries.
    pub(crate) writer: ActorHandle<Library>,
    pub(crate) limits: Limits,
    /// Room for imports.
    pub(crate) imports: Arc<Semaphore>,
    /// Room for copies.
    pub(crate) copies: Arc<Semaphore>,
    /// Ends ingests, which may go on for hours.
    pub(crate) shutdown: CancellationToken,
}

/// What a method takes of a caller's key. What is not listed here is an administrator's.
pub(crate) fn permission(method: &str) -> Permission {
    match method.rsplit_once('/').map_or(method, |(_, name)| name) {
        "Retrieve" | "GetDocument" | "ListCollections" | "GetCollection" => Permission::Ask,
        "Ingest" | "DeleteDocuments" | "ListDocuments" => Permission::Ingest,
        _ => Permission::Admin,
    }
}

/// Who makes a request, if its key may use the collection. Nothing is looked up for that: a collection that a key may not
/// use is refused in the same words whether it exists or not.
fn may_use<T>(request: &Request<T>, collection: &str) -> Result<Identity, Status> {
    let identity = Identity::of(request);
    identity.collection(&validate::collection_after("", collection.to_owned()))?;
    Ok(identity)
}

#[tonic::async_trait]
impl RetrieverService for Service {
    async fn retrieve(&self, request: Request<RetrieveRequest>) -> Result<Response<RetrieveResponse>, Status> {
        let identity = may_use(&request, &request.get_ref().collection)?;
        let answer = self.reader.unary(request, validate::retrieve).await;
        answer.map_err(|status| identity.conceal(status))
    }

    type IngestStream = BoxStream<'static, Result<IngestResponse, Status>>;

    async fn ingest(&self, request: Request<Streaming<IngestRequest>>) -> Result<Response<Self::IngestStream>, Status> {
        // A folder of documents takes as long as it takes: only the caller's own deadline bounds it.
        let caller = Caller::of(&request, Duration::MAX);
        let identity = Identity::of(&request);
        Ok(Response::new(acknowledge(
            request.into_inner(),
            identity,
            self.writer.clone(),
            caller,
            self.limits,
            self.shutdown.clone(),
        )))
    }

    async fn delete_documents(
        &self,
        request: Request<DeleteDocumentsRequest>,
    ) -> Result<Response<DeleteDocumentsResponse>, Status> {
        let identity = may_use(&request, &request.get_ref().collection)?;
        let answer = self.reader.unary(request, validate::delete).await;
        answer.map_err(|status| identity.conceal(status))
    }

    async fn list_documents(
        &self,
        request: Request<ListDocumentsRequest>,
    ) -> Result<Response<ListDocumentsResponse>, Status> {
        let identity = may_use(&request, &request.get_ref().collection)?;
        let answer = self.reader.unary(request, validate::list).await;
        answer.map_err(|status| identity.conceal(status))
    }

    async fn get_document(
        &self,
        request: Request<GetDocumentRequest>,
    ) -> Result<Response<GetDocumentResponse>, Status> {
        let identity = may_use(&request, &request.get_ref().collection)?;
        let answer = self.reader.unary(request, validate::get_document).await;
        answer.map_err(|status| identity.conceal(status))
    }

    async fn list_collections(
        &self,
        request: Request<ListCollectionsRequest>,
    ) -> Result<Response<ListCollectionsResponse>, Status> {
        let identity = Identity::of(&request);
        let mut answer = self.reader.unary(request, |_| Ok(ListCollections)).await?;
        let collections = &mut answer.get_mut().collections;
        collections.retain(|collection| identity.collection(&collection.name).is_ok());
        Ok(answer)
    }

    async fn get_collection(
        &self,
        request: Request<GetCollectionRequest>,
    ) -> Result<Response<GetCollectionResponse>, Status> {
        let identity = may_use(&request, &request.get_ref().collection)?;
        let answer = self.reader.unary(request, validate::get).await;
        answer.map_err(|status| identity.conceal(status))
    }

    async fn delete_collection(
        &self,
        request: Request<DeleteCollectionRequest>,
    ) -> Result<Response<DeleteCollectionResponse>, Status> {
        let identity = may_use(&request, &request.get_ref().collection)?;
        let answer = self.reader.unary(request, validate::delete_collection).await;
        answer.map_err(|status| identity.conceal(status))
    }

    async fn repair_collection(
        &self,
        request: Request<RepairCollectionRequest>,
    ) -> Result<Response<RepairCollectionResponse>, Status> {
        let identity = may_use(&request, &request.get_ref().collection)?;
        let answer = self.reader.unary(request, validate::repair_collection).await;
        answer.map_err(|status| identity.conceal(status))
    }

    type CopyCollectionStream = BoxStream<'static, Result<CopyCollectionResponse, Status>>;

    async fn copy_collection(
        &self,
        request: Request<CopyCollectionRequest>,
    ) -> Result<Response<Self::CopyCollectionStream>, Status> {
        let identity = may_use(&request, &request.get_ref().collection)?;
        identity.collection(&request.get_ref().to)?;
        let caller = Caller::of(&request, Duration::MAX);
        let what = validate::copy(request.into_inner())?;
        let permit = Arc::clone(&self.copies).try_acquire_owned();
        let permit = permit.map_err(|_| CallError::<RetrieverError>::Full {
            retry_after: TRANSFER_RETRY,
        })?;
        let (writer, shutdown) = (self.writer.clone(), self.shutdown.clone());
        Ok(Response::new(copy(what, writer, caller, shutdown, permit)))
    }

    type ExportCollectionStream = BoxStream<'static, Result<ExportCollectionResponse, Status>>;

    async fn export_collection(
        &self,
        request: Request<ExportCollectionRequest>,
    ) -> Result<Response<Self::ExportCollectionStream>, Status> {
        may_use(&request, &request.get_ref().collection)?;
        let caller = Caller::of(&request, Duration::MAX);
        let what = validate::export(request.into_inner())?;
        let (reader, shutdown) = (self.reader.clone(), self.shutdown.clone());
        Ok(Response::new(export(what, reader, caller, shutdown)))
    }

    type ImportCollectionStream = BoxStream<'static, Result<ImportCollectionResponse, Status>>;

    async fn import_collection(
        &self,
        request: Request<Streaming<ImportCollectionRequest>>,
    ) -> Result<Response<Self::ImportCollectionStream>, Status> {
        let caller = Caller::of(&request, Duration::MAX);
        let identity = Identity::of(&request);
        let permit = Arc::clone(&self.imports).try_acquire_owned();
        let permit = permit.map_err(|_| CallError::<RetrieverError>::Full {
            retry_after: TRANSFER_RETRY,
        })?;
        let (writer, shutdown) = (self.writer.clone(), self.shutdown.clone());
        let requests = request.into_inner();
        Ok(Response::new(import(
            requests, identity, writer, caller, shutdown, permit,
        )))
    }
}
