//! What `deploy/README.md` says of backups: a copy of a stopped store's folder, and an export of one that runs.

use std::fs;

use emend_proto::v1::{ImportCollectionRequest, Passage};

use super::*;

const QUESTIONS: [&str; 3] = ["When is the lantern lit?", "What does bread need?", "나무는 크다"];

async fn filled(folder: &Path) -> Running {
    let mut retriever = Running::start(folder, &[]).await;
    retriever
        .store([
            document("a.md", "# Lanterns\n\nThe lantern of the tower is lit at dusk."),
            document("b.md", "Bread needs flour."),
            document("c", "나무는 크다"),
        ])
        .await;
    // What was removed and stored again leaves traces in the files.
    retriever
        .store([document("b.md", "Bread needs flour, water, salt and yeast.")])
        .await;
    retriever
}

async fn answers(retriever: &mut Running) -> Vec<Vec<Passage>> {
    let mut all = Vec::new();
    for question in QUESTIONS {
        all.push(retriever.retrieve(query(question)).await);
    }
    all
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_stopped_stores_folder_answers_as_the_store_did() {
    let place = tempfile::tempdir().unwrap();
    let (live, backup) = (place.path().join("live"), place.path().join("backup"));
    let mut retriever = filled(&live).await;
    let before = answers(&mut retriever).await;
    retriever.stop().await;
    copy(&live, &backup);
    fs::remove_dir_all(&live).unwrap();
    copy(&backup, &live);

    let mut restored = Running::start(&live, &[]).await;
    assert_eq!(answers(&mut restored).await, before);
    restored
        .store([document("d.md", "The lantern is lit by the keeper.")])
        .await;
    assert_eq!(answers(&mut restored).await[0].len(), before[0].len() + 1);
    restored.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_of_a_running_store_answers_as_the_store_did_in_another() {
    let place = tempfile::tempdir().unwrap();
    let mut retriever = filled(&place.path().join("live")).await;
    let before = answers(&mut retriever).await;
    let mut writer = retriever.client.clone();
    let written = (0..20).map(|number| IngestRequest {
        collection: "other".to_owned(),
        document: Some(document(&number.to_string(), "written while the export is read")),
        ..IngestRequest::default()
    });
    let writing = tokio::spawn(async move { writer.ingest(tokio_stream::iter(written)).await.unwrap() });
    let parts = retriever.export("default", "").await.unwrap();
    let mut written = writing.await.unwrap().into_inner();
    while written.message().await.unwrap().is_some() {}
    retriever.stop().await;

    let mut restored = Running::start(&place.path().join("restored"), &[]).await;
    let requests = parts.into_iter().map(|part| ImportCollectionRequest {
        collection: "default".to_owned(),
        embedder: part.embedder,
        document: part.document,
        last: part.last,
    });
    let imported = restored.import(requests.collect()).await.unwrap();
    assert!(imported.iter().all(|answer| answer.status() == IngestStatus::Ingested));
    assert_eq!(answers(&mut restored).await, before);
    restored.stop().await;
}
