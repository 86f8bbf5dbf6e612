//! The actor that retrieves and stores.

use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{Actor, AsyncContext, Context, Handler};
use emend_chassis::{Alive, Job};

use crate::library::Library;
use crate::messages::{DeleteDocuments, GetCollection, IngestDocument, ListCollections, ListDocuments, Retrieve};

/// Works on as many tasks at once as are admitted. It computes nothing on its own thread: embedding has its threads, and
/// the store and the splitter block others.
pub(crate) struct RetrieverActor {
    library: Arc<Library>,
    _alive: Alive,
}

impl RetrieverActor {
    pub(crate) fn new(library: Arc<Library>, alive: Alive) -> Self {
        Self { library, _alive: alive }
    }
}

impl Actor for RetrieverActor {
    type Context = Context<Self>;
}

impl Handler<Job<Retrieve>> for RetrieverActor {
    type Result = ();

    fn handle(&mut self, job: Job<Retrieve>, context: &mut Self::Context) {
        let library = Arc::clone(&self.library);
        let work = job.run(move |task, _| async move { library.retrieve(task).await });
        context.spawn(work.into_actor(self));
    }
}

impl Handler<Job<IngestDocument>> for RetrieverActor {
    type Result = ();

    fn handle(&mut self, job: Job<IngestDocument>, context: &mut Self::Context) {
        let library = Arc::clone(&self.library);
        let work = job.run(move |task, _| async move { library.ingest(task).await });
        context.spawn(work.into_actor(self));
    }
}

impl Handler<Job<DeleteDocuments>> for RetrieverActor {
    type Result = ();

    fn handle(&mut self, job: Job<DeleteDocuments>, context: &mut Self::Context) {
        let library = Arc::clone(&self.library);
        let work = job.run(move |task, _| async move { library.delete(task).await });
        context.spawn(work.into_actor(self));
    }
}

impl Handler<Job<ListDocuments>> for RetrieverActor {
    type Result = ();

    fn handle(&mut self, job: Job<ListDocuments>, context: &mut Self::Context) {
        let library = Arc::clone(&self.library);
        let work = job.run(move |task, _| async move { library.documents(task).await });
        context.spawn(work.into_actor(self));
    }
}

impl Handler<Job<ListCollections>> for RetrieverActor {
    type Result = ();

    fn handle(&mut self, job: Job<ListCollections>, context: &mut Self::Context) {
        let library = Arc::clone(&self.library);
        let work = job.run(move |_, _| async move { library.collections().await });
        context.spawn(work.into_actor(self));
    }
}

impl Handler<Job<GetCollection>> for RetrieverActor {
    type Result = ();

    fn handle(&mut self, job: Job<GetCollection>, context: &mut Self::Context) {
        let library = Arc::clone(&self.library);
        let work = job.run(move |task, _| async move { library.collection(&task.0).await });
        context.spawn(work.into_actor(self));
    }
}
