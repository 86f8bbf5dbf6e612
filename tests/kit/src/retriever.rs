//! A retriever of which a test writes only the calls that it answers.

use emend_proto::v1::{
    self,
    retriever_service_server::{RetrieverService, RetrieverServiceServer},
};
use futures::stream::BoxStream;
use tonic::{Request, Response, Status, Streaming};

/// The messages of a stream.
pub type Messages<T> = BoxStream<'static, Result<T, Status>>;

/// Declares [`Retriever`] and its adapter from the list of calls.
macro_rules! retriever {
    (
        unary { $($rpc:ident($request:ty) -> $response:ty;)+ }
        streams { $($stream:ident = $streaming:ident($requests:ty) -> $item:ty;)+ }
    ) => {
        /// The calls of a retriever. What a test does not write is answered with UNIMPLEMENTED.
        #[tonic::async_trait]
        pub trait Retriever: Sized + Send + Sync + 'static {
            $(
                async fn $rpc(&self, _: Request<$request>) -> Result<Response<$response>, Status> {
                    unwritten(stringify!($rpc))
                }
            )+
            $(
                async fn $streaming(&self, _: Request<$requests>) -> Result<Response<Messages<$item>>, Status> {
                    unwritten(stringify!($streaming))
                }
            )+

            /// The service, to add to a server.
            fn into_server(self) -> RetrieverServiceServer<Served<Self>> {
                RetrieverServiceServer::new(Served(self))
            }
        }

        #[tonic::async_trait]
        impl<R: Retriever> RetrieverService for Served<R> {
            $(
                async fn $rpc(&self, request: Request<$request>) -> Result<Response<$response>, Status> {
                    self.0.$rpc(request).await
                }
            )+
            $(
                type $stream = Messages<$item>;

                async fn $streaming(&self, request: Request<$requests>) -> Result<Response<Self::$stream>, Status> {
                    self.0.$streaming(request).await
                }
            )+
        }
    };
}

/// A [`Retriever`] as the service of the contract.
#[derive(Clone, Debug)]
pub struct Served<R>(R);

fn unwritten<T>(rpc: &str) -> Result<T, Status> {
    Err(Status::unimplemented(format!("this test's retriever has no {rpc}")))
}

retriever! {
    unary {
        retrieve(v1::RetrieveRequest) -> v1::RetrieveResponse;
        delete_documents(v1::DeleteDocumentsRequest) -> v1::DeleteDocumentsResponse;
        list_documents(v1::ListDocumentsRequest) -> v1::ListDocumentsResponse;
        get_document(v1::GetDocumentRequest) -> v1::GetDocumentResponse;
        list_collections(v1::ListCollectionsRequest) -> v1::ListCollectionsResponse;
        get_collection(v1::GetCollectionRequest) -> v1::GetCollectionResponse;
        delete_collection(v1::DeleteCollectionRequest) -> v1::DeleteCollectionResponse;
        repair_collection(v1::RepairCollectionRequest) -> v1::RepairCollectionResponse;
    }
    streams {
        IngestStream = ingest(Streaming<v1::IngestRequest>) -> v1::IngestResponse;
        CopyCollectionStream = copy_collection(v1::CopyCollectionRequest) -> v1::CopyCollectionResponse;
        ExportCollectionStream = export_collection(v1::ExportCollectionRequest) -> v1::ExportCollectionResponse;
        ImportCollectionStream = import_collection(Streaming<v1::ImportCollectionRequest>) -> v1::ImportCollectionResponse;
    }
}
