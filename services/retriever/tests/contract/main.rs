//! One contract for both stores: what `VectorStore` promises, kept by the store on the local disk and by the one on a Qdrant
//! server.
//!
//! The server is a stand-in made of Qdrant's own protocol and engine ([`emend_test_qdrant`]). With `EMEND_TEST_QDRANT_URL` (and
//! `EMEND_TEST_QDRANT_API_KEY`) it is the one at that address, but for what only the stand-in tells; collections are named
//! by chance and removed at the end of the test that made them, unless it fails.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod access;
mod backup;
mod copies;
mod errors;
mod faults;
mod filters;
mod languages;
mod model;
mod promises;
mod proxy;
mod retries;
mod settings;
mod subject;
mod words;
mod writers;

/// Every promise, kept by each store.
macro_rules! contract {
    ($($module:ident::$promise:ident,)*) => {
        mod edge {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                let subject = crate::subject::Subject::edge();
                crate::$module::$promise(&subject).await;
                subject.end().await;
            })*
        }

        mod qdrant {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                let subject = crate::subject::Subject::qdrant().await;
                crate::$module::$promise(&subject).await;
                subject.end().await;
            })*
        }
    };
}

contract! {
    promises::an_unknown_collection_is_named_with_the_known_ones,
    promises::the_first_document_makes_the_collection,
    promises::another_embedder_is_refused_with_both_names,
    promises::embeddings_of_another_length_are_refused,
    promises::a_document_replaces_its_earlier_version,
    promises::removed_documents_are_gone,
    promises::documents_are_listed_in_the_order_of_their_ids,
    promises::what_is_read_is_what_was_stored,
    promises::units_are_read_back_in_order,
    promises::a_section_is_found_once_with_its_best_chunk,
    promises::copies_are_found_once,
    languages::a_hybrid_search_keeps_a_place_for_another_language,
    filters::a_filter_takes_documents_that_meet_all_conditions,
    words::rare_words_count_for_more_and_the_count_follows_the_documents,
    words::a_document_without_embeddings_is_found_by_its_words,
    promises::a_removed_collection_can_be_made_again_with_another_embedder,
    promises::a_repair_of_what_is_whole_changes_nothing,
    promises::many_documents_and_large_ones_are_stored_whole,
    copies::a_copy_is_not_seen_until_it_takes_its_place,
    copies::readers_see_a_copy_or_what_was_before,
    backup::an_export_answers_in_another_store_and_back_in_this_one,
    writers::two_writers_of_one_document_leave_one_version,
    writers::readers_see_one_version_or_the_other,
    model::random_operations_agree_with_a_model,
}
