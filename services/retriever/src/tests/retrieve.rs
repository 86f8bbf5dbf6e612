use emend_proto::v1::{
    FieldCondition, FieldRange, GetCollectionRequest, ListCollectionsRequest, Origin, Passage, SearchMode,
    field_condition,
};

use super::*;

/// A guide whose first section has several chunks about the same thing.
const GUIDE: &str = "# Harbour guide\n\nWelcome to the harbour of Ness, open all year to visiting boats and their crews.\n\n\
    ## Ferry times\n\nThe ferry leaves the north pier at seven in the morning. The ferry returns from the island at noon. \
    The last ferry leaves the island at nine in the evening. On Sundays the ferry leaves one hour later.\n\n\
    ## Fuel\n\nDiesel is sold at the fuel dock from eight to four. Pay at the harbour office before you fill the tank.";

fn ids(passages: &[Passage]) -> Vec<&str> {
    passages.iter().map(|passage| passage.id.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_finds_the_section_that_answers_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &["--chunk-tokens", "16", "--parent-tokens", "64"]).await;
    let mut guide = document("guide.md", GUIDE);
    guide.source = "docs/guide.md".into();
    guide.metadata = [("language".to_owned(), "en".to_owned())].into();
    retriever
        .store([
            guide,
            document("bread.txt", "Bread needs flour, water, salt and yeast."),
        ])
        .await;

    let passages = retriever.retrieve(query("When does the ferry leave the island?")).await;
    let first = passages.first().unwrap();
    assert_eq!(first.document_id, "guide.md");
    assert_eq!(first.title, "Harbour guide");
    assert_eq!(first.source, "docs/guide.md");
    assert_eq!(first.origin(), Origin::Local);
    assert_eq!(first.metadata["language"], "en");
    assert!(
        first.text.starts_with("## Ferry times") && first.text.ends_with("one hour later."),
        "{}",
        first.text
    );
    let span = first.span.unwrap();
    let text: String = GUIDE
        .chars()
        .skip(span.start as usize)
        .take((span.end - span.start) as usize)
        .collect();
    assert_eq!(text, first.text);
    assert!(passages.is_sorted_by(|left, right| left.score >= right.score));
    // The same text at the same place has the same id, each time.
    assert_eq!(
        ids(&passages),
        ids(&retriever.retrieve(query("When does the ferry leave the island?")).await)
    );
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r10_children_of_one_parent_are_one_passage_and_others_fill_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &["--chunk-tokens", "16", "--parent-tokens", "400"]).await;
    let ferry: String = (0..20)
        .map(|day| format!("The ferry leaves the pier on day {day} and the ferry comes back to the pier at noon. "))
        .collect();
    retriever.store([document("ferry.txt", &ferry)]).await;
    retriever
        .store((0..6).map(|n| document(&format!("other-{n}.txt"), &format!("Note {n} about gardens and bread."))))
        .await;

    let chunks = RetrieveRequest {
        parents: Some(false),
        top_k: Some(5),
        mode: SearchMode::Dense.into(),
        ..query("ferry pier")
    };
    let chunks = retriever.retrieve(chunks).await;
    assert!(
        chunks.iter().all(|chunk| chunk.document_id == "ferry.txt"),
        "{:?}",
        ids(&chunks)
    );
    assert_eq!(chunks.len(), 5);
    for chunk in &chunks {
        let span = chunk.span.unwrap();
        let text: String = ferry
            .chars()
            .skip(span.start as usize)
            .take((span.end - span.start) as usize)
            .collect();
        assert_eq!(text, chunk.text);
    }

    let passages = retriever
        .retrieve(RetrieveRequest {
            top_k: Some(5),
            mode: SearchMode::Dense.into(),
            ..query("ferry pier")
        })
        .await;
    assert_eq!(passages.len(), 5);
    assert_eq!(passages[0].id, "ferry.txt#p0");
    assert!(
        (passages[0].score - chunks[0].score).abs() < 1e-6,
        "the best child's score"
    );
    let documents: std::collections::BTreeSet<_> = passages.iter().map(|passage| &passage.document_id).collect();
    assert_eq!(documents.len(), 5, "each parent once: {:?}", ids(&passages));
    // More than there are is not more than there are.
    assert_eq!(
        retriever
            .retrieve(RetrieveRequest {
                top_k: Some(100),
                ..query("ferry")
            })
            .await
            .len(),
        7
    );
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_scores_come_in_the_order_of_ids() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    // The same words in another order each: for this embedder and for BM25 they are alike.
    let texts = [
        ("m", "exactly the same words"),
        ("c", "the same words exactly"),
        ("z", "same words exactly the"),
        ("a", "words exactly the same"),
        ("k", "the exactly same words"),
        ("e", "exactly same the words"),
        ("x", "same the exactly words"),
        ("b", "words the same exactly"),
    ];
    retriever.store(texts.map(|(id, text)| document(id, text))).await;
    for _ in 0..3 {
        let passages = retriever
            .retrieve(RetrieveRequest {
                top_k: Some(4),
                ..query("same words")
            })
            .await;
        assert_eq!(ids(&passages), ["a#p0", "b#p0", "c#p0", "e#p0"]);
    }
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_takes_only_documents_with_all_its_values() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let tagged = |id: &str, fields: &[(&str, &str)]| Document {
        metadata: fields
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect(),
        ..document(id, &format!("the boats in harbour {id}"))
    };
    retriever
        .store([
            tagged("a", &[("lang", "en"), ("year", "2024")]),
            tagged("b", &[("lang", "en"), ("year", "2025")]),
            tagged("c", &[("lang", "ko"), ("odd.key[0]\"", "=x")]),
            tagged("d", &[("lang=e", "n")]),
        ])
        .await;
    let mut found = async |fields: &[(&str, &str)]| {
        let filter = fields
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect();
        let passages = retriever
            .retrieve(RetrieveRequest {
                filter,
                ..query("boats")
            })
            .await;
        passages
            .into_iter()
            .map(|passage| passage.document_id)
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&[("lang", "en")]).await, ["a", "b"]);
    assert_eq!(found(&[("lang", "en"), ("year", "2025")]).await, ["b"]);
    assert_eq!(found(&[("odd.key[0]\"", "=x")]).await, ["c"]);
    assert!(found(&[("lang", "ko"), ("year", "2025")]).await.is_empty());
    assert_eq!(found(&[]).await.len(), 4);
    let range = FieldRange {
        gte: Some("2025".to_owned()),
        ..FieldRange::default()
    };
    let after = RetrieveRequest {
        filter: [("lang".to_owned(), "en".to_owned())].into(),
        conditions: vec![FieldCondition {
            field: "year".to_owned(),
            condition: Some(field_condition::Condition::Range(range)),
        }],
        ..query("boats")
    };
    let passages = retriever.retrieve(after).await;
    assert_eq!((passages.len(), passages[0].document_id.as_str()), (1, "b"));
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn collections_are_listed_and_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let mut requests = Vec::new();
    for (collection, id) in [("zoo", "a"), ("", "b"), ("arts", "a")] {
        requests.push(IngestRequest {
            collection: collection.into(),
            document: Some(document(id, &format!("some words in {id}"))),
            ..IngestRequest::default()
        });
    }
    let mut answers = retriever
        .client
        .ingest(tokio_stream::iter(requests))
        .await
        .unwrap()
        .into_inner();
    while answers.message().await.unwrap().is_some() {}
    retriever.stop().await;

    let mut retriever = Running::start(folder.path(), &[]).await;
    let listed = retriever
        .client
        .list_collections(ListCollectionsRequest {})
        .await
        .unwrap()
        .into_inner()
        .collections;
    let counts: Vec<_> = listed
        .iter()
        .map(|c| (c.name.as_str(), c.documents, c.passages))
        .collect();
    // An empty name is that of the message before.
    assert_eq!(counts, [("arts", 1, 1), ("zoo", 2, 2)]);
    let zoo = GetCollectionRequest {
        collection: "zoo".into(),
    };
    let zoo = retriever
        .client
        .get_collection(zoo)
        .await
        .unwrap()
        .into_inner()
        .collection
        .unwrap();
    assert_eq!((zoo.embedder.as_str(), zoo.dimensions), ("hashed-256", 256));
    let passages = retriever
        .retrieve(RetrieveRequest {
            collection: "zoo".into(),
            ..query("words")
        })
        .await;
    assert_eq!(ids(&passages), ["a#p0", "b#p0"]);
    retriever.stop().await;
}

/// Documents that say nearly the same.
fn keys(count: u32) -> impl Iterator<Item = Document> {
    (1..=count).map(|n| {
        document(
            &format!("key{n}"),
            &format!("Key {n}: Ada keeps the red key of the mill."),
        )
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_asks_for_two_things_finds_passages_for_both_by_turns() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let office = [document("office", "The office of Ness opens at nine in the morning.")];
    retriever.store(keys(4).chain(office)).await;
    for mode in [SearchMode::Hybrid, SearchMode::Dense, SearchMode::Sparse] {
        let found = retriever
            .retrieve(RetrieveRequest {
                mode: mode.into(),
                top_k: Some(3),
                ..query("Who keeps the red key of the mill, and when does the office of Ness open?")
            })
            .await;
        let documents: Vec<&str> = found.iter().map(|passage| passage.document_id.as_str()).collect();
        assert_eq!(documents.len(), 3, "{mode:?}");
        assert_eq!(documents[1], "office", "{mode:?}: {documents:?}");
        let different: std::collections::HashSet<&&str> = documents.iter().collect();
        assert_eq!(different.len(), 3, "{mode:?}: each once");
    }
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hybrid_search_keeps_a_place_for_another_language() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let korean = [document("korean", "방앗간의 빨간 열쇠는 관리인이 가지고 있다.")];
    retriever.store(keys(6).chain(korean)).await;
    for (mode, kept) in [(SearchMode::Hybrid, true), (SearchMode::Dense, false)] {
        let asked = RetrieveRequest {
            mode: mode.into(),
            ..query("Who keeps the red key of the mill?")
        };
        let found = retriever.retrieve(asked).await;
        assert_eq!(found.len(), 4, "{mode:?}");
        let is_found = found.iter().any(|passage| passage.document_id == "korean");
        assert_eq!(is_found, kept, "{mode:?}: {:?}", ids(&found));
    }
    retriever.stop().await;
}
