//! The bounds around every call of a server's own services, before anything of it is decoded and after it is answered.
//!
//! Admission counts calls that were decoded. Here the memory of requests is counted while they are read, so that neither
//! many of them nor one of many empty elements fills the process; and the status of every response is made short enough to
//! be read. What the check of keys refused ends here too. Health checks and reflection take nothing of it: they answer while
//! all else is refused.

mod budget;
mod contract;
mod request;
mod scan;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};

use super::auth::Refusal;
use crate::config::ServiceOptions;
use crate::status::limit;
pub(super) use budget::MAX_CLIENT_STREAMS;
use budget::{Budget, Held};
use contract::Contract;
use request::RequestBody;

/// Puts the bounds around a server's services.
#[derive(Clone)]
pub(super) struct BoundsLayer {
    contract: Arc<Contract>,
    budget: Arc<Budget>,
    /// How long a single request may take to come.
    within: Duration,
}

impl BoundsLayer {
    /// Bounds for the methods in these descriptor sets; those of other methods are their own.
    pub(super) fn new(descriptors: &[Vec<u8>], options: &ServiceOptions) -> Self {
        Self {
            contract: Arc::new(Contract::of(descriptors)),
            budget: Budget::new(options.request_memory_mib),
            within: options.default_timeout,
        }
    }
}

impl<S> Layer<S> for BoundsLayer {
    type Service = Bounded<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Bounded {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service that [`BoundsLayer`] makes.
#[derive(Clone)]
pub(super) struct Bounded<S> {
    inner: S,
    layer: BoundsLayer,
}

impl<S> Service<Request<Body>> for Bounded<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let BoundsLayer {
            contract,
            budget,
            within,
        } = &self.layer;
        if let Some(Refusal(status)) = request.extensions_mut().remove::<Refusal>() {
            let mut refused = status.into_http();
            limit::settle(refused.headers_mut());
            return Box::pin(async move { Ok(refused) });
        }
        let mut held = None;
        if let Some(method) = contract.method(request.uri().path()) {
            let begun = match budget.begin(method.client_streaming) {
                Ok(begun) => Arc::new(begun),
                Err(refused) => {
                    let refused = Status::from(refused).into_http();
                    return Box::pin(async move { Ok(refused) });
                }
            };
            held = Some(Arc::clone(&begun));
            let (contract, within) = (Arc::clone(contract), *within);
            request = request.map(|body| Body::new(RequestBody::new(body, method, contract, begun, within)));
        }
        let response = self.inner.call(request);
        Box::pin(async move {
            let mut response = response.await?;
            if held.as_ref().is_some_and(|held| held.abandoned.load(Ordering::Relaxed)) {
                // To tonic it is a request without a message, which would be this server's fault.
                response = Status::cancelled("the caller left before its request was whole").into_http();
            }
            limit::settle(response.headers_mut());
            Ok(response.map(|inner| Body::new(ResponseBody { inner, _held: held })))
        })
    }
}

/// A body whose status is short enough to be read, and with whose end the call gives back what it held.
struct ResponseBody {
    inner: Body,
    _held: Option<Arc<Held>>,
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.inner).poll_frame(context).map_ok(|mut frame| {
            if let Some(trailers) = frame.trailers_mut() {
                limit::settle(trailers);
            }
            frame
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests;
