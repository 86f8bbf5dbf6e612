use emend_proto::v1::{
    DeleteCollectionRequest, EmbeddedDocument, EmbeddedPassage, EmbeddedSection, ExportCollectionRequest,
    ExportCollectionResponse, GetCollectionRequest, ImportCollectionRequest, ImportCollectionResponse,
    RepairCollectionRequest, RepairCollectionResponse,
};
use tonic::{Code, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use super::*;

impl Running {
    pub(super) async fn export(
        &mut self,
        collection: &str,
        after: &str,
    ) -> Result<Vec<ExportCollectionResponse>, Status> {
        let request = ExportCollectionRequest {
            collection: collection.to_owned(),
            after_document_id: after.to_owned(),
        };
        let mut answers = self.client.export_collection(request).await?.into_inner();
        let mut parts = Vec::new();
        while let Some(part) = answers.message().await? {
            parts.push(part);
        }
        Ok(parts)
    }

    pub(super) async fn import(
        &mut self,
        requests: Vec<ImportCollectionRequest>,
    ) -> Result<Vec<ImportCollectionResponse>, Status> {
        let requests = tokio_stream::iter(requests);
        let mut answers = self.client.import_collection(requests).await?.into_inner();
        let mut all = Vec::new();
        while let Some(answer) = answers.message().await? {
            all.push(answer);
        }
        Ok(all)
    }
}

fn request(document: EmbeddedDocument, last: bool) -> ImportCollectionRequest {
    ImportCollectionRequest {
        collection: "imported".to_owned(),
        embedder: "fixed".to_owned(),
        document: Some(document),
        last,
    }
}

fn embedded(id: &str) -> EmbeddedDocument {
    EmbeddedDocument {
        id: id.to_owned(),
        fingerprint: vec![1; 32],
        sections: vec![EmbeddedSection {
            start: 2,
            text: "some words".to_owned(),
            headings: vec!["Above".to_owned()],
        }],
        passages: vec![EmbeddedPassage {
            section: 0,
            start: 2,
            end: 12,
            embedding: vec![0.6, 0.8],
            term_hashes: vec![1, 2],
            term_weights: vec![0.5, 1.5],
        }],
        ..EmbeddedDocument::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_is_imported_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &["--chunk-tokens", "16"]).await;
    let text = "# Lanterns\n\nThe lantern of the tower is lit at dusk. ".repeat(20);
    retriever
        .store([
            document("a.md", &text),
            document("b.md", "Bread needs flour."),
            document("c", "나무는 크다"),
        ])
        .await;
    let parts = retriever.export("default", "").await.unwrap();
    let ids: Vec<_> = parts
        .iter()
        .map(|part| part.document.as_ref().unwrap().id.clone())
        .collect();
    assert_eq!(ids, ["a.md", "b.md", "c"]);
    assert!(parts.iter().all(|part| part.last && part.embedder == "hashed-256"));
    let sections = &parts[0].document.as_ref().unwrap().sections;
    assert!(
        sections.iter().all(|section| section.headings == ["Lanterns"]),
        "{sections:?}"
    );
    let rest = retriever.export("default", "a.md").await.unwrap();
    assert_eq!(rest, parts[1..]);
    assert_eq!(retriever.export("default", "c").await.unwrap(), []);
    let error = retriever.export("other", "").await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);

    let requests = |collection: &str| {
        let parts = parts.clone().into_iter();
        let collection = collection.to_owned();
        let requests = parts.map(move |part| ImportCollectionRequest {
            collection: collection.clone(),
            embedder: part.embedder,
            document: part.document,
            last: part.last,
        });
        requests.collect::<Vec<_>>()
    };
    for status in [IngestStatus::Ingested, IngestStatus::Unchanged] {
        let answers = retriever.import(requests("copies")).await.unwrap();
        assert_eq!(answers.len(), 3);
        assert!(answers.iter().all(|answer| answer.status() == status), "{answers:?}");
    }
    let found = |collection: &str| RetrieveRequest {
        collection: collection.to_owned(),
        ..query("When is the lantern lit?")
    };
    let original = retriever.retrieve(found("default")).await;
    assert_eq!(retriever.retrieve(found("copies")).await, original);
    assert_eq!(original[0].document_id, "a.md");
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_export_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let passage = |change: fn(&mut EmbeddedPassage)| {
        let mut document = embedded("wrong");
        change(&mut document.passages[0]);
        document
    };
    let headed = |heading: String| {
        let mut document = embedded("wrong");
        document.sections[0].headings = vec![heading];
        document
    };
    let mut many = embedded("wrong");
    many.sections[0].headings = vec!["h".to_owned(); 9];
    let wrong = [
        (many, "must be at most 8 headings, are 9"),
        (
            EmbeddedDocument {
                id: "a\nb".to_owned(),
                ..embedded("")
            },
            "document.id",
        ),
        (
            EmbeddedDocument {
                id: String::new(),
                ..embedded("")
            },
            "document.id",
        ),
        (
            EmbeddedDocument {
                fingerprint: vec![1; 31],
                ..embedded("wrong")
            },
            "document.fingerprint",
        ),
        (
            EmbeddedDocument {
                passages: Vec::new(),
                ..embedded("wrong")
            },
            "document.passages",
        ),
        (
            EmbeddedDocument {
                title: "t".repeat(1025),
                ..embedded("wrong")
            },
            "document.title",
        ),
        (headed("h".repeat(201)), "characters each, one has 201"),
        (headed("a\nb".to_owned()), "document.sections[0].headings"),
        (headed(" ".to_owned()), "must not be blank"),
        (passage(|passage| passage.section = 1), "must be of one of 1 sections"),
        (passage(|passage| passage.end = 13), "must be within 2..=12"),
        (passage(|passage| passage.start = 1), "must be within 2..=12"),
        (passage(|passage| passage.start = 13), "must be within 2..=12"),
        (passage(|passage| passage.embedding = vec![0.6, 0.9]), "unit vector"),
        (
            passage(|passage| passage.embedding = vec![f32::NAN, 0.9]),
            "unit vector",
        ),
        (
            passage(|passage| passage.term_hashes = vec![2, 2]),
            "hashes that ascend",
        ),
        (
            passage(|passage| passage.term_hashes = vec![2]),
            "a weight for each hash",
        ),
        (passage(|passage| passage.term_weights[0] = 0.0), "weights above 0"),
    ];
    let mut requests: Vec<_> = wrong
        .iter()
        .map(|(document, _)| request(document.clone(), true))
        .collect();
    // One that begins and never ends, in the middle and at the end, and one that is right in between.
    requests.push(request(embedded("begun"), false));
    requests.push(request(embedded("right"), true));
    requests.push(request(embedded("cut off"), false));
    let answers = retriever.import(requests).await.unwrap();
    for (answer, (_, expected)) in answers.iter().zip(&wrong) {
        assert_eq!(answer.status(), IngestStatus::Failed);
        assert!(answer.error.contains(expected), "{expected}: {}", answer.error);
    }
    let rest: Vec<_> = answers[wrong.len()..]
        .iter()
        .map(|answer| (answer.document_id.as_str(), answer.status()))
        .collect();
    let expected = [
        ("begun", IngestStatus::Failed),
        ("right", IngestStatus::Ingested),
        ("cut off", IngestStatus::Failed),
    ];
    assert_eq!(rest, expected);
    // Another embedder ends the stream, and is named with the collection's.
    let mut other = request(embedded("other"), true);
    other.embedder = "another".to_owned();
    let error = retriever.import(vec![other]).await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(
        error.message().contains("fixed") && error.message().contains("another"),
        "{}",
        error.message()
    );
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_restores_what_the_index_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    retriever
        .store([
            document("a", "The lantern is lit."),
            document("b", "The harbour is calm."),
        ])
        .await;
    retriever.stop().await;
    std::fs::remove_dir_all(folder.path().join("default").join("index")).unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let repaired = retriever
        .client
        .repair_collection(RepairCollectionRequest::default())
        .await;
    let expected = RepairCollectionResponse {
        restored: 2,
        ..RepairCollectionResponse::default()
    };
    assert_eq!(repaired.unwrap().into_inner(), expected);
    assert_eq!(retriever.retrieve(query("lantern")).await[0].document_id, "a");
    let again = retriever
        .client
        .repair_collection(RepairCollectionRequest::default())
        .await;
    assert_eq!(again.unwrap().into_inner(), RepairCollectionResponse::default());
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_is_removed_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    retriever
        .store([document("a", "words"), document("b", "more words")])
        .await;
    let repair = |collection: &str| RepairCollectionRequest {
        collection: collection.to_owned(),
    };
    let repaired = retriever
        .client
        .repair_collection(repair(""))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(repaired, RepairCollectionResponse::default());
    let error = retriever.client.repair_collection(repair("other")).await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    let delete = |collection: &str| DeleteCollectionRequest {
        collection: collection.to_owned(),
    };
    // The default collection is not removed by a request that forgot the name.
    let error = retriever.client.delete_collection(delete("")).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    let deleted = retriever
        .client
        .delete_collection(delete("default"))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(deleted.documents, 2);
    let error = retriever.client.delete_collection(delete("default")).await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    let error = retriever
        .client
        .get_collection(GetCollectionRequest::default())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    retriever.stop().await;
    // It does not come back.
    let mut retriever = Running::start(folder.path(), &[]).await;
    let error = retriever
        .client
        .get_collection(GetCollectionRequest::default())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_named_and_the_service_is_not_serving() {
    let folder = tempfile::tempdir().unwrap();
    // A port that nobody listens on.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let mut retriever = Running::start(folder.path(), &["--store", "qdrant", "--qdrant-url", &url]).await;
    let channel = Channel::from_shared(retriever.address.clone())
        .unwrap()
        .connect()
        .await
        .unwrap();
    let request = HealthCheckRequest {
        service: SERVICE_NAME.to_owned(),
    };
    let health = HealthClient::new(channel).check(request).await.unwrap().into_inner();
    assert_eq!(health.status(), ServingStatus::NotServing);
    let status = retriever.client.retrieve(query("words")).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    for part in ["Qdrant at http://127.0.0.1", "does not answer", "--qdrant-url"] {
        assert!(status.message().contains(part), "{part}: {}", status.message());
    }
    let acknowledged = retriever.ingest([document("a", "words")]).await;
    assert_eq!(acknowledged[0].status(), IngestStatus::Failed);
    assert!(
        acknowledged[0].error.contains("does not answer"),
        "{}",
        acknowledged[0].error
    );
    retriever.stop().await;
}
