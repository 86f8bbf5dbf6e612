//! What the generator does.

use std::sync::Arc;

use emend_chassis::{EventSender, Work};
use emend_core::Scope;
use emend_proto::v1::generate_response::Event;
use emend_proto::v1::{GenerateRequest, GenerateResponse};

use crate::backend::{Backend, Deltas};
use crate::error::GenerateError;

/// What all work of the generator needs.
pub(crate) struct Generator(pub(crate) Arc<dyn Backend>);

/// Write an answer into the stream. The request is valid.
pub(crate) struct Generate {
    pub(crate) request: GenerateRequest,
    pub(crate) events: EventSender<GenerateResponse>,
}

impl Work<Generator> for Generate {
    type Reply = ();
    type Error = GenerateError;
    const NAME: &'static str = "generate";

    async fn run(self, generator: &Generator, scope: &Scope) -> Result<(), GenerateError> {
        let backend = &generator.0;
        let Self { request, events } = self;
        let finished = backend.generate(&request, &Deltas::new(events.clone()), scope).await?;
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
}
