//! The actor that grades.

use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{Actor, AsyncContext, Context, Handler};
use emend_chassis::{Alive, Job};

use crate::backend::Backend;
use crate::messages::{DecideRetrieval, GradeDocuments, GradeGroundedness, GradeUsefulness, RefineKnowledge};
use crate::{documents, groundedness, refine, retrieval_decision, usefulness};

/// Grades with its backend, as many requests at once as are admitted.
pub(crate) struct GraderActor {
    backend: Arc<dyn Backend>,
    _alive: Alive,
}

impl GraderActor {
    pub(crate) fn new(backend: Arc<dyn Backend>, alive: Alive) -> Self {
        Self { backend, _alive: alive }
    }
}

impl Actor for GraderActor {
    type Context = Context<Self>;
}

impl Handler<Job<GradeDocuments>> for GraderActor {
    type Result = ();

    fn handle(&mut self, job: Job<GradeDocuments>, context: &mut Self::Context) {
        let backend = Arc::clone(&self.backend);
        let work = job.run(move |task, scope| async move { documents::grade(&*backend, task.0, &scope).await });
        context.spawn(work.into_actor(self));
    }
}

impl Handler<Job<GradeGroundedness>> for GraderActor {
    type Result = ();

    fn handle(&mut self, job: Job<GradeGroundedness>, context: &mut Self::Context) {
        let backend = Arc::clone(&self.backend);
        let work = job.run(move |task, scope| async move { groundedness::grade(&*backend, task.0, &scope).await });
        context.spawn(work.into_actor(self));
    }
}

impl Handler<Job<GradeUsefulness>> for GraderActor {
    type Result = ();

    fn handle(&mut self, job: Job<GradeUsefulness>, context: &mut Self::Context) {
        let backend = Arc::clone(&self.backend);
        let work = job.run(move |task, scope| async move { usefulness::grade(&*backend, task.0, &scope).await });
        context.spawn(work.into_actor(self));
    }
}

impl Handler<Job<DecideRetrieval>> for GraderActor {
    type Result = ();

    fn handle(&mut self, job: Job<DecideRetrieval>, context: &mut Self::Context) {
        let backend = Arc::clone(&self.backend);
        let work =
            job.run(move |task, scope| async move { retrieval_decision::decide(&*backend, task.0, &scope).await });
        context.spawn(work.into_actor(self));
    }
}

impl Handler<Job<RefineKnowledge>> for GraderActor {
    type Result = ();

    fn handle(&mut self, job: Job<RefineKnowledge>, context: &mut Self::Context) {
        let backend = Arc::clone(&self.backend);
        let work = job.run(move |task, scope| async move { refine::refine(&*backend, task.0, &scope).await });
        context.spawn(work.into_actor(self));
    }
}
