//! `/v1/collections` and `/v1/search`: what the retriever holds.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use emend_chassis::{TracedChannel, retrying};
use emend_core::{Deadline, cut};
use emend_proto::v1::retriever_service_client::RetrieverServiceClient;
use emend_proto::v1::{
    DeleteCollectionRequest, DeleteDocumentsRequest, GetCollectionRequest, GetDocumentRequest, ListCollectionsRequest,
    ListCollectionsResponse, ListDocumentsRequest, RetrieveRequest,
};
use http::HeaderMap;
use tonic::Status;
use url::form_urlencoded;

use crate::Gateway;
use crate::problem::Problem;
use crate::request;
use crate::respond;

type Retriever = RetrieverServiceClient<TracedChannel>;

impl Gateway {
    /// What the retriever answers to a call that may be made again.
    async fn retriever<Asked, Answer, Calling>(
        &self,
        headers: &HeaderMap,
        deadline: Deadline,
        asked: Asked,
        call: impl Fn(Retriever, tonic::Request<Asked>) -> Calling,
    ) -> Result<Answer, Problem>
    where
        Asked: Clone,
        Calling: Future<Output = Result<tonic::Response<Answer>, Status>>,
    {
        let answer = retrying(deadline, |attempt| {
            let asked = request::call(headers, asked.clone(), attempt.deadline);
            call(self.services.retriever(), asked)
        });
        Ok(answer.await?.into_inner())
    }

    /// The collections, as a caller may see them.
    pub(crate) async fn collections(&self, headers: &HeaderMap) -> Result<ListCollectionsResponse, Problem> {
        let deadline = request::deadline(headers, self.default_timeout)?;
        let call = |mut to: Retriever, asked| async move { to.list_collections(asked).await };
        self.retriever(headers, deadline, ListCollectionsRequest {}, call).await
    }
}

/// All collections.
pub(crate) async fn list(State(gateway): State<Arc<Gateway>>, headers: HeaderMap) -> Result<Response, Problem> {
    let collections = gateway.collections(&headers).await?;
    respond::message(&gateway.memory, "ListCollectionsResponse", &collections).await
}

/// One collection.
pub(crate) async fn one(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let asked = GetCollectionRequest { collection: name };
    let call = |mut to: Retriever, asked| async move { to.get_collection(asked).await };
    let found = gateway.retriever(&headers, deadline, asked, call).await?;
    respond::message(&gateway.memory, "Collection", &found.collection.unwrap_or_default()).await
}

/// Removes a collection. The call is not made again by itself: the collection would not be there the second time.
pub(crate) async fn delete_collection(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let call = request::call(&headers, DeleteCollectionRequest { collection: name }, deadline);
    let removed = gateway.services.retriever().delete_collection(call).await?;
    respond::message(&gateway.memory, "DeleteCollectionResponse", &removed.into_inner()).await
}

/// A page of the documents of a collection.
pub(crate) async fn documents(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let Page { size, token, .. } = page(&query.unwrap_or_default(), false)?;
    let asked = ListDocumentsRequest {
        collection: name,
        page_size: size,
        page_token: token,
    };
    let call = |mut to: Retriever, asked| async move { to.list_documents(asked).await };
    let page = gateway.retriever(&headers, deadline, asked, call).await?;
    respond::message(&gateway.memory, "ListDocumentsResponse", &page).await
}

/// What a query says of a page.
#[derive(Debug, Default, PartialEq)]
struct Page {
    size: Option<u32>,
    token: String,
    /// Known of a document alone.
    parents: Option<bool>,
}

fn page(query: &str, of_document: bool) -> Result<Page, Problem> {
    let mut asked = Page::default();
    let known = if of_document {
        "pageSize, pageToken and parents"
    } else {
        "pageSize and pageToken"
    };
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "pageSize" | "page_size" => {
                let size = value.parse().map_err(|_| {
                    Problem::field("pageSize", format!("must be a number from 1, is `{}`", cut(&value)))
                })?;
                asked.size = Some(size);
            }
            "pageToken" | "page_token" => asked.token = value.into_owned(),
            "parents" if of_document => {
                let parents = value
                    .parse()
                    .map_err(|_| Problem::field("parents", format!("must be true or false, is `{}`", cut(&value))))?;
                asked.parents = Some(parents);
            }
            other => {
                return Err(Problem::field(
                    cut(other).to_string(),
                    format!("is unknown: known are {known}"),
                ));
            }
        }
    }
    Ok(asked)
}

/// A page of a document.
pub(crate) async fn document(
    State(gateway): State<Arc<Gateway>>,
    Path((name, id)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let Page { size, token, parents } = page(&query.unwrap_or_default(), true)?;
    let asked = GetDocumentRequest {
        collection: name,
        document_id: id,
        parents,
        page_size: size,
        page_token: token,
    };
    let call = |mut to: Retriever, asked| async move { to.get_document(asked).await };
    let page = gateway.retriever(&headers, deadline, asked, call).await?;
    respond::message(&gateway.memory, "GetDocumentResponse", &page).await
}

/// Removes a document.
pub(crate) async fn delete_document(
    State(gateway): State<Arc<Gateway>>,
    Path((name, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let asked = DeleteDocumentsRequest {
        collection: name,
        document_ids: vec![id],
    };
    let call = |mut to: Retriever, asked| async move { to.delete_documents(asked).await };
    let removed = gateway.retriever(&headers, deadline, asked, call).await?;
    respond::message(&gateway.memory, "DeleteDocumentsResponse", &removed).await
}

/// Finds the passages nearest to a query.
pub(crate) async fn search(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let query: RetrieveRequest = request::message(&gateway.memory, &headers, body, "RetrieveRequest").await?;
    let call = |mut to: Retriever, asked| async move { to.retrieve(asked).await };
    let found = gateway.retriever(&headers, deadline, query, call).await?;
    respond::message(&gateway.memory, "RetrieveResponse", &found).await
}

#[cfg(test)]
mod tests;
