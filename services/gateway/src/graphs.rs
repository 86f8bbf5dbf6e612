//! `/v1/graphs`: the graphs of the orchestrator.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use emend_chassis::retrying;
use emend_proto::v1::{GetGraphRequest, GetGraphResponse, ListGraphsRequest, ListGraphsResponse, ValidateGraphRequest};
use http::HeaderMap;
use http::header::CONTENT_TYPE;

use crate::Gateway;
use crate::problem::Problem;
use crate::request;
use crate::respond;

impl Gateway {
    /// The graphs, as a caller may see them.
    pub(crate) async fn graphs(&self, headers: &HeaderMap) -> Result<ListGraphsResponse, Problem> {
        let deadline = request::deadline(headers, self.default_timeout)?;
        let listed = retrying(deadline, |attempt| {
            let mut orchestrator = self.services.orchestrator();
            let call = request::call(headers, ListGraphsRequest {}, attempt.deadline);
            async move { orchestrator.list_graphs(call).await }
        });
        Ok(listed.await?.into_inner())
    }

    async fn graph(&self, headers: &HeaderMap, name: String) -> Result<GetGraphResponse, Problem> {
        let deadline = request::deadline(headers, self.default_timeout)?;
        let found = retrying(deadline, |attempt| {
            let mut orchestrator = self.services.orchestrator();
            let call = request::call(headers, GetGraphRequest { name: name.clone() }, attempt.deadline);
            async move { orchestrator.get_graph(call).await }
        });
        Ok(found.await?.into_inner())
    }
}

/// All graphs.
pub(crate) async fn list(State(gateway): State<Arc<Gateway>>, headers: HeaderMap) -> Result<Response, Problem> {
    let graphs = gateway.graphs(&headers).await?;
    respond::message(&gateway.memory, "ListGraphsResponse", &graphs).await
}

/// One graph.
pub(crate) async fn one(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let graph = gateway.graph(&headers, name).await?;
    respond::message(&gateway.memory, "GetGraphResponse", &graph).await
}

/// One graph as a Mermaid flowchart.
pub(crate) async fn mermaid(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let graph = gateway.graph(&headers, name).await?;
    Ok(([(CONTENT_TYPE, "text/vnd.mermaid; charset=utf-8")], graph.mermaid).into_response())
}

/// What is wrong with a graph file, or its worst case.
pub(crate) async fn validate(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, gateway.default_timeout)?;
    let file: ValidateGraphRequest = request::message(&gateway.memory, &headers, body, "ValidateGraphRequest").await?;
    let call = request::call(&headers, file, deadline);
    let found = gateway.services.orchestrator().validate_graph(call).await?;
    respond::message(&gateway.memory, "ValidateGraphResponse", &found.into_inner()).await
}
