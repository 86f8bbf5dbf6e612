//! The work of the orchestrator's actors: walks.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
};

use emend_chassis::{EventSender, UpstreamError, Work};
use emend_core::Scope;
use emend_proto::v1::{AskStreamResponse, ReplayWalkResponse, WalkResult};
use futures::FutureExt as _;

use crate::{
    replay::Replay,
    walk::{Events, Services, WalkError, WalkMetrics, WalkRequest, walk},
};

/// Runs a walk and replies with its result.
#[derive(Debug)]
pub struct Ask(pub WalkRequest);

impl Work<WalkRunner> for Ask {
    type Reply = WalkResult;
    type Error = WalkError;
    const NAME: &'static str = "ask";

    async fn run(self, runner: &WalkRunner, scope: &Scope) -> Result<WalkResult, WalkError> {
        runner.walk(self.0, Events::none(), scope).await
    }
}

/// Runs a walk and streams its events; the last event is the result.
#[derive(Debug)]
pub struct AskStream {
    /// What to walk.
    pub walk_request: WalkRequest,
    /// Where the events go.
    pub events: EventSender<AskStreamResponse>,
}

impl Work<WalkRunner> for AskStream {
    type Reply = ();
    type Error = WalkError;
    const NAME: &'static str = "ask_stream";

    async fn run(self, runner: &WalkRunner, scope: &Scope) -> Result<(), WalkError> {
        runner
            .walk(self.walk_request, Events::to(self.events), scope)
            .await
            .map(drop)
    }
}

/// Replays a walk; the runner's services are not called.
#[derive(Debug)]
pub(crate) struct ReplayWalk(pub(crate) Replay);

impl Work<WalkRunner> for ReplayWalk {
    type Reply = ReplayWalkResponse;
    type Error = WalkError;
    const NAME: &'static str = "replay_walk";

    async fn run(self, _: &WalkRunner, _: &Scope) -> Result<ReplayWalkResponse, WalkError> {
        self.0.run().await
    }
}

/// Factory of the clients of the five services.
#[derive(Clone)]
pub struct WalkServices(pub Arc<dyn Fn() -> Result<Arc<dyn Services>, UpstreamError> + Send + Sync>);

impl std::fmt::Debug for WalkServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WalkServices")
    }
}

/// What every walk needs besides its request. Each actor has its own runner and so its own clients,
/// so that a walk and the connections it waits for never wake each other across threads.
pub struct WalkRunner {
    make: WalkServices,
    services: OnceLock<Arc<dyn Services>>,
    metrics: WalkMetrics,
}

impl WalkRunner {
    /// Creates a runner. The first walk creates the clients, on the thread of the actor.
    pub fn new(services: WalkServices, metrics: WalkMetrics) -> WalkRunner {
        WalkRunner {
            make: services,
            services: OnceLock::new(),
            metrics,
        }
    }

    fn services(&self) -> Result<&dyn Services, UpstreamError> {
        let services = match self.services.get() {
            Some(services) => services,
            None => {
                let made = (self.make.0)()?;
                self.services.get_or_init(|| made)
            }
        };
        Ok(services.as_ref())
    }

    /// Runs one walk. A panic becomes [`WalkError::Internal`] and affects no other walk.
    async fn walk(&self, walk_request: WalkRequest, events: Events, scope: &Scope) -> Result<WalkResult, WalkError> {
        let services = self.services().map_err(|error| {
            tracing::error!(%error, "cannot create the clients of the services");
            WalkError::Internal
        })?;
        let walking = walk(walk_request, services, scope.deadline, &events, &self.metrics);
        AssertUnwindSafe(walking).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("a walk panicked");
            Err(WalkError::Internal)
        })
    }
}

impl std::fmt::Debug for WalkRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WalkRunner")
    }
}
