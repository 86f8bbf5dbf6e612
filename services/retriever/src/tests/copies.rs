use std::collections::BTreeMap;

use emend_proto::v1::{
    Collection, CopyCollectionRequest, CopyCollectionResponse, EmbeddedDocument, EmbeddedPassage, EmbeddedSection,
    GetCollectionRequest, ImportCollectionRequest, ListCollectionsRequest, SearchMode,
};
use tonic::{Code, Status, Streaming};

use super::*;
use crate::backend::{EmbedderInfo, NewDocument};

impl Running {
    async fn copying(&mut self, from: &str, to: &str) -> Result<Streaming<CopyCollectionResponse>, Status> {
        let request = CopyCollectionRequest {
            collection: from.to_owned(),
            to: to.to_owned(),
        };
        Ok(self.client.copy_collection(request).await?.into_inner())
    }

    async fn copy(&mut self, from: &str, to: &str) -> Result<Vec<CopyCollectionResponse>, Status> {
        let mut answers = self.copying(from, to).await?;
        let mut progress = Vec::new();
        while let Some(answer) = answers.message().await? {
            progress.push(answer);
        }
        Ok(progress)
    }

    /// Documents of another embedder, with two passages each.
    async fn import_foreign(&mut self, collection: &str, words: &[&str]) {
        let requests: Vec<_> = words
            .iter()
            .map(|word| {
                let text = format!("The {word} is here. {}", "It is a long tale of many words. ".repeat(40));
                let end = u32::try_from(text.len()).unwrap();
                let passage = |start, end| EmbeddedPassage {
                    start,
                    end,
                    embedding: vec![0.6, 0.8],
                    ..EmbeddedPassage::default()
                };
                let document = EmbeddedDocument {
                    id: (*word).to_owned(),
                    title: format!("About the {word}"),
                    fingerprint: vec![7; 32],
                    passages: vec![passage(0, 20), passage(20, end)],
                    sections: vec![EmbeddedSection {
                        start: 0,
                        text,
                        headings: (*word == "lantern")
                            .then(|| "Brass fittings".to_owned())
                            .into_iter()
                            .collect(),
                    }],
                    ..EmbeddedDocument::default()
                };
                ImportCollectionRequest {
                    collection: collection.to_owned(),
                    embedder: "fixed".to_owned(),
                    document: Some(document),
                    last: true,
                }
            })
            .collect();
        let answers = self
            .client
            .import_collection(tokio_stream::iter(requests))
            .await
            .unwrap();
        let mut answers = answers.into_inner();
        while let Some(answer) = answers.message().await.unwrap() {
            assert_eq!(answer.status(), IngestStatus::Ingested, "{}", answer.error);
        }
    }

    async fn remove(&mut self, collection: &str, document: &str) {
        let request = DeleteDocumentsRequest {
            collection: collection.to_owned(),
            document_ids: vec![document.to_owned()],
        };
        self.client.delete_documents(request).await.unwrap();
    }

    async fn described(&mut self, collection: &str) -> Collection {
        let request = GetCollectionRequest {
            collection: collection.to_owned(),
        };
        let described = self.client.get_collection(request).await.unwrap().into_inner();
        described.collection.unwrap()
    }

    async fn names(&mut self) -> Vec<String> {
        let listed = self.client.list_collections(ListCollectionsRequest {}).await.unwrap();
        let collections = listed.into_inner().collections.into_iter();
        collections.map(|collection| collection.name).collect()
    }
}

fn lantern(collection: &str) -> RetrieveRequest {
    RetrieveRequest {
        collection: collection.to_owned(),
        top_k: Some(1),
        parents: Some(false),
        ..query("lantern")
    }
}

/// Leaves a copy that was begun, which another one does not go on with.
async fn begun_with_another_embedder(store: Arc<dyn VectorStore>, name: &str) {
    let draft = store.draft(name).await.unwrap();
    let embedder = EmbedderInfo {
        id: "third".to_owned(),
        dimensions: 1,
    };
    let document = NewDocument {
        id: "anchor".to_owned(),
        fingerprint: [7; 32],
        title: String::new(),
        source: String::new(),
        owner: String::new(),
        metadata: BTreeMap::new(),
        sections: Vec::new(),
        chunks: Vec::new(),
    };
    store.put(&draft, &embedder, document).await.unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_goes_on_where_it_broke_off_and_takes_its_place_when_it_is_whole() {
    goes_on_where_it_broke_off(&Place::edge()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_on_qdrant_goes_on_where_it_broke_off_and_takes_its_place_when_it_is_whole() {
    let place = Place::qdrant().await;
    goes_on_where_it_broke_off(&place).await;
    let Place::Qdrant(server, _) = place else { return };
    // A collection, a copy and its alias: nothing of what broke off or was replaced.
    let names = server.names();
    assert_eq!(names.len(), 3, "{names:?}");
}

async fn goes_on_where_it_broke_off(place: &Place) {
    begun_with_another_embedder(place.store().await, "new").await;
    let mut retriever = place.start(&["--chunk-tokens", "64"]).await;
    retriever.import_foreign("old", &["anchor", "buoy", "lantern"]).await;
    let error = retriever.client.retrieve(lantern("old")).await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error:?}");

    // Broken off after its first document: nobody sees it.
    let mut answers = retriever.copying("old", "new").await.unwrap();
    let begun = answers.message().await.unwrap().unwrap();
    assert_eq!((begun.documents, begun.total, begun.published), (0, 3, false));
    answers.message().await.unwrap().unwrap();
    let second = retriever.copying("old", "other").await;
    assert_eq!(second.err().map(|status| status.code()), Some(Code::ResourceExhausted));
    drop(answers);
    assert_eq!(retriever.names().await, ["old"]);
    // What was copied and is gone since is in no copy.
    retriever.remove("old", "anchor").await;

    let progress = loop {
        match retriever.copy("old", "new").await {
            // The retriever learns a little later that the first caller is gone.
            Err(status) if status.code() == Code::ResourceExhausted => tokio::task::yield_now().await,
            copied => break copied.unwrap(),
        }
    };
    let seen: Vec<_> = progress
        .iter()
        .map(|now| (now.documents, now.total, now.published))
        .collect();
    assert_eq!(seen, [(0, 2, false), (1, 2, false), (2, 2, false), (2, 2, true)]);
    assert_eq!(retriever.names().await, ["new", "old"]);
    let found = retriever.retrieve(lantern("new")).await;
    assert_eq!(found[0].document_id, "lantern");
    assert_eq!(found[0].headings, ["Brass fittings"]);
    // Passages are embedded with the headings above them.
    let by_heading = RetrieveRequest {
        query: "brass fittings".to_owned(),
        mode: SearchMode::Dense.into(),
        ..lantern("new")
    };
    let best = &retriever.retrieve(by_heading).await[0];
    assert!(best.document_id == "lantern" && best.score > 0.2, "{best:?}");
    // The second passage was too long for this embedder.
    let made = retriever.described("new").await;
    assert!(
        made.documents == 2 && made.passages > 4 && made.embedder == "hashed-256",
        "{made:?}"
    );

    // Onto itself, where the store can do that, and again.
    match place {
        Place::Edge(_) => {
            retriever.copy("old", "old").await.unwrap();
            assert_eq!(retriever.retrieve(lantern("old")).await, found);
        }
        Place::Qdrant(..) => {
            let occupied = retriever.copy("old", "old").await.unwrap_err();
            assert!(
                occupied.code() == Code::FailedPrecondition && occupied.message().contains("was not made by a copy"),
                "{occupied:?}"
            );
            retriever.copy("new", "new").await.unwrap();
            assert_eq!(retriever.retrieve(lantern("new")).await, found);
        }
    }
    retriever.remove("old", "buoy").await;
    retriever.copy("old", "new").await.unwrap();
    assert_eq!(retriever.described("new").await.documents, 1);
    assert_eq!(retriever.names().await, ["new", "old"]);
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_copied_is_refused() {
    for place in [Place::edge(), Place::qdrant().await] {
        refuses_what_cannot_be_copied(&place).await;
    }
}

async fn refuses_what_cannot_be_copied(place: &Place) {
    let mut retriever = place.start(&[]).await;
    retriever.store([document("a", "The lantern is lit at dusk.")]).await;
    let nothing = retriever.copy("nothing", "new").await.unwrap_err();
    assert!(
        nothing.code() == Code::NotFound && nothing.message().contains("known are default"),
        "{nothing:?}"
    );
    for name in ["", ".copy-default", "a/b"] {
        let refused = retriever.copy("default", name).await.unwrap_err();
        assert!(
            refused.code() == Code::InvalidArgument && refused.message().contains("to:"),
            "{refused:?}"
        );
    }
    let gone = DeleteDocumentsRequest {
        document_ids: vec!["a".to_owned(), "a".to_owned()],
        ..DeleteDocumentsRequest::default()
    };
    let deleted = retriever.client.delete_documents(gone).await.unwrap().into_inner();
    assert_eq!(deleted.deleted, 1);
    let empty = retriever.copy("default", "new").await.unwrap_err();
    assert!(
        empty.code() == Code::FailedPrecondition && empty.message().contains("nothing to copy"),
        "{empty:?}"
    );
    retriever.stop().await;
}
