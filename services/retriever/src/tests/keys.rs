//! What keys allow at the retriever.

use emend_chassis::Permission;
use emend_chassis::keys::{KeyEntry, KeysFile, new_key};
use emend_core::Secret;
use emend_proto::v1::{
    CopyCollectionRequest, DeleteCollectionRequest, DeleteDocumentsRequest, EmbeddedDocument, ExportCollectionRequest,
    GetCollectionRequest, GetDocumentRequest, ImportCollectionRequest, ListCollectionsRequest, ListDocumentsRequest,
    RepairCollectionRequest,
};
use tonic::{Code, Request, Status};

use super::*;

fn key(file: &mut KeysFile, name: &str, allow: &[Permission], collections: &[&str]) -> Secret {
    let (key, sha256) = new_key().unwrap();
    let entry = KeyEntry {
        sha256,
        allow: allow.to_vec(),
        collections: collections.iter().map(|name| name.parse().unwrap()).collect(),
        graphs: vec![],
        rate: None,
        model_calls_per_day: None,
        tokens_per_day: None,
    };
    file.add(name, entry).unwrap();
    key
}

/// A retriever that asks for the keys of a file, and the folder of both.
async fn start(file: &KeysFile) -> (tempfile::TempDir, Running) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    file.write(&path).unwrap();
    let data = folder.path().join("data");
    let running = Running::start(&data, &["--keys-file", path.to_str().unwrap()]).await;
    (folder, running)
}

fn with<T>(key: &Secret, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let value = format!("Bearer {}", key.reveal()).parse().unwrap();
    request.metadata_mut().insert("authorization", value);
    request
}

async fn ingest(running: &mut Running, key: &Secret, collections: &[&str]) -> Result<usize, Status> {
    let requests: Vec<_> = collections
        .iter()
        .map(|collection| IngestRequest {
            collection: (*collection).to_owned(),
            document: Some(document("leave", "Every employee has 25 days of leave.")),
            ..IngestRequest::default()
        })
        .collect();
    let request = with(key, tokio_stream::iter(requests));
    let mut answers = running.client.ingest(request).await?.into_inner();
    let mut stored = 0;
    while let Some(answer) = answers.message().await? {
        assert_eq!(answer.status(), IngestStatus::Ingested, "{}", answer.error);
        stored += 1;
    }
    Ok(stored)
}

async fn collections(running: &mut Running, key: &Secret) -> Vec<String> {
    let request = with(key, ListCollectionsRequest::default());
    let listed = running.client.list_collections(request).await.unwrap().into_inner();
    listed
        .collections
        .into_iter()
        .map(|collection| collection.name)
        .collect()
}

fn retrieve(collection: &str) -> RetrieveRequest {
    RetrieveRequest {
        collection: collection.to_owned(),
        ..query("leave")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_keys_a_collection_does_not_tell_what_another_has() {
    let mut file = KeysFile::default();
    let one = key(&mut file, "one", &[Permission::Ingest], &["payroll"]);
    let other = key(&mut file, "other", &[Permission::Ingest], &["team-a"]);
    let (_folder, mut running) = start(&file).await;
    assert_eq!(ingest(&mut running, &one, &["payroll"]).await.unwrap(), 1);
    let guess = IngestRequest {
        collection: "team-a".to_owned(),
        document: Some(document("leave", "Every employee has 25 days of leave.")),
        words_only: true,
    };
    let request = with(&other, tokio_stream::iter([guess]));
    let mut answers = running.client.ingest(request).await.unwrap().into_inner();
    assert!(answers.message().await.unwrap().unwrap().words_only);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_reads_and_writes_its_collections_and_sees_no_others() {
    let mut file = KeysFile::default();
    let writer = key(&mut file, "writer", &[Permission::Ingest], &["*"]);
    let reader = key(&mut file, "reader", &[Permission::Ask], &["handbook", "team-*"]);
    let own = key(&mut file, "own", &[Permission::Ask, Permission::Ingest], &["team-*"]);
    let (_folder, mut running) = start(&file).await;

    assert_eq!(
        ingest(&mut running, &writer, &["handbook", "payroll"]).await.unwrap(),
        2
    );
    // What was sent before is stored, and the stream ends where the key does.
    let status = ingest(&mut running, &own, &["team-a", "payroll"]).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
    assert!(
        status
            .message()
            .contains("key \"own\" may not use collection \"payroll\""),
        "{status:?}"
    );
    let status = ingest(&mut running, &reader, &["handbook"]).await.unwrap_err();
    assert!(status.message().contains("may not ingest"), "{status:?}");

    assert_eq!(collections(&mut running, &reader).await, ["handbook", "team-a"]);
    assert_eq!(collections(&mut running, &own).await, ["team-a"]);
    let found = running
        .client
        .retrieve(with(&reader, retrieve("handbook")))
        .await
        .unwrap();
    assert_eq!(found.into_inner().passages.len(), 1);

    // One that exists and one that does not are refused in the same words.
    let mut refusals = Vec::new();
    for name in ["payroll", "nothing"] {
        let status = running
            .client
            .retrieve(with(&reader, retrieve(name)))
            .await
            .unwrap_err();
        let collection = name.to_owned();
        let get = with(
            &reader,
            GetCollectionRequest {
                collection: collection.clone(),
            },
        );
        assert_eq!(
            running.client.get_collection(get).await.unwrap_err().message(),
            status.message()
        );
        let list = with(
            &own,
            ListDocumentsRequest {
                collection: collection.clone(),
                ..Default::default()
            },
        );
        let listed = running.client.list_documents(list).await.unwrap_err();
        assert_eq!(listed.code(), Code::PermissionDenied);
        let delete = DeleteDocumentsRequest {
            collection,
            document_ids: vec!["leave".to_owned()],
        };
        let deleted = running.client.delete_documents(with(&own, delete)).await.unwrap_err();
        assert_eq!(deleted.code(), Code::PermissionDenied);
        refusals.push((status.code(), status.message().replace(name, "…")));
    }
    assert_eq!(refusals[0], refusals[1]);
    assert_eq!(refusals[0].0, Code::PermissionDenied);
    // The default collection is one like the others.
    let status = running.client.retrieve(with(&reader, retrieve(""))).await.unwrap_err();
    assert!(status.message().contains("\"default\""), "{status:?}");
    // Among its own, what does not exist is not found, and what does is not told.
    let status = running
        .client
        .retrieve(with(&reader, retrieve("team-b")))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert!(!status.message().contains("payroll"), "{status:?}");
    running.stop().await;
}

/// An administrator is one of the key's collections, and of no others.
#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_of_some_collections_changes_and_reads_no_others() {
    let mut file = KeysFile::default();
    let writer = key(&mut file, "writer", &[Permission::Ingest], &["*"]);
    let all = [Permission::Ask, Permission::Ingest, Permission::Admin];
    let admin = key(&mut file, "admin", &all, &["handbook"]);
    let (_folder, mut running) = start(&file).await;
    let stored = ingest(&mut running, &writer, &["handbook", "payroll"]).await;
    assert_eq!(stored.unwrap(), 2);

    for name in ["payroll", "nothing"] {
        let collection = || name.to_owned();
        let client = &mut running.client;
        let delete = DeleteCollectionRequest {
            collection: collection(),
        };
        let repair = RepairCollectionRequest {
            collection: collection(),
        };
        let export = ExportCollectionRequest {
            collection: collection(),
            ..Default::default()
        };
        let copy = CopyCollectionRequest {
            collection: "handbook".to_owned(),
            to: collection(),
        };
        let read = GetDocumentRequest {
            collection: collection(),
            document_id: "leave".to_owned(),
            ..Default::default()
        };
        let import = ImportCollectionRequest {
            collection: collection(),
            embedder: "hashed-256".to_owned(),
            document: Some(EmbeddedDocument {
                id: "leave".to_owned(),
                ..Default::default()
            }),
            last: true,
        };
        let import = with(&admin, tokio_stream::iter([import]));
        let mut imported = client.import_collection(import).await.unwrap().into_inner();
        let refused = [
            client.delete_collection(with(&admin, delete)).await.unwrap_err(),
            client.repair_collection(with(&admin, repair)).await.unwrap_err(),
            client.export_collection(with(&admin, export)).await.unwrap_err(),
            client.get_document(with(&admin, read)).await.unwrap_err(),
            client.copy_collection(with(&admin, copy)).await.unwrap_err(),
            imported.message().await.unwrap_err(),
        ];
        for status in refused {
            let denied = format!("key \"admin\" may not use collection \"{name}\"");
            assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
            assert!(status.message().contains(&denied), "{status:?}");
        }
    }
    let delete = DeleteCollectionRequest {
        collection: "handbook".to_owned(),
    };
    let deleted = running.client.delete_collection(with(&admin, delete)).await.unwrap();
    assert_eq!(deleted.into_inner().documents, 1);
    running.stop().await;
}

#[test]
fn what_no_permission_is_named_for_is_an_administrators() {
    let of = |name: &str| crate::service::permission(&format!("{SERVICE_NAME}/{name}"));
    assert_eq!(of("Retrieve"), Permission::Ask);
    assert_eq!(of("Ingest"), Permission::Ingest);
    assert_eq!(of("DeleteDocuments"), Permission::Ingest);
    assert_eq!(of("DeleteCollection"), Permission::Admin);
}
