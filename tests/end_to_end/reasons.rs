//! Every error of every RPC says why, by a reason of the closed list.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use emend_chassis::{ERROR_DOMAIN, grpc_code, reason_of, resource_of};
use emend_cli::cluster::Component;
use emend_core::{Deadline, Reason, Resource};
use emend_proto::v1::{DeleteCollectionRequest, GetDocumentRequest, GetGraphRequest};
use emend_tests::{Fixture, PATIENCE, question};
use futures::StreamExt as _;
use prost::Message as _;
use prost_reflect::prost_types::FileDescriptorSet;
use tonic::Status;
use tonic_prost::ProstCodec;
use tonic_types::StatusExt as _;

/// The component that has a service of the contracts.
fn component(service: &str) -> Component {
    match service {
        "OrchestratorService" => Component::Orchestrator,
        "RetrieverService" => Component::Retriever,
        "GraderService" => Component::Grader,
        "GeneratorService" => Component::Generator,
        "RewriterService" => Component::Rewriter,
        "WebSearchService" => Component::WebSearch,
        other => panic!("{other} is new here"),
    }
}

/// What an RPC says to one empty message.
async fn asked(fixture: &Fixture, service: &str, method: &str) -> Result<(), Status> {
    let mut client = tonic::client::Grpc::new(fixture.cluster.channel(component(service)).unwrap());
    client.ready().await.unwrap();
    let message = futures::stream::iter([()]);
    let path = format!("/emend.v1.{service}/{method}").parse().unwrap();
    let request = emend_chassis::request(message, Deadline::after(PATIENCE));
    let mut answers = client
        .streaming(request, path, ProstCodec::<(), ()>::default())
        .await?
        .into_inner();
    while answers.next().await.transpose()?.is_some() {}
    Ok(())
}

fn has_a_reason(rpc: &str, status: &Status) {
    let info = status
        .get_details_error_info()
        .unwrap_or_else(|| panic!("{rpc}: {status:?}"));
    let reason = Reason::of_name(&info.reason).unwrap_or_else(|| panic!("{rpc}: {}", info.reason));
    assert_eq!(
        (info.domain.as_str(), grpc_code(reason.code())),
        (ERROR_DOMAIN, status.code()),
        "{rpc}: {status:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_error_of_every_rpc_has_a_reason_of_the_list() {
    let fixture = Fixture::start().await;
    let set = FileDescriptorSet::decode(emend_proto::FILE_DESCRIPTOR_SET).unwrap();
    let mut answered = Vec::new();
    for service in set
        .file
        .iter()
        .filter(|file| file.package() == "emend.v1")
        .flat_map(|file| &file.service)
    {
        for method in service
            .method
            .iter()
            .map(|method| method.name())
            .chain(["NoSuchMethod"])
        {
            let rpc = format!("{}/{method}", service.name());
            match asked(&fixture, service.name(), method).await {
                Ok(()) => answered.push(rpc),
                Err(status) => has_a_reason(&rpc, &status),
            }
        }
    }
    // What an empty message is right for; streams of documents end without one.
    let right = [
        "OrchestratorService/ListGraphs",
        "OrchestratorService/ValidateGraph",
        "RetrieverService/Ingest",
        "RetrieverService/ListCollections",
        "RetrieverService/ImportCollection",
    ];
    assert_eq!(answered, right);
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_told_apart_and_named() {
    let fixture = Fixture::start().await;
    fixture.ingest("known", &[("a", "Some text about lighthouses.")]).await;
    let (mut retriever, mut orchestrator) = (fixture.retriever(), fixture.orchestrator());
    let document = GetDocumentRequest {
        collection: "known".to_owned(),
        document_id: "absent".to_owned(),
        ..GetDocumentRequest::default()
    };
    let collection = DeleteCollectionRequest {
        collection: "absent".to_owned(),
    };
    let graph = GetGraphRequest {
        name: "absent".to_owned(),
    };
    for (status, reason, resource) in [
        (
            // The retriever's, passed on by the orchestrator.
            fixture.ask(question("What?", "self-rag", "absent")).await.unwrap_err(),
            Reason::CollectionNotFound,
            Resource::collection("absent"),
        ),
        (
            retriever.delete_collection(collection).await.unwrap_err(),
            Reason::CollectionNotFound,
            Resource::collection("absent"),
        ),
        (
            retriever.get_document(document).await.unwrap_err(),
            Reason::DocumentNotFound,
            Resource::document("absent"),
        ),
        (
            fixture.ask(question("What?", "absent", "known")).await.unwrap_err(),
            Reason::GraphNotFound,
            Resource::graph("absent"),
        ),
        (
            orchestrator.get_graph(graph).await.unwrap_err(),
            Reason::GraphNotFound,
            Resource::graph("absent"),
        ),
    ] {
        assert_eq!(
            (reason_of(&status), resource_of(&status)),
            (reason, Some(resource)),
            "{status:?}"
        );
    }
    let mut misspelt = question("What?", "self-rag", "known");
    misspelt.options.insert("max_retrys".to_owned(), 1.0);
    let status = fixture.ask(misspelt).await.unwrap_err();
    assert_eq!(reason_of(&status), Reason::OptionUnknown, "{status:?}");
    fixture.cluster.stop().await;
}
