//! Health by service name, as `grpc.health.v1` reports it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::{Stream, StreamExt};
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

    /// Counts this server for [`is_process_ready`] until the returned value is dropped.
    pub(crate) fn enlist(&self) -> Arc<Health> {
        let enlisted = Arc::new(self.clone());
        servers().push(Arc::downgrade(&enlisted));
        enlisted
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

/// The servers of this process that serve or drain.
static SERVERS: Mutex<Vec<Weak<Health>>> = Mutex::new(Vec::new());

fn servers() -> MutexGuard<'static, Vec<Weak<Health>>> {
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process serves, and all of its services are SERVING.
pub(crate) fn is_process_ready() -> bool {
    let mut servers = servers();
    servers.retain(|server| server.strong_count() > 0);
    let serving = |health: Arc<Health>| {
        let statuses = health.statuses();
        statuses.iter().all(|(_, status)| *status == ServingStatus::Serving)
    };
    !servers.is_empty() && servers.iter().filter_map(Weak::upgrade).all(serving)
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
