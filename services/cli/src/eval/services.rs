//! The services of a cluster as the system that is measured.

use std::time::Duration;

use anyhow::Result;
use emend_chassis::TracedChannel;
use emend_core::{Deadline, limits::MAX_MESSAGE_BYTES};
use emend_eval::{qa::System, retrieval::Searcher};
use emend_proto::v1::{
    AskRequest, GetGraphRequest, Passage, Question, RetrieveRequest, WalkResult,
    orchestrator_service_client::OrchestratorServiceClient, retriever_service_client::RetrieverServiceClient,
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
