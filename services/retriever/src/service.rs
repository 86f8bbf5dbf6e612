//! The gRPC adapter: validate, hand to an actor, map the error.

use std::time::Duration;

use emend_chassis::{ActorHandle, Caller};
use emend_proto::v1::retriever_service_server::RetrieverService;
use emend_proto::v1::{
    DeleteDocumentsRequest, DeleteDocumentsResponse, GetCollectionRequest, GetCollectionResponse, GetDocumentRequest,
    GetDocumentResponse, IngestRequest, IngestResponse, ListCollectionsRequest, ListCollectionsResponse,
    ListDocumentsRequest, ListDocumentsResponse, RetrieveRequest, RetrieveResponse,
};
use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use crate::acknowledge::{Limits, acknowledge};
use crate::library::Library;
use crate::validate;
use crate::work::ListCollections;

/// `emend.v1.RetrieverService` in front of the actors.
pub(crate) struct Service {
    /// Admits everything but documents.
    pub(crate) reader: ActorHandle<Library>,
    /// Admits documents: a large ingest must not take the places of queries.
    pub(crate) writer: ActorHandle<Library>,
    pub(crate) limits: Limits,
    /// Ends ingests, which may go on for hours.
    pub(crate) shutdown: CancellationToken,
}

#[tonic::async_trait]
impl RetrieverService for Service {
    async fn retrieve(&self, request: Request<RetrieveRequest>) -> Result<Response<RetrieveResponse>, Status> {
        self.reader.unary(request, validate::retrieve).await
    }

    type IngestStream = BoxStream<'static, Result<IngestResponse, Status>>;

    async fn ingest(&self, request: Request<Streaming<IngestRequest>>) -> Result<Response<Self::IngestStream>, Status> {
        // A folder of documents takes as long as it takes: only the caller's own deadline bounds it.
        let caller = Caller::of(&request, Duration::MAX);
        Ok(Response::new(acknowledge(
            request.into_inner(),
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
        self.reader.unary(request, validate::delete).await
    }

    async fn list_documents(
        &self,
        request: Request<ListDocumentsRequest>,
    ) -> Result<Response<ListDocumentsResponse>, Status> {
        self.reader.unary(request, validate::list).await
    }

    async fn get_document(
        &self,
        request: Request<GetDocumentRequest>,
    ) -> Result<Response<GetDocumentResponse>, Status> {
        self.reader.unary(request, validate::get_document).await
    }

    async fn list_collections(
        &self,
        request: Request<ListCollectionsRequest>,
    ) -> Result<Response<ListCollectionsResponse>, Status> {
        self.reader.unary(request, |_| Ok(ListCollections)).await
    }

    async fn get_collection(
        &self,
        request: Request<GetCollectionRequest>,
    ) -> Result<Response<GetCollectionResponse>, Status> {
        self.reader.unary(request, validate::get).await
    }
}
