//! Ten times the calls that a service takes.

use std::time::Duration;

use emend_chassis::request;
use emend_core::Deadline;
use emend_proto::v1::{
    AskRequest, GenerateRequest, GradeUsefulnessRequest, RetrieveRequest, RewritePurpose, RewriteRequest,
    SearchRequest, generator_service_client::GeneratorServiceClient, grader_service_client::GraderServiceClient,
    orchestrator_service_client::OrchestratorServiceClient, retriever_service_client::RetrieverServiceClient,
    rewriter_service_client::RewriterServiceClient, web_search_service_client::WebSearchServiceClient,
};
use tokio::task::JoinSet;
use tonic::{Status, transport::Channel};

use crate::{
    outcome::asked,
    processes::{MAX_IN_FLIGHT, Service},
};

/// Callers that call a service all the time, until this is dropped.
pub(crate) fn overload(service: &Service) -> JoinSet<()> {
    let channel = Channel::from_shared(service.url()).unwrap().connect_lazy();
    let mut callers = JoinSet::new();
    for _ in 0..10 * MAX_IN_FLIGHT {
        let (name, channel) = (service.name, channel.clone());
        callers.spawn(async move {
            loop {
                if call(name, channel.clone()).await.is_err() {
                    // As somebody who does not listen: the service asks for ten times as long.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        });
    }
    callers
}

async fn call(service: &str, channel: Channel) -> Result<(), Status> {
    let deadline = Deadline::after(Duration::from_secs(5));
    let query = "Who built the Torvik lighthouse?".to_owned();
    match service {
        "retriever" => {
            let asked = RetrieveRequest {
                query,
                collection: "village".to_owned(),
                ..RetrieveRequest::default()
            };
            let mut client = RetrieverServiceClient::new(channel);
            client.retrieve(request(asked, deadline)).await.map(drop)
        }
        "grader" => {
            let asked = GradeUsefulnessRequest {
                question: query,
                answer: "Ansgar Lund did.".to_owned(),
                ..GradeUsefulnessRequest::default()
            };
            let mut client = GraderServiceClient::new(channel);
            client.grade_usefulness(request(asked, deadline)).await.map(drop)
        }
        "generator" => {
            let asked = GenerateRequest {
                question: query,
                ..GenerateRequest::default()
            };
            let mut client = GeneratorServiceClient::new(channel);
            let mut events = client.generate(request(asked, deadline)).await?.into_inner();
            while events.message().await?.is_some() {}
            Ok(())
        }
        "rewriter" => {
            let asked = RewriteRequest {
                question: query,
                purpose: RewritePurpose::WebSearch.into(),
                ..RewriteRequest::default()
            };
            let mut client = RewriterServiceClient::new(channel);
            client.rewrite(request(asked, deadline)).await.map(drop)
        }
        "web-search" => {
            let asked = SearchRequest {
                query,
                ..SearchRequest::default()
            };
            let mut client = WebSearchServiceClient::new(channel);
            client.search(request(asked, deadline)).await.map(drop)
        }
        _ => {
            let asked = AskRequest {
                question: Some(asked()),
            };
            let mut client = OrchestratorServiceClient::new(channel);
            client.ask(request(asked, deadline)).await.map(drop)
        }
    }
}
