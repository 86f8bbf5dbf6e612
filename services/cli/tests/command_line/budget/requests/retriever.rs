//! The largest requests of the retriever.

use std::sync::Arc;

use emend_core::limits;
use emend_proto::v1::{
    CopyCollectionRequest, DeleteCollectionRequest, DeleteDocumentsRequest, ExportCollectionRequest,
    GetCollectionRequest, GetDocumentRequest, IngestRequest, ListCollectionsRequest, ListDocumentsRequest,
    RepairCollectionRequest, RetrieveRequest, retriever_service_client::RetrieverServiceClient,
};
use futures::FutureExt as _;

use super::super::super::up::Up;
use super::{AT_ONCE, Large, MESSAGE_BYTES, PARTS, STORED, call, document, part, streamed, text, timed, whole};

/// The retriever's, the last of which deletes what the others are about.
pub(super) fn large(up: &Up) -> Vec<Large> {
    let retriever = RetrieverServiceClient::new(up.channel("retriever"))
        .max_encoding_message_size(MESSAGE_BYTES)
        .max_decoding_message_size(MESSAGE_BYTES);
    let filter = |number| (format!("k{number}"), "v".repeat(512));
    let collection = || STORED.to_owned();
    let query = RetrieveRequest {
        query: text(limits::MAX_QUESTION_BYTES),
        collection: collection(),
        top_k: Some(100),
        ..RetrieveRequest::default()
    };
    vec![
        call!("RetrieverService", retriever, retrieve, query.clone()),
        call!(
            "RetrieverService",
            retriever,
            retrieve,
            RetrieveRequest {
                filter: (0..limits::MAX_FILTERS).map(filter).collect(),
                exact: true,
                ..query
            }
        ),
        call!(
            "RetrieverService",
            retriever,
            get_document,
            GetDocumentRequest {
                collection: collection(),
                document_id: "d0".to_owned(),
                page_size: Some(1000),
                ..GetDocumentRequest::default()
            }
        ),
        call!(
            "RetrieverService",
            retriever,
            list_documents,
            ListDocumentsRequest {
                collection: collection(),
                page_size: Some(10_000),
                ..ListDocumentsRequest::default()
            }
        ),
        call!(
            "RetrieverService",
            retriever,
            list_collections,
            ListCollectionsRequest {}
        ),
        call!(
            "RetrieverService",
            retriever,
            get_collection,
            GetCollectionRequest {
                collection: collection()
            }
        ),
        call!(
            "RetrieverService",
            retriever,
            repair_collection,
            RepairCollectionRequest {
                collection: collection()
            }
        ),
        call!(
            "RetrieverService",
            retriever,
            delete_documents,
            DeleteDocumentsRequest {
                collection: collection(),
                document_ids: (0..1000).map(|number| format!("{number:0>512}")).collect(),
            }
        ),
        call!(
            "RetrieverService",
            retriever,
            export_collection,
            ExportCollectionRequest {
                collection: collection(),
                ..ExportCollectionRequest::default()
            },
            whole
        ),
        call!(
            "RetrieverService",
            retriever,
            copy_collection,
            CopyCollectionRequest {
                collection: collection(),
                to: "copied".to_owned(),
            },
            whole
        ),
        streamed("RetrieverService::ingest", {
            let (retriever, document) = (
                retriever.clone(),
                Arc::new(document("large", limits::MAX_DOCUMENT_BYTES)),
            );
            move || {
                let (mut retriever, document) = (retriever.clone(), Arc::clone(&document));
                let stream = futures::stream::once(async move { IngestRequest::clone(&document) });
                async move { whole(retriever.ingest(timed(stream)).await?.into_inner()).await }.boxed()
            }
        }),
        streamed("RetrieverService::import_collection", {
            let retriever = retriever.clone();
            move || {
                let mut retriever = retriever.clone();
                let parts = futures::stream::iter((0..PARTS).map(part));
                async move { whole(retriever.import_collection(timed(parts)).await?.into_inner()).await }.boxed()
            }
        }),
        // Nothing is left of it for the others.
        call!(
            "RetrieverService",
            retriever,
            delete_collection,
            DeleteCollectionRequest {
                collection: collection()
            }
        ),
    ]
}
