//! One actor a walk, and the one that starts them.

use std::{
    cell::OnceCell,
    num::NonZero,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use actix::{
    Actor, ActorContext as _, ActorFutureExt as _, Arbiter, ArbiterHandle, AsyncContext as _, Context, Handler,
    WrapFuture as _,
};
use emend_chassis::{Alive, Job, UpstreamError};
use emend_core::Scope;
use emend_proto::v1::WalkResult;
use futures::{FutureExt as _, future::BoxFuture};

use crate::{
    messages::{Ask, AskStream},
    walk::{Events, Services, WalkError, WalkMetrics, WalkRequest, walk},
};

/// Most threads that walks are spread over. A walk waits for other services most of the time.
const MAX_THREADS: usize = 4;

/// Starts a [`WalkActor`] for each question, on the thread of a few that has the fewest walks; its own comes first, as no
/// other has to wake up for it.
#[derive(Debug)]
pub struct WalksActor {
    services: WalkServices,
    metrics: WalkMetrics,
    threads: Vec<WalkThread>,
    _alive: Alive,
}

/// A thread that walks.
#[derive(Debug)]
struct WalkThread {
    arbiter: ArbiterHandle,
    walks: Arc<AtomicUsize>,
    /// Whether it was made for walks and ends with them.
    own: bool,
}

impl WalkThread {
    fn new(arbiter: ArbiterHandle, own: bool) -> WalkThread {
        WalkThread {
            arbiter,
            walks: Arc::default(),
            own,
        }
    }
}

/// Makes clients of the five services. Each thread that walks makes its own, so that a walk and the connections it waits
/// for never wake each other across threads.
#[derive(Clone)]
pub struct WalkServices(pub Arc<dyn Fn() -> Result<Arc<dyn Services>, UpstreamError> + Send + Sync>);

thread_local! {
    /// The clients of this thread. It walks for one orchestrator only: actor systems are not shared.
    static SERVICES: OnceCell<Arc<dyn Services>> = const { OnceCell::new() };
}

impl WalkServices {
    /// The clients of this thread.
    fn here(&self) -> Result<Arc<dyn Services>, UpstreamError> {
        SERVICES.with(|services| match services.get() {
            Some(services) => Ok(Arc::clone(services)),
            None => {
                let made = (self.0)()?;
                Ok(Arc::clone(services.get_or_init(|| made)))
            }
        })
    }
}

impl std::fmt::Debug for WalkServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WalkServices")
    }
}

impl WalksActor {
    /// Call it on a thread that runs actors, as the chassis does.
    pub fn new(services: WalkServices, metrics: WalkMetrics, alive: Alive) -> WalksActor {
        let others = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS) - 1;
        let threads = (0..others).map(|_| WalkThread::new(Arbiter::new().handle(), true));
        WalksActor {
            services,
            metrics,
            threads: [WalkThread::new(Arbiter::current(), false)]
                .into_iter()
                .chain(threads)
                .collect(),
            _alive: alive,
        }
    }

    /// Starts an actor for one walk.
    fn start(&mut self, walk: BoxFuture<'static, ()>) {
        let least = self
            .threads
            .iter()
            .min_by_key(|thread| thread.walks.load(Ordering::Relaxed));
        let Some(thread) = least else {
            return;
        };
        let counted = Counted::new(&thread.walks);
        WalkActor::start_in_arbiter(&thread.arbiter, move |_| WalkActor {
            walk: Some(walk),
            _counted: counted,
        });
    }

    /// What runs the walk of one job.
    fn runner(&self) -> WalkRunner {
        WalkRunner {
            services: self.services.clone(),
            metrics: self.metrics.clone(),
        }
    }
}

impl Actor for WalksActor {
    type Context = Context<Self>;
}

impl Drop for WalksActor {
    fn drop(&mut self) {
        for thread in self.threads.iter().filter(|thread| thread.own) {
            thread.arbiter.stop();
        }
    }
}

impl Handler<Job<Ask>> for WalksActor {
    type Result = ();

    fn handle(&mut self, job: Job<Ask>, _: &mut Context<Self>) {
        let runner = self.runner();
        let walk = job.run(move |Ask(walk_request), scope| runner.walk(walk_request, Events::none(), scope));
        self.start(walk.boxed());
    }
}

impl Handler<Job<AskStream>> for WalksActor {
    type Result = ();

    fn handle(&mut self, job: Job<AskStream>, _: &mut Context<Self>) {
        let runner = self.runner();
        let walk = job.run(move |AskStream { walk_request, events }, scope| {
            runner
                .walk(walk_request, Events::to(events), scope)
                .map(|ended| ended.map(drop))
        });
        self.start(walk.boxed());
    }
}

/// What every walk needs besides its walk_request.
struct WalkRunner {
    services: WalkServices,
    metrics: WalkMetrics,
}

impl WalkRunner {
    /// Walks. A panic ends this walk, with an error of its own, and nothing else.
    async fn walk(self, walk_request: WalkRequest, events: Events, scope: Scope) -> Result<WalkResult, WalkError> {
        let WalkRunner { services, metrics } = self;
        let services = services.here().map_err(|error| {
            tracing::error!(%error, "there are no clients to walk with");
            WalkError::Panicked
        })?;
        let walking = walk(walk_request, services.as_ref(), scope.deadline, &events, &metrics);
        AssertUnwindSafe(walking).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("a walk panicked");
            Err(WalkError::Panicked)
        })
    }
}

/// One question's walk: it owns the walk's state and drives it, and stops when the walk ends or its caller is gone.
struct WalkActor {
    walk: Option<BoxFuture<'static, ()>>,
    _counted: Counted,
}

/// A walk among those of its thread, for as long as it lasts.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(walks: &Arc<AtomicUsize>) -> Counted {
        walks.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(walks))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Actor for WalkActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        if let Some(walk) = self.walk.take() {
            context.spawn(walk.into_actor(self).map(|(), _, context| context.stop()));
        }
    }
}
