//! Who may call: the check of API keys in front of every service of a server.

use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::AUTHORIZATION;
use http::{HeaderMap, Request};
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};
use tracing::Span;

use crate::keys::{Identity, Keys, Permission};
use crate::status::status;
use emend_core::semconv;

/// What a method takes, by `package.Service/Method`.
pub(super) type Permissions = fn(&str) -> Permission;

/// Lets calls through that show a key and may do what they ask for; all of them where there are no keys. Health is open.
#[derive(Clone)]
pub(super) struct AuthLayer {
    keys: Option<Keys>,
    permissions: Permissions,
}

impl AuthLayer {
    pub(super) fn new(keys: Option<Keys>, permissions: Permissions) -> Self {
        Self { keys, permissions }
    }

    /// Who calls, or why the call is refused, and the name of its key where it has one.
    fn check(&self, path: &str, headers: &HeaderMap) -> Result<Identity, (Option<String>, Status)> {
        let Some(keys) = &self.keys else {
            return Ok(Identity::default());
        };
        let method = path.strip_prefix('/').unwrap_or(path);
        if method.starts_with("grpc.health.") {
            return Ok(Identity::default());
        }
        let identity = keys.authenticate(headers).map_err(|status| (None, status))?;
        let refused = |status| (identity.name().map(str::to_owned), status);
        identity.call().map_err(|over| refused(status(&over)))?;
        // Reflection tells the contract, which any key may read.
        if !method.starts_with("grpc.") {
            let permission = (self.permissions)(method);
            identity.may(permission).map_err(|denied| refused(denied.into()))?;
        }
        Ok(identity)
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = Authenticated<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Authenticated {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service that [`AuthLayer`] makes.
#[derive(Clone)]
pub(super) struct Authenticated<S> {
    inner: S,
    layer: AuthLayer,
}

/// The name of the key of a call, for what records the call.
#[derive(Clone)]
pub(super) struct KeyName(pub(super) Arc<str>);

/// Why a call is not let through. It goes on to what records calls, and ends behind that.
#[derive(Clone)]
pub(super) struct Refusal(pub(super) Status);

impl<S: Service<Request<Body>>> Service<Request<Body>> for Authenticated<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let checked = self.layer.check(request.uri().path(), request.headers());
        if self.layer.keys.is_some() {
            // Nothing behind this needs it, and so nothing can show it.
            request.headers_mut().remove(AUTHORIZATION);
        }
        let name = match &checked {
            Ok(identity) => identity.name(),
            Err((name, _)) => name.as_deref(),
        };
        if let Some(name) = name {
            Span::current().record(semconv::EMEND_KEY_NAME, name);
            let name = KeyName(name.into());
            request.extensions_mut().insert(name);
        }
        match checked {
            Ok(identity) => drop(request.extensions_mut().insert(identity)),
            Err((_, status)) => drop(request.extensions_mut().insert(Refusal(status))),
        }
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests;
