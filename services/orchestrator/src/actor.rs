//! One actor a walk, and the one that starts them.

use std::{num::NonZero, panic::AssertUnwindSafe, sync::Arc, thread};

use actix::{
    Actor, ActorContext as _, ActorFutureExt as _, Arbiter, AsyncContext as _, Context, Handler, WrapFuture as _,
};
use emend_chassis::{Alive, Job, Scope};
use emend_proto::v1::WalkResult;
use futures::{FutureExt as _, future::BoxFuture};

use crate::{
    messages::{Ask, AskStream},
    walk::{Course, Events, Services, WalkError, WalkMetrics, walk},
};

/// Most threads that walks are spread over. A walk waits for other services most of the time.
const MOST_ARBITERS: usize = 4;

/// Starts a [`WalkActor`] for each question, on one of a few threads in turn.
#[derive(Debug)]
pub struct WalksActor {
    services: WalkServices,
    metrics: WalkMetrics,
    arbiters: Vec<Arbiter>,
    next: usize,
    _alive: Alive,
}

/// The five services, shared by all walks.
#[derive(Clone)]
pub struct WalkServices(pub Arc<dyn Services>);

impl std::fmt::Debug for WalkServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WalkServices")
    }
}

impl WalksActor {
    /// Call it on a thread that runs actors, as the chassis does.
    pub fn new(services: WalkServices, metrics: WalkMetrics, alive: Alive) -> WalksActor {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        WalksActor {
            services,
            metrics,
            arbiters: (0..threads.min(MOST_ARBITERS)).map(|_| Arbiter::new()).collect(),
            next: 0,
            _alive: alive,
        }
    }

    /// Starts an actor for one walk.
    fn start(&mut self, walk: BoxFuture<'static, ()>) {
        self.next = (self.next + 1) % self.arbiters.len();
        let arbiter = self.arbiters[self.next].handle();
        WalkActor::start_in_arbiter(&arbiter, move |_| WalkActor { walk: Some(walk) });
    }

    /// What runs the walk of one job.
    fn guide(&self) -> Guide {
        Guide {
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
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
    }
}

impl Handler<Job<Ask>> for WalksActor {
    type Result = ();

    fn handle(&mut self, job: Job<Ask>, _: &mut Context<Self>) {
        let guide = self.guide();
        let walk = job.run(move |Ask(course), scope| guide.walk(course, Events::none(), scope));
        self.start(walk.boxed());
    }
}

impl Handler<Job<AskStream>> for WalksActor {
    type Result = ();

    fn handle(&mut self, job: Job<AskStream>, _: &mut Context<Self>) {
        let guide = self.guide();
        let walk = job.run(move |AskStream { course, events }, scope| {
            guide
                .walk(course, Events::to(events), scope)
                .map(|ended| ended.map(drop))
        });
        self.start(walk.boxed());
    }
}

/// What every walk needs besides its course.
struct Guide {
    services: WalkServices,
    metrics: WalkMetrics,
}

impl Guide {
    /// Walks. A panic ends this walk, with an error of its own, and nothing else.
    async fn walk(self, course: Course, events: Events, scope: Scope) -> Result<WalkResult, WalkError> {
        let Guide { services, metrics } = self;
        let walking = walk(course, services.0.as_ref(), scope.deadline, &events, &metrics);
        AssertUnwindSafe(walking).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("a walk panicked");
            Err(WalkError::Panicked)
        })
    }
}

/// One question's walk: it owns the walk's state and drives it, and stops when the walk ends or its caller is gone.
struct WalkActor {
    walk: Option<BoxFuture<'static, ()>>,
}

impl Actor for WalkActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        if let Some(walk) = self.walk.take() {
            context.spawn(walk.into_actor(self).map(|(), _, context| context.stop()));
        }
    }
}
