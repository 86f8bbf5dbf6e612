//! Random sequences of operations, compared with a model in memory.

use std::collections::{BTreeMap, HashSet};

use emend_retriever::backend::{
    Condition, ListedDocument, NewDocument, Query, Search, StoreError, StoredDocument, Unit, VectorStore,
};
use emend_retriever::terms::Terms;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio::runtime::Handle;

use crate::filters::{condition, holds, metadata};
use crate::subject::{Subject, document, embedder, vector, word};

/// Sequences for each store, and operations of one.
const CASES: u32 = 16;
const OPERATIONS: usize = 24;

#[derive(Clone, Debug)]
enum Operation {
    /// Stores a document: its number, a seed, chunks of its sections, a value to filter by.
    Put(u8, u64, Vec<u32>, u8),
    Delete(Vec<u8>),
    Search(u64, usize, bool, Vec<Condition>),
    Words(u8),
    Describe,
    List(u8, usize),
    Read(u8),
    Repair,
    DeleteCollection,
}

fn operation() -> impl Strategy<Value = Operation> {
    let id = 0_u8..6;
    prop_oneof![
        6 => (id.clone(), 0_u64..1000, prop::collection::vec(1_u32..4, 1..4), 0_u8..3)
            .prop_map(|(id, seed, sections, value)| Operation::Put(id, seed, sections, value)),
        2 => prop::collection::vec(id.clone(), 1..4).prop_map(Operation::Delete),
        6 => (0_u64..1000, 1_usize..12, any::<bool>(), prop::collection::vec(condition(), 0..3))
            .prop_map(|(seed, limit, sections, filter)| Operation::Search(seed, limit, sections, filter)),
        2 => id.clone().prop_map(Operation::Words),
        2 => Just(Operation::Describe),
        1 => (id.clone(), 1_usize..5).prop_map(|(after, limit)| Operation::List(after, limit)),
        1 => id.prop_map(Operation::Read),
        1 => Just(Operation::Repair),
        1 => Just(Operation::DeleteCollection),
    ]
}

fn id(number: u8) -> String {
    format!("doc/{number}")
}

/// The documents of the collection; none where there is none.
type Model = Option<BTreeMap<String, NewDocument>>;

pub(crate) async fn random_operations_agree_with_a_model(subject: &Subject) {
    let handle = Handle::current();
    tokio::task::block_in_place(|| {
        let mut runner = TestRunner::new(Config {
            cases: CASES,
            failure_persistence: None,
            ..Config::default()
        });
        let operations = prop::collection::vec(operation(), 1..OPERATIONS);
        let run = runner.run(&operations, |operations| {
            handle.block_on(check(&*subject.store, operations));
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{error}"));
    });
}

async fn check(store: &dyn VectorStore, operations: Vec<Operation>) {
    let name = format!("c{}", uuid::Uuid::new_v4().simple());
    let mut model: Model = None;
    for operation in operations {
        apply(store, &name, &mut model, operation).await;
    }
    match store.delete_collection(&name).await {
        Ok(documents) => assert_eq!(documents, model.unwrap().len() as u64),
        Err(error) => assert!(
            matches!(error, StoreError::UnknownCollection { .. }) && model.is_none(),
            "{error}"
        ),
    }
}

/// The outcome, or `None` where the collection is unknown.
fn known<T>(outcome: Result<T, StoreError>) -> Option<T> {
    match outcome {
        Err(StoreError::UnknownCollection { .. }) => None,
        outcome => Some(outcome.unwrap()),
    }
}

async fn apply(store: &dyn VectorStore, name: &str, model: &mut Model, operation: Operation) {
    match operation {
        Operation::Put(number, seed, sections, value) => {
            let texts: Vec<String> = (0..sections.len())
                .map(|part| format!("{} of seed {seed} part {part}", word(number.into())))
                .collect();
            let sections: Vec<(&str, u32)> = texts.iter().map(String::as_str).zip(sections).collect();
            let mut new = document(&id(number), seed, &sections);
            new.metadata = metadata(seed, value);
            store.put(name, &embedder(), new.clone()).await.unwrap();
            model.get_or_insert_default().insert(new.id.clone(), new);
        }
        Operation::Delete(numbers) => {
            let ids: Vec<String> = numbers.into_iter().map(id).collect();
            let unique: HashSet<&String> = ids.iter().collect();
            let unique: Vec<String> = unique.into_iter().cloned().collect();
            let deleted = known(store.delete(name, unique.clone()).await);
            let expected = model.as_mut().map(|documents| {
                let gone = unique.iter().filter(|id| documents.remove(*id).is_some());
                gone.count() as u32
            });
            assert_eq!(deleted, expected);
        }
        Operation::Search(seed, limit, sections, filter) => {
            let search = Search {
                query: Query::Dense(vector(seed)),
                limit,
                unit: if sections { Unit::Section } else { Unit::Chunk },
                filter,
                language: None,
                ef: None,
                exact: true,
            };
            let hits = known(store.search(name, search.clone()).await);
            let expected = model.as_ref().map(|documents| nearest(documents, &search));
            match (&hits, &expected) {
                (None, None) => {}
                (Some(hits), Some(expected)) => {
                    let found: Vec<_> = hits
                        .iter()
                        .map(|hit| (hit.document.clone(), hit.index, hit.text.clone()))
                        .collect();
                    let wanted: Vec<_> = expected.iter().map(|(place, _)| place.clone()).collect();
                    assert_eq!(found, wanted);
                    for (hit, (_, score)) in hits.iter().zip(expected) {
                        assert!((hit.score - score).abs() < 1e-5, "{} {score}", hit.score);
                        assert_eq!(hit.metadata, documents_of(model)[&hit.document].metadata);
                    }
                }
                _ => panic!("{hits:?} {expected:?}"),
            }
        }
        Operation::Words(number) => {
            let search = Search {
                query: Query::Sparse(Terms::of_query(&word(number.into()))),
                limit: 10,
                unit: Unit::Section,
                filter: Vec::new(),
                language: None,
                ef: None,
                exact: false,
            };
            let hits = known(store.search(name, search).await);
            let expected = model
                .as_ref()
                .map(|documents| documents.get(&id(number)).map_or(0, |document| document.sections.len()));
            assert_eq!(hits.as_ref().map(Vec::len), expected);
            assert!(hits.iter().flatten().all(|hit| hit.document == id(number)));
        }
        Operation::Describe => {
            let info = known(store.collection(name).await).map(|info| (info.documents, info.passages));
            let expected = model.as_ref().map(|documents| {
                let chunks: usize = documents.values().map(|document| document.chunks.len()).sum();
                (documents.len() as u64, chunks as u64)
            });
            assert_eq!(info, expected);
            for number in 0..6 {
                let stored = store.stored(name, &id(number)).await.unwrap();
                let expected = model.as_ref().and_then(|documents| documents.get(&id(number)));
                let expected = expected.map(|document| StoredDocument {
                    fingerprint: document.fingerprint,
                    passages: document.chunks.len() as u32,
                });
                assert_eq!(stored, expected);
            }
        }
        Operation::List(after, limit) => {
            let listed = known(store.documents(name, &id(after), limit).await);
            let expected = model.as_ref().map(|documents| {
                let after = documents.values().filter(|document| document.id > id(after));
                let listed = after.take(limit).map(|document| ListedDocument {
                    id: document.id.clone(),
                    title: document.title.clone(),
                    source: document.source.clone(),
                    owner: document.owner.clone(),
                    passages: document.chunks.len() as u32,
                });
                listed.collect::<Vec<_>>()
            });
            assert_eq!(listed, expected);
        }
        Operation::Read(number) => {
            let read = known(store.read(name, &id(number)).await);
            let expected = model.as_ref().map(|documents| documents.get(&id(number)));
            let summary =
                |document: &NewDocument| (document.fingerprint, document.sections.clone(), document.chunks.len());
            assert_eq!(
                read.map(|read| read.as_ref().map(summary)),
                expected.map(|expected| expected.map(summary))
            );
        }
        Operation::Repair => {
            let repaired = known(store.repair(name).await);
            assert_eq!(repaired.is_some(), model.is_some());
            assert_eq!(repaired.unwrap_or_default().incomplete, [""; 0]);
        }
        Operation::DeleteCollection => {
            let deleted = known(store.delete_collection(name).await);
            assert_eq!(deleted, model.take().map(|documents| documents.len() as u64));
        }
    }
}

fn documents_of(model: &Model) -> &BTreeMap<String, NewDocument> {
    model.as_ref().unwrap()
}

/// Document, index and text of a hit.
type Place = (String, u32, String);

/// The best units by cosine, each text once.
fn nearest(documents: &BTreeMap<String, NewDocument>, search: &Search) -> Vec<(Place, f64)> {
    let Query::Dense(query) = &search.query else {
        panic!("only dense searches are modelled")
    };
    let mut best: BTreeMap<(String, u32), (f64, String)> = BTreeMap::new();
    let matching = documents.values().filter(|document| {
        let mut wanted = search.filter.iter();
        wanted.all(|condition| holds(condition, &document.metadata))
    });
    for document in matching {
        for (index, chunk) in (0..).zip(&document.chunks) {
            let embedding = chunk.embedding.as_ref().unwrap();
            let score: f32 = embedding.iter().zip(&**query).map(|(a, b)| a * b).sum();
            let section = &document.sections[chunk.section as usize];
            let (index, text) = match search.unit {
                Unit::Section => (chunk.section, section.text.clone()),
                Unit::Chunk => {
                    let (skip, take) = (chunk.start - section.start, chunk.end - chunk.start);
                    let text = section.text.chars().skip(skip as usize).take(take as usize);
                    (index, text.collect())
                }
            };
            let known = best
                .entry((document.id.clone(), index))
                .or_insert((f64::from(score), text));
            known.0 = known.0.max(f64::from(score));
        }
    }
    let mut ranked: Vec<_> = best.into_iter().collect();
    ranked.sort_by(|(_, (left, _)), (_, (right, _))| right.total_cmp(left));
    // The store looks at twice as many units as are asked for.
    ranked.truncate(search.limit * 2);
    let mut seen = HashSet::new();
    let distinct = ranked
        .into_iter()
        .filter(|(_, (_, text))| seen.insert(text.clone()))
        .map(|((document, index), (score, text))| ((document, index, text), score));
    distinct.take(search.limit).collect()
}
