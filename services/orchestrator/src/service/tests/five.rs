//! The five services, scripted, behind one real socket.

use std::{collections::HashMap, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use emend_core::Deadline;
use emend_proto::v1;
use emend_testkit::retriever::{Messages, Retriever};
use futures::StreamExt as _;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};
use tonic_types::StatusExt as _;

use crate::walk::{Failure, Services, scripted::Scripted};

/// All five services in one server.
#[derive(Clone)]
struct Five(Arc<dyn Services>);

fn far() -> Deadline {
    Deadline::after(Duration::from_secs(3600))
}

fn refused(failure: Failure) -> Status {
    let mut details = tonic_types::ErrorDetails::new();
    let mut metadata = HashMap::new();
    for violation in &failure.violations {
        details.add_bad_request_violation(&violation.field, &violation.description);
    }
    if failure.usage.model_calls > 0 {
        let calls = failure.usage.model_calls.to_string();
        metadata.insert("model_calls".to_owned(), calls);
        details.set_retry_info(Some(Duration::ZERO));
    }
    details.set_error_info(failure.reason.name(), "emend", metadata);
    Status::with_error_details(emend_chassis::grpc_code(failure.code), failure.message, details)
}

/// Adapts the scripted services to tonic's traits.
macro_rules! unary {
    ($($rpc:ident($request:ty) -> $response:ty = $call:ident;)+) => {
        $(
            fn $rpc<'life0, 'async_trait>(
                &'life0 self,
                request: Request<$request>,
            ) -> Pin<Box<dyn Future<Output = Result<Response<$response>, Status>> + Send + 'async_trait>>
            where
                'life0: 'async_trait,
                Self: 'async_trait,
            {
                Box::pin(async move {
                    self.0.$call(request.into_inner(), far()).await.map(Response::new).map_err(refused)
                })
            }
        )+
    };
}

impl v1::grader_service_server::GraderService for Five {
    unary! {
        grade_documents(v1::GradeDocumentsRequest) -> v1::GradeDocumentsResponse = grade_documents;
        grade_groundedness(v1::GradeGroundednessRequest) -> v1::GradeGroundednessResponse = grade_groundedness;
        grade_usefulness(v1::GradeUsefulnessRequest) -> v1::GradeUsefulnessResponse = grade_usefulness;
        decide_retrieval(v1::DecideRetrievalRequest) -> v1::DecideRetrievalResponse = decide_retrieval;
        refine_knowledge(v1::RefineKnowledgeRequest) -> v1::RefineKnowledgeResponse = refine_knowledge;
    }
}

impl v1::rewriter_service_server::RewriterService for Five {
    unary! { rewrite(v1::RewriteRequest) -> v1::RewriteResponse = rewrite; }
}

impl v1::web_search_service_server::WebSearchService for Five {
    unary! { search(v1::SearchRequest) -> v1::SearchResponse = search; }
}

#[tonic::async_trait]
impl v1::generator_service_server::GeneratorService for Five {
    type GenerateStream = Messages<v1::GenerateResponse>;

    async fn generate(&self, request: Request<v1::GenerateRequest>) -> Result<Response<Self::GenerateStream>, Status> {
        let events: Vec<_> = self.0.generate(request.into_inner(), far()).collect().await;
        let messages = events.into_iter().map(|event| {
            let event = Some(event.map_err(refused)?);
            Ok(v1::GenerateResponse { event })
        });
        Ok(Response::new(Box::pin(futures::stream::iter(
            messages.collect::<Vec<_>>(),
        ))))
    }
}

#[tonic::async_trait]
impl Retriever for Five {
    async fn retrieve(&self, request: Request<v1::RetrieveRequest>) -> Result<Response<v1::RetrieveResponse>, Status> {
        self.0
            .retrieve(request.into_inner(), far())
            .await
            .map(Response::new)
            .map_err(refused)
    }
}

pub(super) async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

pub(super) async fn five(services: Scripted) -> SocketAddr {
    let (listener, address) = listen().await;
    let five = Five(Arc::new(services));
    const MOST: usize = 32 * 1024 * 1024;
    let retriever = five.clone().into_server();
    let grader = v1::grader_service_server::GraderServiceServer::new(five.clone());
    let generator = v1::generator_service_server::GeneratorServiceServer::new(five.clone());
    let rewriter = v1::rewriter_service_server::RewriterServiceServer::new(five.clone());
    let web_search = v1::web_search_service_server::WebSearchServiceServer::new(five);
    tokio::spawn(
        tonic::transport::Server::builder()
            .add_service(retriever)
            .add_service(grader.max_decoding_message_size(MOST))
            .add_service(generator.max_decoding_message_size(MOST))
            .add_service(rewriter)
            .add_service(web_search)
            .serve_with_incoming(TcpListenerStream::new(listener)),
    );
    address
}
