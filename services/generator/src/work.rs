//! The work of the generator's actors.

use std::sync::Arc;

use emend_chassis::{EventSender, Work};
use emend_core::Scope;
use emend_proto::place;
use emend_proto::v1::generate_response::Event;
use emend_proto::v1::{GenerateRequest, GenerateResponse, Passage, Sentence};

use crate::backend::{Backend, Deltas};
use crate::error::GenerateError;

/// What all work of the generator needs.
pub(crate) struct Generator(pub(crate) Arc<dyn Backend>);

/// Writes an answer into the stream. The request is valid.
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
        let mut finished = backend.generate(&request, &Deltas::new(events.clone()), scope).await?;
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
}

/// Sets the span of each quotation in its document. Backends only set the span in the passage.
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
