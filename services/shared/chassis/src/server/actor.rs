//! Serving actors of one kind: what most services are.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::server::NamedService;
use tower::Service;

use super::Server;
use crate::actor::{ActorHandle, ActorOptions, ActorSystem};
use crate::error::ServeError;

impl Server {
    /// Starts the actors of a service, serves what `service` makes of their handle until `shutdown` is cancelled and the
    /// calls in flight are done, and stops the actors. The service is healthy while its actors live.
    ///
    /// Connections are served on the actors' threads. `state` makes what an actor works on; it is called for each actor, and again when one has to be replaced.
    ///
    /// # Errors
    /// [`ServeError`] when there is no thread for an actor or the server fails.
    pub async fn serve_actor<S, G>(
        self,
        state: impl Fn() -> Arc<S> + Send + Sync + 'static,
        service: impl FnOnce(ActorHandle<S>) -> G,
        listener: TcpListener,
        shutdown: CancellationToken,
    ) -> Result<(), ServeError>
    where
        S: 'static,
        G: Service<Request<Body>, Response = Response<Body>, Error = Infallible>
            + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
        G::Future: Send + 'static,
    {
        let system = ActorSystem::start(self.name).map_err(ServeError::start)?;
        let name = self.name.strip_prefix("emend-").unwrap_or(self.name);
        let options = ActorOptions::new(name, &self.options);
        let handle =
            ActorHandle::start(&system, options, self.health.flag(G::NAME), state).map_err(ServeError::start)?;
        let served = self
            .on_threads_of(&handle)
            .add(service(handle))
            .serve(listener, shutdown)
            .await;
        system.stop().await;
        served
    }
}
