//! The routes, each by its operation: the same list makes the router, the index and the OpenAPI document.

use std::sync::Arc;

use axum::extract::State;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use axum::{Router, extract::Request};
use emend_core::{Reason, cut};
use http::header::{ACCEPT, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use serde_json::json;
use tonic_health::pb::health_server::HealthServer;

use crate::problem::Problem;
use crate::{Gateway, ask, assets, collections, documents, edge, graphs, grpc_web, health, mcp, openai, openapi};

/// What the gateway can be asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Ask,
    ReplayWalk,
    RecordFeedback,
    Search,
    ListGraphs,
    GetGraph,
    GetGraphMermaid,
    ValidateGraph,
    ListCollections,
    GetCollection,
    DeleteCollection,
    ListDocuments,
    GetDocument,
    DeleteDocument,
    UploadDocuments,
    ChatCompletion,
    ListModels,
    GetModel,
    Mcp,
    OrchestratorRpc,
    RetrieverRpc,
    OpenApi,
    Live,
    Ready,
}

impl Operation {
    pub(crate) const ALL: [Self; 24] = [
        Self::Ask,
        Self::ReplayWalk,
        Self::RecordFeedback,
        Self::Search,
        Self::ListGraphs,
        Self::GetGraph,
        Self::GetGraphMermaid,
        Self::ValidateGraph,
        Self::ListCollections,
        Self::GetCollection,
        Self::DeleteCollection,
        Self::ListDocuments,
        Self::GetDocument,
        Self::DeleteDocument,
        Self::UploadDocuments,
        Self::ChatCompletion,
        Self::ListModels,
        Self::GetModel,
        Self::Mcp,
        Self::OrchestratorRpc,
        Self::RetrieverRpc,
        Self::OpenApi,
        Self::Live,
        Self::Ready,
    ];

    /// Method and path.
    pub(crate) const fn route(self) -> (&'static str, &'static str) {
        match self {
            Self::Ask => ("POST", "/v1/ask"),
            Self::ReplayWalk => ("POST", "/v1/replay"),
            Self::Search => ("POST", "/v1/search"),
            Self::ListGraphs => ("GET", "/v1/graphs"),
            Self::GetGraph => ("GET", "/v1/graphs/{name}"),
            Self::GetGraphMermaid => ("GET", "/v1/graphs/{name}/mermaid"),
            Self::ValidateGraph => ("POST", "/v1/graphs/validate"),
            Self::ListCollections => ("GET", "/v1/collections"),
            Self::GetCollection => ("GET", "/v1/collections/{name}"),
            Self::DeleteCollection => ("DELETE", "/v1/collections/{name}"),
            Self::ListDocuments => ("GET", "/v1/collections/{name}/documents"),
            Self::GetDocument => ("GET", "/v1/collections/{name}/documents/{*id}"),
            Self::RecordFeedback => ("POST", "/v1/feedback"),
            Self::DeleteDocument => ("DELETE", "/v1/collections/{name}/documents/{*id}"),
            Self::UploadDocuments => ("POST", "/v1/documents"),
            Self::ChatCompletion => ("POST", "/v1/chat/completions"),
            Self::ListModels => ("GET", "/v1/models"),
            Self::GetModel => ("GET", "/v1/models/{model}"),
            Self::Mcp => ("POST", "/mcp"),
            Self::OrchestratorRpc => ("POST", "/emend.v1.OrchestratorService/{method}"),
            Self::RetrieverRpc => ("POST", "/emend.v1.RetrieverService/{method}"),
            Self::OpenApi => ("GET", "/openapi.json"),
            Self::Live => ("GET", "/livez"),
            Self::Ready => ("GET", "/readyz"),
        }
    }

    fn handler(self) -> MethodRouter<Arc<Gateway>> {
        match self {
            Self::Ask => post(ask::ask),
            Self::ReplayWalk => post(ask::replay),
            Self::Search => post(collections::search),
            Self::ListGraphs => get(graphs::list),
            Self::GetGraph => get(graphs::one),
            Self::GetGraphMermaid => get(graphs::mermaid),
            Self::ValidateGraph => post(graphs::validate),
            Self::ListCollections => get(collections::list),
            Self::GetCollection => get(collections::one),
            Self::DeleteCollection => delete(collections::delete_collection),
            Self::ListDocuments => get(collections::documents),
            Self::GetDocument => get(collections::document),
            Self::RecordFeedback => post(ask::feedback),
            Self::DeleteDocument => delete(collections::delete_document),
            Self::UploadDocuments => post(documents::upload),
            Self::ChatCompletion => post(openai::chat),
            Self::ListModels => get(openai::list),
            Self::GetModel => get(openai::one),
            Self::Mcp => post(mcp::http),
            Self::OrchestratorRpc => post(grpc_web::orchestrator),
            Self::RetrieverRpc => post(grpc_web::retriever),
            Self::OpenApi => get(openapi::document),
            Self::Live => get(health::live),
            Self::Ready => get(health::ready),
        }
    }

    /// Whether it answers while all else is refused.
    const fn is_probe(self) -> bool {
        matches!(self, Self::Live | Self::Ready)
    }
}

/// gRPC's health, for `emend health` and probes of platforms.
const HEALTH: &str = "/grpc.health.v1.Health/{method}";

/// All routes around one gateway.
pub(crate) fn router(gateway: Arc<Gateway>) -> Router {
    let mut router = Router::new();
    let mut probes = Router::new();
    for operation in Operation::ALL {
        let (_, path) = operation.route();
        if operation.is_probe() {
            probes = probes.route(path, operation.handler());
        } else {
            router = router.route(path, placed(&gateway, path, operation.handler()));
        }
    }
    let guarding = Arc::clone(&gateway);
    router
        .route("/", placed(&gateway, "/", get(index)))
        .fallback(absent)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(move |request: Request, next: Next| {
            edge::guarded(Arc::clone(&guarding), request, next)
        }))
        // Probes come from wherever the platform has them, under any name.
        .merge(probes)
        .with_state(Arc::clone(&gateway))
        .route_service(HEALTH, HealthServer::new(health::Health(gateway)))
}

/// A route whose requests take a place among those at once.
fn placed(
    gateway: &Arc<Gateway>,
    path: &'static str,
    handler: MethodRouter<Arc<Gateway>>,
) -> MethodRouter<Arc<Gateway>> {
    let gateway = Arc::clone(gateway);
    handler.layer(from_fn(move |request: Request, next: Next| {
        edge::observed(Arc::clone(&gateway), path, request, next)
    }))
}

/// The page, or for who asks for JSON a list of what there is and what the page is to know.
async fn index(State(gateway): State<Arc<Gateway>>, headers: HeaderMap) -> Response {
    let asks_for_json = headers
        .get(ACCEPT)
        .is_some_and(|accept| accept.as_bytes().starts_with(b"application/json"));
    let mut response = match assets::find("/").filter(|_| !asks_for_json) {
        Some(page) => page.respond(&headers),
        None => listed(&gateway),
    };
    // A browser must not show one for the other.
    response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
    response
}

fn listed(gateway: &Gateway) -> Response {
    let endpoints: Vec<String> = Operation::ALL
        .into_iter()
        .map(|operation| {
            let (method, path) = operation.route();
            format!("{method} {path}")
        })
        .collect();
    let mut index = json!({
        "name": "emend-gateway",
        "version": env!("CARGO_PKG_VERSION"),
        "openapi": "/openapi.json",
        "endpoints": endpoints,
    });
    if let Some(url) = &gateway.trace_url {
        index["traceUrl"] = json!(url.as_str());
    }
    ([(CONTENT_TYPE, "application/json")], index.to_string()).into_response()
}

async fn absent(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    if matches!(method, Method::GET | Method::HEAD)
        && let Some(asset) = assets::find(uri.path())
    {
        return asset.respond(&headers);
    }
    Problem::new(
        StatusCode::NOT_FOUND,
        Reason::PathNotFound,
        format!("there is nothing at `{}`: / lists what there is", cut(uri.path())),
    )
    .into_response()
}

async fn wrong_method(method: Method, uri: Uri) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        Reason::MethodUnknown,
        format!(
            "`{}` takes no {}: / lists what it takes",
            cut(uri.path()),
            cut(method.as_str())
        ),
    )
}

#[cfg(test)]
mod tests;
