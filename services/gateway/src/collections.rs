//! `/v1/collections` and `/v1/search`: what the retriever holds.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use emend_chassis::retrying;
use emend_core::cut;
use emend_proto::v1::{
    DeleteDocumentsRequest, GetCollectionRequest, ListCollectionsRequest, ListCollectionsResponse,
    ListDocumentsRequest, RetrieveRequest,
};
use http::HeaderMap;
use url::form_urlencoded;

use crate::Gateway;
use crate::problem::Problem;
use crate::request;
use crate::respond;

impl Gateway {
    /// The collections, as a caller may see them.
    pub(crate) async fn collections(&self, headers: &HeaderMap) -> Result<ListCollectionsResponse, Problem> {
        let deadline = request::deadline(headers, self.default_timeout)?;
        let listed = retrying(deadline, |attempt| {
            let mut retriever = self.services.retriever();
            let call = request::call(headers, ListCollectionsRequest {}, attempt.deadline);
            async move { retriever.list_collections(call).await }
        });
        Ok(listed.await?.into_inner())
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
    let found = retrying(deadline, |attempt| {
        let mut retriever = gateway.services.retriever();
        let asked = GetCollectionRequest {
            collection: name.clone(),
        };
        let call = request::call(&headers, asked, attempt.deadline);
        async move { retriever.get_collection(call).await }
    });
    let collection = found.await?.into_inner().collection.unwrap_or_default();
    respond::message(&gateway.memory, "Collection", &collection).await
}

/// A page of the documents of a collection.
pub(crate) async fn documents(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let asked = page(name, &query.unwrap_or_default())?;
    let page = retrying(deadline, |attempt| {
        let mut retriever = gateway.services.retriever();
        let call = request::call(&headers, asked.clone(), attempt.deadline);
        async move { retriever.list_documents(call).await }
    });
    respond::message(&gateway.memory, "ListDocumentsResponse", &page.await?.into_inner()).await
}

fn page(collection: String, query: &str) -> Result<ListDocumentsRequest, Problem> {
    let mut asked = ListDocumentsRequest {
        collection,
        ..ListDocumentsRequest::default()
    };
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "pageSize" | "page_size" => {
                let size = value.parse().map_err(|_| {
                    Problem::field("pageSize", format!("must be a number from 1, is `{}`", cut(&value)))
                })?;
                asked.page_size = Some(size);
            }
            "pageToken" | "page_token" => asked.page_token = value.into_owned(),
            other => {
                return Err(Problem::field(
                    cut(other).to_string(),
                    "is unknown: known are pageSize and pageToken",
                ));
            }
        }
    }
    Ok(asked)
}

/// Removes a document.
pub(crate) async fn delete_document(
    State(gateway): State<Arc<Gateway>>,
    Path((name, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let removed = retrying(deadline, |attempt| {
        let mut retriever = gateway.services.retriever();
        let asked = DeleteDocumentsRequest {
            collection: name.clone(),
            document_ids: vec![id.clone()],
        };
        let call = request::call(&headers, asked, attempt.deadline);
        async move { retriever.delete_documents(call).await }
    });
    respond::message(&gateway.memory, "DeleteDocumentsResponse", &removed.await?.into_inner()).await
}

/// Finds the passages nearest to a query.
pub(crate) async fn search(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let query: RetrieveRequest = request::message(&gateway.memory, &headers, body, "RetrieveRequest").await?;
    let found = retrying(deadline, |attempt| {
        let mut retriever = gateway.services.retriever();
        let call = request::call(&headers, query.clone(), attempt.deadline);
        async move { retriever.retrieve(call).await }
    });
    respond::message(&gateway.memory, "RetrieveResponse", &found.await?.into_inner()).await
}

#[cfg(test)]
mod tests;
