//! The actor that generates.

use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{Actor, AsyncContext, Context, Handler};
use emend_chassis::{Alive, Job};
use emend_core::Scope;
use emend_proto::place;
use emend_proto::v1::generate_response::Event;
use emend_proto::v1::{GenerateResponse, Passage, Sentence};

use crate::backend::{Backend, Deltas};
use crate::error::GenerateError;
use crate::messages::Generate;

/// Generates with its backend, as many answers at once as are admitted.
pub(crate) struct GeneratorActor {
    backend: Arc<dyn Backend>,
    _alive: Alive,
}

impl GeneratorActor {
    pub(crate) fn new(backend: Arc<dyn Backend>, alive: Alive) -> Self {
        Self { backend, _alive: alive }
    }
}

impl Actor for GeneratorActor {
    type Context = Context<Self>;
}

impl Handler<Job<Generate>> for GeneratorActor {
    type Result = ();

    fn handle(&mut self, job: Job<Generate>, context: &mut Self::Context) {
        let backend = Arc::clone(&self.backend);
        context.spawn(
            job.run(move |task, scope| generate(backend, task, scope))
                .into_actor(self),
        );
    }
}

async fn generate(backend: Arc<dyn Backend>, task: Generate, scope: Scope) -> Result<(), GenerateError> {
    let Generate { request, events } = task;
    let mut finished = backend.generate(&request, &Deltas::new(events.clone()), &scope).await?;
    locate(&mut finished.sentences, &request.passages);
    tracing::debug!(
        abstained = finished.abstained,
        sentences = finished.sentences.len(),
        finish_reason = ?finished.finish_reason(),
        "answer finished"
    );
    events
        .send(GenerateResponse {
            event: Some(Event::Finished(finished)),
        })
        .await?;
    Ok(())
}

/// Says where in its document each quotation stands. Backends say where in the passage, and this is the one place that
/// counts on from there.
fn locate(sentences: &mut [Sentence], passages: &[Passage]) {
    let citations = sentences.iter_mut().flat_map(|sentence| &mut sentence.citations);
    for citation in citations {
        let passage = usize::try_from(citation.number)
            .ok()
            .and_then(|number| passages.get(number.checked_sub(1)?));
        citation.document_span = passage
            .zip(citation.span)
            .and_then(|(passage, quoted)| place::document_span(passage, quoted));
    }
}
