//! Retrievers that keep nothing of their own: several over one server.

use emend_proto::v1::{
    DeleteCollectionRequest, GetCollectionRequest, GetDocumentRequest, ListCollectionsRequest, ListDocumentsRequest,
    RepairCollectionRequest, RepairCollectionResponse,
};
use tonic::Code;

use super::*;

const TIDES: &str = "The harbour master writes down the tides. The lantern is lit at dusk.";

/// Two retrievers over one server.
async fn two(server: &Place) -> [Running; 2] {
    [server.start(&[]).await, server.start(&[]).await]
}

async fn stop(retrievers: [Running; 2]) {
    for retriever in retrievers {
        retriever.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_retriever_stores_another_finds_reads_and_removes() {
    let server = Place::qdrant().await;
    let [mut one, mut two] = two(&server).await;
    one.store([
        document("tides", TIDES),
        document("bread", "Bread rises twice before it is baked."),
    ])
    .await;
    let found = two.retrieve(query("When is the lantern lit?")).await;
    assert_eq!(
        (found[0].document_id.as_str(), found[0].text.as_str()),
        ("tides", TIDES)
    );
    assert_eq!(found, one.retrieve(query("When is the lantern lit?")).await);

    let get = GetDocumentRequest {
        document_id: "tides".to_owned(),
        ..GetDocumentRequest::default()
    };
    let read = two.client.get_document(get.clone()).await.unwrap().into_inner();
    assert_eq!(read.passages[0].text, TIDES);
    let listed = two
        .client
        .list_documents(ListDocumentsRequest::default())
        .await
        .unwrap();
    let ids: Vec<_> = listed
        .into_inner()
        .documents
        .into_iter()
        .map(|document| document.id)
        .collect();
    assert_eq!(ids, ["bread", "tides"]);
    // The same again is known to be stored, whoever is asked.
    let again = two.ingest([document("tides", TIDES)]).await;
    assert_eq!(again[0].status(), IngestStatus::Unchanged);

    // Replaced through the one, removed through the other.
    two.store([document("tides", "The lantern is lit at noon.")]).await;
    let found = one.retrieve(query("When is the lantern lit?")).await;
    assert_eq!(found[0].text, "The lantern is lit at noon.");
    let gone = DeleteDocumentsRequest {
        document_ids: vec!["tides".to_owned()],
        ..DeleteDocumentsRequest::default()
    };
    let removed = two.client.delete_documents(gone.clone()).await.unwrap().into_inner();
    assert_eq!(removed.deleted, 1);
    assert_eq!(one.client.get_document(get).await.unwrap_err().code(), Code::NotFound);
    assert!(
        one.retrieve(query("lantern"))
            .await
            .iter()
            .all(|passage| passage.document_id == "bread")
    );
    assert_eq!(one.client.delete_documents(gone).await.unwrap().into_inner().deleted, 0);
    let described = one
        .client
        .get_collection(GetCollectionRequest::default())
        .await
        .unwrap();
    let described = described.into_inner().collection.unwrap();
    assert_eq!((described.documents, described.passages), (1, 1));

    // A retriever that comes later finds what the first two leave; a removed collection is gone for all.
    stop([one, two]).await;
    let [mut one, mut two] = self::two(&server).await;
    assert_eq!(one.retrieve(query("bread")).await[0].document_id, "bread");
    let all = DeleteCollectionRequest {
        collection: "default".to_owned(),
    };
    two.client.delete_collection(all).await.unwrap();
    let unknown = one.client.retrieve(query("bread")).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound, "{unknown:?}");
    let listed = one.client.list_collections(ListCollectionsRequest {}).await.unwrap();
    assert_eq!(listed.into_inner().collections, []);
    stop([one, two]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_store_documents_at_once_and_each_document_is_one_of_them() {
    let server = Place::qdrant().await;
    let [mut one, mut two] = two(&server).await;
    let text = |number: u32, by: &str| format!("Report {number} was written by {by}, who signs it with {by}.");
    let documents = |by: &'static str| (0..12).map(move |number| document(&format!("r{number:02}"), &text(number, by)));
    let (first, second) = tokio::join!(one.ingest(documents("anna")), two.ingest(documents("bert")));
    for answer in first.iter().chain(&second) {
        assert_eq!(answer.status(), IngestStatus::Ingested, "{}", answer.error);
    }
    for number in 0..12 {
        let get = GetDocumentRequest {
            document_id: format!("r{number:02}"),
            ..GetDocumentRequest::default()
        };
        let seen = one.client.get_document(get.clone()).await.unwrap().into_inner();
        let whole: String = seen.passages.iter().map(|passage| passage.text.as_str()).collect();
        assert!(["anna", "bert"].map(|by| text(number, by)).contains(&whole), "{whole}");
        assert_eq!(two.client.get_document(get).await.unwrap().into_inner(), seen);
    }
    let described = two
        .client
        .get_collection(GetCollectionRequest::default())
        .await
        .unwrap();
    assert_eq!(described.into_inner().collection.unwrap().documents, 12);
    stop([one, two]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_names_what_the_server_lost() {
    let place = Place::qdrant().await;
    let mut retriever = place.start(&[]).await;
    retriever
        .store(["a", "b", "c"].map(|id| document(id, &format!("{id}: {TIDES}"))))
        .await;
    let Place::Qdrant(server, _) = &place else { return };
    let lost = server.lose("emend-default", &[("document", "b"), ("kind", "section")]);
    assert_eq!(lost, 1);
    let repaired = retriever
        .client
        .repair_collection(RepairCollectionRequest::default())
        .await;
    let repaired = repaired.unwrap().into_inner();
    assert_eq!(
        (repaired.incomplete_document_ids, repaired.removed),
        (vec!["b".to_owned()], 0)
    );
    let damaged = retriever.client.retrieve(query("b: tides")).await.unwrap_err();
    assert_eq!(damaged.code(), Code::FailedPrecondition);
    assert!(
        damaged.message().contains("\"b\"") && damaged.message().contains("ingest it again"),
        "{damaged:?}"
    );
    // The same content again, which the repair has made the retriever look at, and the others not.
    let again = ["a", "b"].map(|id| document(id, &format!("{id}: {TIDES}")));
    let again = retriever.ingest(again).await;
    let statuses: Vec<_> = again.iter().map(IngestResponse::status).collect();
    assert_eq!(statuses, [IngestStatus::Unchanged, IngestStatus::Ingested]);
    let repaired = retriever
        .client
        .repair_collection(RepairCollectionRequest::default())
        .await;
    assert_eq!(repaired.unwrap().into_inner(), RepairCollectionResponse::default());
    assert_eq!(retriever.retrieve(query("b: tides")).await[0].document_id, "b");
    retriever.stop().await;
}
