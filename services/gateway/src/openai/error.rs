//! Errors as OpenAI writes them.

use axum::response::{IntoResponse, Response};
use emend_core::{Reason, cut};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::problem::Problem;

/// `{"error": {"message", "type", "param", "code"}}`.
#[derive(Clone, Debug)]
pub(crate) struct OpenAiError {
    problem: Problem,
    param: Option<String>,
    code: Option<&'static str>,
}

impl OpenAiError {
    /// A wrong parameter: its path, what is wrong with it, and OpenAI's code for that.
    pub(crate) fn param(param: impl Into<String>, message: impl Into<String>, code: &'static str) -> Self {
        Self {
            problem: Problem::invalid(message),
            param: Some(param.into()),
            code: Some(code),
        }
    }

    /// A model that there is not.
    pub(crate) fn unknown_model(model: &str, known: &[String]) -> Self {
        let list = emend_core::list_names(known);
        let nearest = emend_core::did_you_mean(model, known.iter().map(String::as_str));
        let message = format!(
            "the model `{}` does not exist{nearest}; a model is GRAPH@COLLECTION, known are {list}",
            cut(model)
        );
        Self {
            problem: Problem::new(StatusCode::NOT_FOUND, Reason::GraphNotFound, message),
            param: Some("model".to_owned()),
            code: Some("model_not_found"),
        }
    }

    /// Whether something was not found.
    pub(crate) fn is_not_found(&self) -> bool {
        self.problem.status() == StatusCode::NOT_FOUND
    }

    /// The error as it stands in a body or in a stream.
    pub(crate) fn json(&self) -> Value {
        let status = self.problem.status();
        let kind = match status.as_u16() {
            429 => "rate_limit_error",
            401 => "authentication_error",
            403 => "permission_error",
            400..500 => "invalid_request_error",
            _ => "server_error",
        };
        let field = self.problem.errors.first().map(|error| error.field.clone());
        json!({"error": {
            "message": self.problem.detail,
            "type": kind,
            "param": self.param.clone().or(field),
            "code": self.code.unwrap_or(self.problem.reason),
        }})
    }
}

impl From<Problem> for OpenAiError {
    fn from(problem: Problem) -> Self {
        let code = match problem.status().as_u16() {
            401 => Some("invalid_api_key"),
            429 => Some("rate_limit_exceeded"),
            _ => None,
        };
        Self {
            problem,
            param: None,
            code,
        }
    }
}

impl From<tonic::Status> for OpenAiError {
    fn from(status: tonic::Status) -> Self {
        Problem::from(status).within("question").into()
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let body = self.json().to_string();
        let mut response = (self.problem.status(), [(CONTENT_TYPE, "application/json")], body).into_response();
        self.problem.headers(response.headers_mut());
        response
    }
}
