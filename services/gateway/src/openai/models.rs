//! `/v1/models`: every graph over every collection.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use http::HeaderMap;
use serde_json::{Value, json};

use super::OpenAiError;
use crate::Gateway;
use crate::problem::Problem;
use crate::respond;

/// Most models of a list.
const MAX_MODELS: usize = 10_000;

impl Gateway {
    /// The names of all models, those of one collection together.
    pub(super) async fn models(&self, headers: &HeaderMap) -> Result<Vec<String>, Problem> {
        let (graphs, collections) = tokio::try_join!(self.graphs(headers), self.collections(headers))?;
        let names = collections.collections.iter().flat_map(|collection| {
            let of_graph = |graph: &str| format!("{graph}@{}", collection.name);
            graphs.graphs.iter().map(move |graph| of_graph(&graph.name))
        });
        Ok(names.take(MAX_MODELS).collect())
    }
}

/// A model as OpenAI describes it. When a collection was made is not known.
fn model(id: &str) -> Value {
    json!({"id": id, "object": "model", "created": 0, "owned_by": "emend"})
}

/// All models.
pub(crate) async fn list(State(gateway): State<Arc<Gateway>>, headers: HeaderMap) -> Result<Response, OpenAiError> {
    let models = gateway.models(&headers).await?;
    let data: Vec<Value> = models.iter().map(|id| model(id)).collect();
    Ok(respond::json(json!({"object": "list", "data": data}).to_string(), None))
}

/// One model.
pub(crate) async fn one(
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, OpenAiError> {
    let known = gateway.models(&headers).await?;
    if !known.contains(&id) {
        return Err(OpenAiError::unknown_model(&id, &known));
    }
    Ok(respond::json(model(&id).to_string(), None))
}
