//! What options send to a server: each of them, and nothing where it is unset.

use emend_retriever::backend::qdrant::{Layout, QdrantSettings, QdrantStore};
use emend_retriever::backend::{Query, Search, Unit, VectorStore};
use emend_retriever::terms::Terms;
use emend_test_qdrant::{Requests, Server};
use qdrant_client::qdrant::quantization_config::Quantization;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    CreateCollection, QuantizationSearchParams, QuantizationType, SearchParams, UpdateMode, VectorParams,
    WriteOrdering, WriteOrderingType,
};

use crate::subject::{AT_ONCE, DIMENSIONS, Qdrant, dense, document, embedder, vector};

/// A stand-in, and a store on it that makes collections of this layout and cleans up at once.
async fn store_of(layout: Layout) -> (Server, QdrantStore) {
    let (server, url) = Server::start().await;
    let settings = QdrantSettings {
        url,
        layout,
        timing: AT_ONCE,
        ..Qdrant::settings()
    };
    (server, QdrantStore::new(settings).unwrap())
}

/// The collection that is made for the first document, and the parameters of its embeddings.
async fn made(layout: Layout) -> (CreateCollection, VectorParams) {
    let (server, store) = store_of(layout).await;
    let new = document("a", 1, &[("words", 1)]);
    store.put("notes", &embedder(), new).await.unwrap();
    let created = server.take_requests().created.unwrap();
    let vectors = created
        .vectors_config
        .as_ref()
        .and_then(|config| config.config.as_ref());
    let Some(Config::ParamsMap(named)) = vectors else {
        panic!("{created:?}")
    };
    let dense = named.map["dense"];
    (created, dense)
}

#[tokio::test(flavor = "multi_thread")]
#[expect(deprecated, reason = "what servers read that do not know what came in its place")]
async fn unset_options_of_a_new_collection_are_left_to_the_server() {
    let (created, dense) = made(Layout::default()).await;
    assert_eq!(created.collection_name, "notes");
    assert_eq!(dense.size, DIMENSIONS as u64);
    assert_eq!((created.shard_number, created.replication_factor), (None, None));
    assert_eq!(created.write_consistency_factor, None);
    assert_eq!((created.hnsw_config, created.quantization_config), (None, None));
    assert_eq!((created.on_disk_payload, created.optimizers_config), (None, None));
    assert_eq!((dense.on_disk, dense.memory), (None, None));
    assert_eq!((dense.hnsw_config, dense.quantization_config), (None, None));
}

#[tokio::test(flavor = "multi_thread")]
#[expect(deprecated, reason = "what servers read that do not know what came in its place")]
async fn each_option_of_a_new_collection_reaches_the_server() {
    let unset = Layout::default;
    let of = async |layout| made(layout).await;

    let (created, _) = of(Layout {
        shards: Some(3),
        ..unset()
    })
    .await;
    assert_eq!((created.shard_number, created.replication_factor), (Some(3), None));

    // All replicas take a write unless fewer are to.
    let replicas = Layout {
        replicas: Some(4),
        ..unset()
    };
    let (created, _) = of(replicas.clone()).await;
    assert_eq!((created.shard_number, created.replication_factor), (None, Some(4)));
    assert_eq!(created.write_consistency_factor, Some(4));
    let fewer = Layout {
        write_consistency: Some(2),
        ..replicas
    };
    let (created, _) = of(fewer).await;
    assert_eq!(created.replication_factor, Some(4));
    assert_eq!(created.write_consistency_factor, Some(2));

    let (created, dense) = of(Layout {
        on_disk: true,
        ..unset()
    })
    .await;
    assert_eq!((dense.on_disk, created.quantization_config), (Some(true), None));

    let (created, dense) = of(Layout {
        scalar_quantization: true,
        ..unset()
    })
    .await;
    let Some(Quantization::Scalar(bytes)) = created.quantization_config.and_then(|config| config.quantization) else {
        panic!("no scalar quantization")
    };
    assert_eq!((bytes.r#type(), bytes.always_ram), (QuantizationType::Int8, Some(true)));
    assert_eq!((created.hnsw_config, dense.on_disk), (None, None));

    let (created, _) = of(Layout { m: Some(32), ..unset() }).await;
    let graph = created.hnsw_config.unwrap();
    assert_eq!((graph.m, graph.ef_construct), (Some(32), None));
    let (created, _) = of(Layout {
        ef_construct: Some(200),
        ..unset()
    })
    .await;
    let graph = created.hnsw_config.unwrap();
    assert_eq!((graph.m, graph.ef_construct), (None, Some(200)));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_option_of_a_search_reaches_the_server() {
    let (server, store) = store_of(Layout::default()).await;
    let new = document("a", 1, &[("words", 1)]);
    store.put("notes", &embedder(), new).await.unwrap();
    for (ef, exact) in [(None, false), (Some(77), false), (None, true), (Some(77), true)] {
        let search = Search {
            ef,
            exact,
            ..dense(1, 1, Unit::Chunk)
        };
        assert_eq!(store.search("notes", search).await.unwrap().len(), 1);
        let queried = server.take_requests().queried.unwrap();
        assert_eq!(queried.using.as_deref(), Some("dense"));
        // Scores are cosines of what was stored, also where bytes are compared first.
        let expected = SearchParams {
            hnsw_ef: ef.map(|ef| ef as u64),
            exact: exact.then_some(true),
            quantization: Some(QuantizationSearchParams {
                ignore: None,
                rescore: Some(true),
                oversampling: None,
            }),
            ..SearchParams::default()
        };
        assert_eq!(queried.params, Some(expected));
    }
    let words = Search {
        query: Query::Sparse(Terms::of_query("words")),
        ..dense(1, 1, Unit::Chunk)
    };
    assert_eq!(store.search("notes", words).await.unwrap().len(), 1);
    let queried = server.take_requests().queried.unwrap();
    assert_eq!((queried.using.as_deref(), queried.params), (Some("terms"), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_records_and_removals_go_through_one_replica_in_order() {
    let (server, store) = store_of(Layout::default()).await;
    let strong = Some(i32::from(WriteOrderingType::Strong));
    let kind = |ordering: &Option<WriteOrdering>| ordering.map(|ordering| ordering.r#type);
    for (seed, announced) in [(1, UpdateMode::InsertOnly), (2, UpdateMode::UpdateOnly)] {
        let new = document("a", seed, &[("words", 1)]);
        store.put("notes", &embedder(), new).await.unwrap();
        let Requests { upserted, deleted, .. } = server.take_requests();
        let (conditional, plain): (Vec<_>, Vec<_>) = upserted.iter().partition(|upsert| upsert.update_mode.is_some());
        let modes: Vec<_> = conditional.iter().map(|upsert| upsert.update_mode()).collect();
        assert_eq!(modes[..2], [announced, UpdateMode::UpdateOnly], "announced, published");
        for upsert in conditional {
            assert_eq!(kind(&upsert.ordering), strong, "{upsert:?}");
            let is_update = upsert.update_mode() == UpdateMode::UpdateOnly;
            assert_eq!(upsert.update_filter.is_some(), is_update, "{upsert:?}");
        }
        // Passages and sections are nobody's but their writer's.
        assert_eq!(plain.len(), 1);
        assert_eq!((kind(&plain[0].ordering), &plain[0].update_filter), (None, &None));
        // There is something to remove once the document was replaced.
        assert_eq!(deleted.is_some(), seed == 2);
        assert!(deleted.iter().all(|deleted| kind(&deleted.ordering) == strong));
    }
    store.delete("notes", vec!["a".to_owned()]).await.unwrap();
    let Requests { upserted, deleted, .. } = server.take_requests();
    assert!(!upserted.is_empty());
    for upsert in upserted {
        assert_eq!(
            (upsert.update_mode(), kind(&upsert.ordering)),
            (UpdateMode::UpdateOnly, strong)
        );
    }
    assert_eq!(kind(&deleted.unwrap().ordering), strong);
}

#[tokio::test(flavor = "multi_thread")]
async fn scores_are_cosines_where_bytes_are_compared_first() {
    let layout = Layout {
        scalar_quantization: true,
        ..Layout::default()
    };
    let (server, store) = store_of(layout).await;
    let sections: Vec<String> = (0..400).map(|number| format!("section {number}")).collect();
    let sections: Vec<(&str, u32)> = sections.iter().map(|section| (section.as_str(), 1)).collect();
    let new = document("a", 1, &sections);
    store.put("notes", &embedder(), new.clone()).await.unwrap();
    server.optimize("notes");
    for seed in 1000..1020 {
        let query = vector(seed);
        let hits = store.search("notes", dense(seed, 10, Unit::Chunk)).await.unwrap();
        assert_eq!(hits.len(), 10);
        for hit in hits {
            let stored = new.chunks[hit.index as usize].embedding.as_ref().unwrap();
            let cosine: f32 = stored.iter().zip(&*query).map(|(a, b)| a * b).sum();
            assert!((hit.score - f64::from(cosine)).abs() < 1e-5, "{} {cosine}", hit.score);
        }
    }
}
