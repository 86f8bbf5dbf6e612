//! Graders that fail in every way a dependency can: what another implementation of the contract may do.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use emend_proto::v1::{
    DecideRetrievalRequest, DecideRetrievalResponse, GradeDocumentsRequest, GradeDocumentsResponse,
    GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest, GradeUsefulnessResponse,
    RefineKnowledgeRequest, RefineKnowledgeResponse,
    grader_service_server::{GraderService, GraderServiceServer},
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// How a grader behaves.
#[derive(Clone, Copy, Debug)]
pub enum Behaviour {
    /// Never answers.
    Hangs,
    /// Answers with an internal error.
    Fails,
    /// Is full, once; then fails. Tells whether a caller comes back.
    FullOnce,
}

/// A grader that never grades.
#[derive(Clone)]
pub struct BadGrader {
    behaviour: Behaviour,
    calls: Arc<AtomicU32>,
    abandoned: Arc<AtomicU32>,
}

impl BadGrader {
    /// Listens on a free port and says which.
    pub async fn start(behaviour: Behaviour) -> (Self, SocketAddr) {
        let grader = Self {
            behaviour,
            calls: Arc::default(),
            abandoned: Arc::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tonic::transport::Server::builder().add_service(GraderServiceServer::new(grader.clone()));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        (grader, address)
    }

    /// Calls that came in.
    pub fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Calls whose caller went away before an answer.
    pub fn abandoned(&self) -> u32 {
        self.abandoned.load(Ordering::SeqCst)
    }

    async fn behave<T>(&self) -> Result<Response<T>, Status> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        match self.behaviour {
            Behaviour::Hangs => {
                let _left = Left(Arc::clone(&self.abandoned));
                std::future::pending().await
            }
            Behaviour::FullOnce if call == 0 => Err(Status::resource_exhausted("full")),
            Behaviour::Fails | Behaviour::FullOnce => Err(Status::internal("scripted failure")),
        }
    }
}

/// Counts when it is dropped.
struct Left(Arc<AtomicU32>);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tonic::async_trait]
impl GraderService for BadGrader {
    async fn grade_documents(
        &self,
        _: Request<GradeDocumentsRequest>,
    ) -> Result<Response<GradeDocumentsResponse>, Status> {
        self.behave().await
    }

    async fn grade_groundedness(
        &self,
        _: Request<GradeGroundednessRequest>,
    ) -> Result<Response<GradeGroundednessResponse>, Status> {
        self.behave().await
    }

    async fn grade_usefulness(
        &self,
        _: Request<GradeUsefulnessRequest>,
    ) -> Result<Response<GradeUsefulnessResponse>, Status> {
        self.behave().await
    }

    async fn decide_retrieval(
        &self,
        _: Request<DecideRetrievalRequest>,
    ) -> Result<Response<DecideRetrievalResponse>, Status> {
        self.behave().await
    }

    async fn refine_knowledge(
        &self,
        _: Request<RefineKnowledgeRequest>,
    ) -> Result<Response<RefineKnowledgeResponse>, Status> {
        self.behave().await
    }
}
