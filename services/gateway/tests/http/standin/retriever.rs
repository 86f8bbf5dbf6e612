//! The retriever of the stand-in.

use futures::TryStreamExt as _;

use super::*;

fn unknown_collection(name: &str) -> Status {
    let mut details = ErrorDetails::with_error_info("COLLECTION_NOT_FOUND", "emend", std::collections::HashMap::new());
    details.set_resource_info("collection", name, "", "");
    let message = format!("unknown collection `{name}`: known are handbook");
    Status::with_error_details(tonic::Code::NotFound, message, details)
}

impl StandIn {
    /// What became of a document: `bad` is refused, and of `HANG` nothing is ever told.
    async fn stored(&self, request: IngestRequest) -> Result<IngestResponse, Status> {
        let document = request.document.unwrap_or_default();
        if document.content == b"HANG" {
            self.hang().await;
        }
        let failed = document.content == b"bad";
        Ok(IngestResponse {
            document_id: format!("{}/{}", request.collection, document.id),
            status: if failed {
                IngestStatus::Failed
            } else {
                IngestStatus::Ingested
            }
            .into(),
            error: if failed {
                "it is no text".to_owned()
            } else {
                String::new()
            },
            passages: u32::try_from(document.content.len()).unwrap(),
            ..IngestResponse::default()
        })
    }
}

#[tonic::async_trait]
impl Retriever for StandIn {
    async fn retrieve(&self, request: Request<RetrieveRequest>) -> Result<Response<RetrieveResponse>, Status> {
        let query = request.into_inner();
        let passages = vec![Passage {
            id: "p1".to_owned(),
            document_id: "handbook/leave.md".to_owned(),
            text: format!("about {} in {}", query.query, query.collection),
            source: "handbook/leave.md".to_owned(),
            headings: vec!["Page 3".to_owned(), "Leave".to_owned()],
            score: 0.5,
            ..Passage::default()
        }];
        Ok(Response::new(RetrieveResponse { passages }))
    }

    async fn ingest(
        &self,
        request: Request<Streaming<IngestRequest>>,
    ) -> Result<Response<Messages<IngestResponse>>, Status> {
        self.sent.keep(request.metadata());
        let standin = self.clone();
        let documents = request.into_inner().and_then(move |request| {
            let standin = standin.clone();
            async move { standin.stored(request).await }
        });
        Ok(Response::new(documents.boxed()))
    }

    async fn delete_documents(
        &self,
        request: Request<DeleteDocumentsRequest>,
    ) -> Result<Response<DeleteDocumentsResponse>, Status> {
        let known = request.into_inner().document_ids == ["handbook/leave.md"];
        Ok(Response::new(DeleteDocumentsResponse { deleted: known.into() }))
    }

    async fn list_documents(
        &self,
        request: Request<ListDocumentsRequest>,
    ) -> Result<Response<ListDocumentsResponse>, Status> {
        let asked = request.into_inner();
        Ok(Response::new(ListDocumentsResponse {
            documents: vec![StoredDocument {
                id: "handbook/leave.md".to_owned(),
                ..StoredDocument::default()
            }],
            next_page_token: format!("{}-{}", asked.page_size(), asked.page_token),
        }))
    }

    async fn get_document(
        &self,
        request: Request<GetDocumentRequest>,
    ) -> Result<Response<GetDocumentResponse>, Status> {
        let asked = request.into_inner();
        Ok(Response::new(GetDocumentResponse {
            document: Some(StoredDocument {
                id: asked.document_id.clone(),
                ..StoredDocument::default()
            }),
            next_page_token: format!("{:?} {:?} {}", asked.parents, asked.page_size, asked.page_token),
            ..GetDocumentResponse::default()
        }))
    }

    async fn list_collections(
        &self,
        request: Request<ListCollectionsRequest>,
    ) -> Result<Response<ListCollectionsResponse>, Status> {
        self.sent.keep(request.metadata());
        Ok(Response::new(ListCollectionsResponse {
            collections: vec![collection()],
        }))
    }

    async fn get_collection(
        &self,
        request: Request<GetCollectionRequest>,
    ) -> Result<Response<GetCollectionResponse>, Status> {
        let name = request.into_inner().collection;
        if name != "handbook" {
            return Err(unknown_collection(&name));
        }
        Ok(Response::new(GetCollectionResponse {
            collection: Some(collection()),
        }))
    }

    async fn delete_collection(
        &self,
        request: Request<DeleteCollectionRequest>,
    ) -> Result<Response<DeleteCollectionResponse>, Status> {
        match request.into_inner().collection.as_str() {
            "handbook" => Ok(Response::new(DeleteCollectionResponse { documents: 3 })),
            other => Err(unknown_collection(other)),
        }
    }
}
