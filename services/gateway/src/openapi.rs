//! The OpenAPI 3.1 document, made from the contracts: every message with every field and its comment.

mod paths;
mod schemas;

use std::sync::LazyLock;

use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::problem::Problem;
use crate::respond;
use crate::routes::Operation;
use schemas::Schemas;

/// The document as it is served.
static DOCUMENT: LazyLock<Result<String, String>> = LazyLock::new(|| {
    let made = make().map_err(|error| error.to_string())?;
    Ok(made.to_string())
});

/// `GET /openapi.json`.
pub(crate) async fn document() -> Result<Response, Problem> {
    match &*DOCUMENT {
        Ok(text) => Ok(respond::json(text.clone(), None)),
        Err(error) => Err(Problem::internal(format!(
            "the OpenAPI document could not be made: {error}"
        ))),
    }
}

fn make() -> Result<Value, emend_json::JsonError> {
    let mut schemas = Schemas::new()?;
    let mut paths = Map::new();
    for operation in Operation::ALL {
        let (method, path) = operation.route();
        let described = paths::describe(operation, &mut schemas);
        // OpenAPI knows no rest of a path.
        let path = path.replace("{*", "{");
        let at = paths.entry(path).or_insert_with(|| json!({}));
        at[method.to_ascii_lowercase()] = described;
    }
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Emend",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Answers questions over your own documents and corrects itself before it answers",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas.finish(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        // With or without a key, as the services behind ask for one or not.
        "security": [{}, {"key": []}],
    }))
}

#[cfg(test)]
mod tests;
