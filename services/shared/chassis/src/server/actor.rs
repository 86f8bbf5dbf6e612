//! Serving one actor: what most services are.

use std::convert::Infallible;

use actix::{Actor, Context};
use http::{Request, Response};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::server::NamedService;
use tower::Service;

use super::Server;
use crate::actor::{ActorHandle, ActorOptions, ActorSystem, Alive};
use crate::error::ServeError;

impl Server {
    /// Starts an actor, serves what `service` makes of its front until `shutdown` is cancelled and the calls in flight are
    /// done, and stops the actor. The service is healthy while its actor lives.
    ///
    /// `actor` is called again when the actor has to be replaced.
    ///
    /// # Errors
    /// [`ServeError`] when there is no thread for the actor or the server fails.
    pub async fn serve_actor<A, S>(
        self,
        actor: impl Fn(Alive) -> A + Send + Sync + 'static,
        service: impl FnOnce(ActorHandle<A>) -> S,
        listener: TcpListener,
        shutdown: CancellationToken,
    ) -> Result<(), ServeError>
    where
        A: Actor<Context = Context<A>>,
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>
            + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
    {
        let system = ActorSystem::start(self.name).map_err(ServeError::start)?;
        let name = self.name.strip_prefix("emend-").unwrap_or(self.name);
        let options = ActorOptions::new(name, self.options.max_in_flight);
        let front =
            ActorHandle::start(&system, options, self.health.flag(S::NAME), actor).map_err(ServeError::start)?;
        let served = self.add(service(front)).serve(listener, shutdown).await;
        system.stop().await;
        served
    }
}
