//! The gRPC adapter: validate, hand to the actor, map the error.

use std::time::Duration;

use emend_chassis::{ActorHandle, Caller};
use emend_proto::v1::retriever_service_server::RetrieverService;
use emend_proto::v1::{
    DeleteDocumentsRequest, DeleteDocumentsResponse, GetCollectionRequest, GetCollectionResponse, IngestRequest,
    IngestResponse, ListCollectionsRequest, ListCollectionsResponse, ListDocumentsRequest, ListDocumentsResponse,
    RetrieveRequest, RetrieveResponse,
};
use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use crate::acknowledge::{Limits, acknowledge};
use crate::actor::RetrieverActor;
use crate::messages::ListCollections;
use crate::validate;

/// `emend.v1.RetrieverService` in front of the actors.
pub(crate) struct Service {
    /// Admits everything but documents.
    pub(crate) reader: ActorHandle<RetrieverActor>,
    /// Admits documents: a large ingest must not take the places of queries.
    pub(crate) writer: ActorHandle<RetrieverActor>,
    pub(crate) default_timeout: Duration,
    pub(crate) limits: Limits,
    /// Ends ingests, which may go on for hours.
    pub(crate) shutdown: CancellationToken,
}

#[tonic::async_trait]
impl RetrieverService for Service {
    async fn retrieve(&self, request: Request<RetrieveRequest>) -> Result<Response<RetrieveResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let query = validate::retrieve(request.into_inner())?;
        let passages = self.reader.call(query, caller).await?;
        Ok(Response::new(RetrieveResponse { passages }))
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
        let caller = Caller::of(&request, self.default_timeout);
        let documents = validate::delete(request.into_inner())?;
        let deleted = self.reader.call(documents, caller).await?;
        Ok(Response::new(DeleteDocumentsResponse { deleted }))
    }

    async fn list_documents(
        &self,
        request: Request<ListDocumentsRequest>,
    ) -> Result<Response<ListDocumentsResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let page = validate::list(request.into_inner())?;
        Ok(Response::new(self.reader.call(page, caller).await?))
    }

    async fn list_collections(
        &self,
        request: Request<ListCollectionsRequest>,
    ) -> Result<Response<ListCollectionsResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let collections = self.reader.call(ListCollections, caller).await?;
        Ok(Response::new(ListCollectionsResponse { collections }))
    }

    async fn get_collection(
        &self,
        request: Request<GetCollectionRequest>,
    ) -> Result<Response<GetCollectionResponse>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let name = validate::get(request.into_inner())?;
        let collection = self.reader.call(name, caller).await?;
        Ok(Response::new(GetCollectionResponse {
            collection: Some(collection),
        }))
    }
}
