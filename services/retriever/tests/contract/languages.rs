//! Places that a hybrid search keeps for other languages than the query's.

use emend_retriever::backend::{Query, Search, Unit};
use emend_retriever::terms::Terms;
use emend_text::Language;

use crate::subject::{Subject, dense, document, embedder, vector, word};

pub(crate) async fn a_hybrid_search_keeps_a_place_for_another_language(subject: &Subject) {
    let store = &subject.store;
    for number in 0..6 {
        let text = format!("the keeper of the lantern number {}", word(number));
        let new = document(&format!("en{number}"), 1, &[(&text, 1)]);
        store.put("notes", &embedder(), new).await.unwrap();
    }
    let korean = document("ko", 3, &[("등대지기는 등불을 지킨다", 1)]);
    store.put("notes", &embedder(), korean).await.unwrap();
    for unit in [Unit::Chunk, Unit::Section] {
        let hybrid = Search {
            query: Query::Hybrid(vector(1), Terms::of_query("lantern keeper")),
            ..dense(1, 4, unit)
        };
        let found = async |language| {
            let hits = store
                .search(
                    "notes",
                    Search {
                        language,
                        ..hybrid.clone()
                    },
                )
                .await
                .unwrap();
            hits.iter()
                .map(|hit| (hit.document.clone(), hit.language))
                .collect::<Vec<_>>()
        };
        let english = |number: u32| (format!("en{number}"), Language::En);
        let in_english = [english(0), english(1), english(2), english(3)];
        let with_korean = [english(0), english(1), english(2), ("ko".to_owned(), Language::Ko)];
        assert_eq!(found(None).await, in_english);
        assert_eq!(found(Some(Language::En)).await, with_korean);
        // To a question in Korean the English ones are the others.
        assert_eq!(found(Some(Language::Ko)).await, in_english);
        let few = Search {
            limit: 3,
            language: Some(Language::En),
            ..hybrid.clone()
        };
        let few = store.search("notes", few).await.unwrap();
        assert!(few.iter().all(|hit| hit.language == Language::En), "{few:?}");
    }
}
