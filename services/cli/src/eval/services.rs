//! The services of a cluster as the system that is measured.

use std::{collections::HashMap, time::Duration};

use anyhow::Result;
use emend_chassis::TracedChannel;
use emend_core::{Deadline, limits::MAX_MESSAGE_BYTES};
use emend_eval::{qa::System, retrieval::Searcher};
use emend_orchestrator::walk::best_first;
use emend_proto::v1::{
    AskRequest, GetGraphRequest, GradeDocumentsRequest, Passage, Question, RetrieveRequest, WalkResult,
    grader_service_client::GraderServiceClient, orchestrator_service_client::OrchestratorServiceClient,
    retriever_service_client::RetrieverServiceClient,
};
use tonic::Status;

use crate::cluster::{Cluster, Component};

/// The two services that are asked.
pub(super) struct Services {
    orchestrator: OrchestratorServiceClient<TracedChannel>,
    retriever: Retriever,
    /// Longest time for one call.
    timeout: Duration,
}

impl Services {
    /// Those of a cluster, each call for at most `timeout`.
    ///
    /// # Errors
    /// One of them is not there.
    pub(super) fn of(cluster: &Cluster, timeout: Duration) -> Result<Self> {
        Ok(Self {
            orchestrator: OrchestratorServiceClient::new(cluster.channel(Component::Orchestrator)?)
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(MAX_MESSAGE_BYTES),
            retriever: Retriever::of(cluster, timeout)?,
            timeout,
        })
    }

    /// Makes sure of a graph before anything is measured.
    ///
    /// # Errors
    /// There is no such graph; the message lists the known ones.
    pub(super) async fn known(&self, graph: &str) -> Result<(), Status> {
        let request = GetGraphRequest { name: graph.to_owned() };
        self.orchestrator.clone().get_graph(request).await?;
        Ok(())
    }
}

impl System for Services {
    async fn ask(&self, question: Question) -> Result<WalkResult, Status> {
        let request = AskRequest {
            question: Some(question),
        };
        let request = emend_chassis::request(request, Deadline::after(self.timeout));
        let answered = self.orchestrator.clone().ask(request).await?;
        Ok(answered.into_inner().result.unwrap_or_default())
    }
}

impl Searcher for Services {
    async fn retrieve(&self, request: RetrieveRequest) -> Result<Vec<Passage>, Status> {
        self.retriever.retrieve(request).await
    }
}

/// The retriever of a cluster.
pub(super) struct Retriever {
    client: RetrieverServiceClient<TracedChannel>,
    /// Longest time for one call.
    timeout: Duration,
}

impl Retriever {
    /// That of a cluster, each call for at most `timeout`.
    ///
    /// # Errors
    /// It is not there.
    pub(super) fn of(cluster: &Cluster, timeout: Duration) -> Result<Self> {
        Ok(Self {
            client: RetrieverServiceClient::new(cluster.channel(Component::Retriever)?)
                .max_decoding_message_size(MAX_MESSAGE_BYTES),
            timeout,
        })
    }
}

impl Searcher for Retriever {
    async fn retrieve(&self, request: RetrieveRequest) -> Result<Vec<Passage>, Status> {
        let request = emend_chassis::request(request, Deadline::after(self.timeout));
        let found = self.client.clone().retrieve(request).await?;
        Ok(found.into_inner().passages)
    }
}

/// Hybrid search for more passages than are asked for, of which the grader chooses.
pub(super) struct Reranked<'a> {
    retriever: &'a Retriever,
    grader: GraderServiceClient<TracedChannel>,
    /// Passages that are graded.
    most: u32,
}

impl<'a> Reranked<'a> {
    /// The first `most` passages that `retriever` finds, graded by the cluster's grader.
    ///
    /// # Errors
    /// There is no grader.
    pub(super) fn of(cluster: &Cluster, retriever: &'a Retriever, most: u32) -> Result<Self> {
        let grader = GraderServiceClient::new(cluster.channel(Component::Grader)?);
        Ok(Self {
            retriever,
            grader: grader.max_encoding_message_size(MAX_MESSAGE_BYTES),
            most,
        })
    }
}

impl Searcher for Reranked<'_> {
    async fn retrieve(&self, request: RetrieveRequest) -> Result<Vec<Passage>, Status> {
        let asked = request.top_k.unwrap_or(self.most) as usize;
        let question = request.query.clone();
        let wide = RetrieveRequest {
            top_k: Some(self.most),
            ..request
        };
        let passages = self.retriever.retrieve(wide).await?;
        let request = GradeDocumentsRequest {
            question,
            passages: passages.clone(),
            ..GradeDocumentsRequest::default()
        };
        let request = emend_chassis::request(request, Deadline::after(self.retriever.timeout));
        let graded = self.grader.clone().grade_documents(request).await?.into_inner();
        let grades: HashMap<String, _> = graded
            .grades
            .into_iter()
            .map(|grade| (grade.passage_id.clone(), (grade.relevance(), grade.score)))
            .collect();
        Ok(best_first(passages, asked, |id| grades.get(id).copied()))
    }
}
