//! A gRPC server with everything that each of Emend's services has around its own.

mod actor;
mod auth;
mod bounds;
mod connections;
mod health;
mod reflection;
mod trace;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use http::{Request, Response};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::service::Routes;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};
use tower::Service;
use tower_http::trace::TraceLayer;

pub use connections::{Acceptor, Connection, MAX_CONNECTIONS};
pub(crate) use health::is_process_ready;
pub use health::{Health, HealthFlag, Ready, enlist};

use crate::actor::ActorHandle;
use crate::config::ServiceOptions;
use crate::error::ServeError;
use crate::keys::{Keys, Permission};
use crate::tls::{Greeter, ServerTls};
use auth::{AuthLayer, Permissions};
use bounds::BoundsLayer;
use health::EndingWatches;
use trace::{KnownServices, RecordLayer, span_maker};

/// Bytes of a call that may be on their way or unread: HTTP/2 lets a client send as many before the server reads.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
/// The same for all calls of a connection together: enough for as many streams of requests as the server takes, so that
/// those which wait for memory, unread, do not keep the others of their connection from sending.
const CONNECTION_WINDOW_BYTES: u32 = 2 * bounds::MAX_CLIENT_STREAMS as u32 * STREAM_WINDOW_BYTES;
/// How often a silent connection is asked whether it is still there, and how long it may take to say so.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest request to health and reflection, in bytes: a name. They are outside of the memory that requests may have.
const MAX_PROBE_BYTES: usize = 4 * 1024;

/// A gRPC server: the services added to it, health, reflection, one span a call, graceful end.
pub struct Server {
    name: &'static str,
    options: ServiceOptions,
    health: Health,
    routes: Routes,
    services: Vec<String>,
    descriptors: Vec<Vec<u8>>,
    threads: Vec<ArbiterHandle>,
    permissions: Permissions,
}

impl Server {
    /// A server without services. `name` is for the log.
    pub fn new(name: &'static str, options: &ServiceOptions) -> Self {
        Self {
            name,
            options: options.clone(),
            health: Health::new(),
            routes: Routes::default(),
            services: Vec::new(),
            descriptors: Vec::new(),
            threads: Vec::new(),
            permissions: |_| Permission::Ask,
        }
    }

    /// The server's health, to take flags from.
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// Adds a generated server. Set its message size limits before.
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "it adds a service, there is nothing to sum"
    )]
    pub fn add<S>(mut self, service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>
            + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
    {
        self.health.register(S::NAME);
        self.services.push(S::NAME.to_owned());
        self.routes = self.routes.add_service(service);
        self
    }

    /// Serves connections on the threads of these actors, in place of the current runtime's.
    #[must_use]
    pub fn on_threads_of<S>(mut self, actors: &ActorHandle<S>) -> Self {
        self.threads = actors.threads();
        self
    }

    /// Adds an encoded `FileDescriptorSet` to what reflection tells.
    #[must_use]
    pub fn descriptors(mut self, encoded: &[u8]) -> Self {
        self.descriptors.push(encoded.to_vec());
        self
    }

    /// What each method takes of a key, by `package.Service/Method`; else all of them take [`Permission::Ask`].
    #[must_use]
    pub fn permissions(mut self, of: fn(&str) -> Permission) -> Self {
        self.permissions = of;
        self
    }

    /// Serves until `shutdown` is cancelled, then drains: reports NOT_SERVING, stops accepting, lets running calls end.
    ///
    /// # Errors
    /// [`ServeError::Tls`] and [`ServeError::Keys`] for files that are wrong, [`ServeError::Drain`] when calls were still
    /// running after `--drain-timeout`, [`ServeError::Reflection`] for descriptors that are none, [`ServeError::Transport`] when the server itself fails.
    pub async fn serve(self, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ServeError> {
        let Self {
            name,
            options,
            health,
            mut routes,
            services,
            descriptors,
            threads,
            permissions,
        } = self;
        let address = listener.local_addr().ok();
        let tls = ServerTls::load(&options.tls)?;
        let keys = Keys::load(&options)?;

        let reporter = HealthReporter::new();
        let api = EndingWatches {
            inner: HealthService::from_health_reporter(reporter.clone()),
            shutdown: shutdown.clone(),
        };
        routes = routes.add_service(HealthServer::new(api).max_decoding_message_size(MAX_PROBE_BYTES));

        if options.reflection {
            routes = reflection::add(routes, &descriptors).map_err(ServeError::Reflection)?;
        }

        let known = KnownServices::from(services);
        let trace = TraceLayer::new_for_grpc()
            .make_span_with(span_maker(known.clone()))
            .on_request(())
            .on_response(())
            .on_eos(())
            .on_failure(());
        let router = tonic::transport::Server::builder()
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
            .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
            // More than admission lets in, or the transport would queue what admission has to refuse.
            .max_concurrent_streams(
                u32::try_from(options.max_in_flight.saturating_mul(4).max(1024)).unwrap_or(u32::MAX),
            )
            .max_connection_age(options.max_connection_age)
            .layer(trace)
            .layer(AuthLayer::new(keys.clone(), permissions))
            .layer(RecordLayer::new(known))
            .layer(BoundsLayer::new(&descriptors, &options))
            .add_routes(routes);

        health.publish(&reporter).await;
        let enlisted = Arc::new(health.clone());
        enlist(&enlisted);
        tracing::info!(
            service = name,
            address = address.map(tracing::field::display),
            tls = tls.is_some(),
            keys = keys.is_some(),
            "serving"
        );
        let drain = async {
            shutdown.cancelled().await;
            tracing::info!(service = name, "draining");
            health.drain();
            health.publish(&reporter).await;
        };
        let overdue = async {
            shutdown.cancelled().await;
            tokio::time::sleep(options.drain_timeout).await;
        };
        tokio::select! {
            served = connections::serve(router, listener, &threads, Greeter::new(tls), drain) => served,
            () = health.keep_published(&reporter) => Ok(()),
            () = overdue => Err(ServeError::Drain { timeout: options.drain_timeout }),
        }
    }
}

#[cfg(test)]
mod tests;
