//! Health by service name, as `grpc.health.v1` reports it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::future::{BoxFuture, join_all};
use futures::{FutureExt, Stream, StreamExt};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::Health as HealthApi;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_health::server::{HealthReporter, HealthService};

/// The health of one server: flags by service name, and the name `""` for all of them together.
///
/// A service is SERVING while all flags with its name are up; a new flag is up.
#[derive(Clone, Debug)]
pub struct Health(Arc<State>);

#[derive(Debug)]
struct State {
    flags: Mutex<BTreeMap<String, Vec<Arc<AtomicBool>>>>,
    draining: AtomicBool,
    changed: watch::Sender<()>,
}

impl Health {
    pub(crate) fn new() -> Self {
        Self(Arc::new(State {
            flags: Mutex::default(),
            draining: AtomicBool::new(false),
            changed: watch::Sender::new(()),
        }))
    }

    /// A flag for `service`, for example `emend.v1.GraderService`; up until told otherwise.
    pub fn flag(&self, service: &str) -> HealthFlag {
        let up = Arc::new(AtomicBool::new(true));
        self.flags()
            .entry(service.to_owned())
            .or_default()
            .push(Arc::clone(&up));
        self.0.changed.send_replace(());
        HealthFlag {
            service: service.into(),
            up,
            changed: self.0.changed.clone(),
        }
    }

    /// Makes every service known by name, so that a probe of one without a flag finds it.
    pub(crate) fn register(&self, service: &str) {
        self.flags().entry(service.to_owned()).or_default();
    }

    /// Everything is NOT_SERVING from now on, whatever the flags say.
    pub(crate) fn drain(&self) {
        self.0.draining.store(true, Ordering::SeqCst);
        self.0.changed.send_replace(());
    }

    fn statuses(&self) -> Vec<(String, ServingStatus)> {
        let draining = self.0.draining.load(Ordering::SeqCst);
        let status = |up: bool| {
            if up && !draining {
                ServingStatus::Serving
            } else {
                ServingStatus::NotServing
            }
        };
        let flags = self.flags();
        let each = flags
            .iter()
            .map(|(name, flags)| (name.clone(), flags.iter().all(|up| up.load(Ordering::SeqCst))));
        let each: Vec<(String, bool)> = each.collect();
        let all = each.iter().all(|(_, up)| *up);
        each.into_iter()
            .chain([(String::new(), all)])
            .map(|(name, up)| (name, status(up)))
            .collect()
    }

    pub(crate) async fn publish(&self, reporter: &HealthReporter) {
        for (name, status) in self.statuses() {
            reporter.set_service_status(name, status).await;
        }
    }

    /// Publishes every change until dropped.
    pub(crate) async fn keep_published(&self, reporter: &HealthReporter) {
        let mut changes = self.0.changed.subscribe();
        loop {
            self.publish(reporter).await;
            if changes.changed().await.is_err() {
                std::future::pending().await
            }
        }
    }

    fn flags(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Arc<AtomicBool>>>> {
        self.0.flags.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server that knows whether it can answer.
pub trait Ready: Send + Sync {
    /// Whether it can.
    fn is_ready(&self) -> BoxFuture<'_, bool>;
}

impl Ready for Health {
    fn is_ready(&self) -> BoxFuture<'_, bool> {
        let statuses = self.statuses();
        let ready = statuses.iter().all(|(_, status)| *status == ServingStatus::Serving);
        std::future::ready(ready).boxed()
    }
}

/// The servers of this process that serve or drain.
static SERVERS: Mutex<Vec<Weak<dyn Ready>>> = Mutex::new(Vec::new());

fn servers() -> MutexGuard<'static, Vec<Weak<dyn Ready>>> {
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a server for `/readyz` of the port of metrics, as long as it is held.
pub fn enlist(server: &Arc<impl Ready + 'static>) {
    let server: Weak<dyn Ready> = Arc::downgrade(server) as _;
    servers().push(server);
}

/// Whether this process serves, and all of its servers can answer.
pub(crate) async fn is_process_ready() -> bool {
    let all: Vec<_> = {
        let mut servers = servers();
        servers.retain(|server| server.strong_count() > 0);
        servers.iter().filter_map(Weak::upgrade).collect()
    };
    let ready = join_all(all.iter().map(|server| server.is_ready())).await;
    !ready.is_empty() && ready.into_iter().all(|ready| ready)
}

/// Whether a part of a service can serve. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HealthFlag {
    service: Arc<str>,
    up: Arc<AtomicBool>,
    changed: watch::Sender<()>,
}

impl HealthFlag {
    /// A flag that no server reports, for tests and for actors inside a process.
    pub fn detached(service: &str) -> Self {
        Self {
            service: service.into(),
            up: Arc::new(AtomicBool::new(true)),
            changed: watch::Sender::new(()),
        }
    }

    /// Raises or lowers the flag.
    pub fn set_serving(&self, serving: bool) {
        if self.up.swap(serving, Ordering::SeqCst) != serving {
            tracing::info!(service = &*self.service, serving, "health changed");
            self.changed.send_replace(());
        }
    }

    /// Whether it is up.
    pub fn is_serving(&self) -> bool {
        self.up.load(Ordering::SeqCst)
    }
}

/// The health service, with watches that end when the server does: `Watch` never ends by itself and would hold up every
/// drain until its timeout.
pub(super) struct EndingWatches {
    pub(super) inner: HealthService,
    pub(super) shutdown: CancellationToken,
}

#[tonic::async_trait]
impl HealthApi for EndingWatches {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        self.inner.check(request).await
    }

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let statuses = self.inner.watch(request).await?.into_inner();
        let not_serving = HealthCheckResponse {
            status: ServingStatus::NotServing as i32,
        };
        let ending = statuses
            .take_until(self.shutdown.clone().cancelled_owned())
            .chain(futures::stream::once(async move { Ok(not_serving) }));
        Ok(Response::new(Box::pin(ending)))
    }
}

#[cfg(test)]
mod tests;
