//! How answers are written.

mod extractive;
mod openai;

use std::ops::Range;
use std::sync::Arc;

use emend_chassis::{EventSender, Gone};
use emend_core::{Deadline, Reserve, Scope};
use emend_evaluator::Evaluator;
use emend_models::embed;
use emend_models::progress::Progress;
use emend_models::prompt::Prompts;
use emend_proto::v1::generate_response::Event;
use emend_proto::v1::{FinishReason, GenerateFinished, GenerateRequest, GenerateResponse, Sentence, Span};
use emend_text::Language;
use futures::future::BoxFuture;

use crate::config::{BackendKind, Options};
use crate::error::{GenerateError, LoadError};

pub use extractive::ExtractiveBackend;
pub use openai::{OpenAiBackend, OpenAiSettings};

/// Writes answers.
pub trait Backend: Send + Sync {
    /// Writes the answer to a valid request: its text into `deltas` as it comes, then the whole of it as the result.
    /// The deltas joined are the result's `answer`.
    ///
    /// Dropping the future stops the work (R12). A little before `scope`'s deadline the answer ends with what there is
    /// (R11).
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
        deltas: &'a Deltas,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<GenerateFinished, GenerateError>>;
}

/// Where the pieces of an answer go.
#[derive(Clone, Debug)]
pub struct Deltas(EventSender<GenerateResponse>);

impl Deltas {
    /// Pieces that become events of a stream.
    pub fn new(events: EventSender<GenerateResponse>) -> Self {
        Self(events)
    }

    /// Sends a piece, waiting for a slow reader; an empty one is not sent.
    ///
    /// # Errors
    /// [`Gone`] when nobody reads any more.
    pub async fn send(&self, piece: String) -> Result<(), Gone> {
        if piece.is_empty() {
            return Ok(());
        }
        self.0
            .send(GenerateResponse {
                event: Some(Event::TextDelta(piece)),
            })
            .await
    }
}

/// Makes the backend that the options name.
///
/// # Errors
/// [`LoadError`] when a model, coefficients or prompts cannot be had.
pub async fn load(options: &Options) -> Result<Arc<dyn Backend>, LoadError> {
    options.chat.check()?;
    match options.backend {
        BackendKind::Extractive => {
            let embedder = embed::load(&options.embedder, Progress::none()).await?;
            let evaluator = Evaluator::load(Arc::clone(&embedder), &options.evaluator)?;
            Ok(Arc::new(ExtractiveBackend::new(
                embedder,
                evaluator,
                options.max_sentences,
            )))
        }
        BackendKind::OpenAi => {
            let chat = options.chat.load(Progress::none()).await?;
            let chat = chat.ok_or(LoadError::NoModel)?;
            tracing::info!(model = chat.model(), "generating with a language model");
            let settings = OpenAiSettings {
                max_sentences: options.max_sentences,
                temperature: options.chat.llm_temperature,
            };
            Ok(Arc::new(OpenAiBackend::new(
                chat,
                Prompts::load(&options.prompts)?,
                settings,
            )))
        }
    }
}

/// When a backend stops, so that what it has still arrives before the deadline (R11).
fn writing_deadline(scope: &Scope) -> Deadline {
    scope.deadline.keeping(Reserve::PARTIAL_RESULT)
}

/// Says in `language`, the question's (R16), that the passages do not answer (R8).
async fn abstain(language: Language, model: &str, deltas: &Deltas) -> Result<GenerateFinished, GenerateError> {
    let answer = language.abstention().to_owned();
    deltas.send(answer.clone()).await?;
    let span = code_points(&answer, 0..answer.len());
    let sentence = Sentence {
        text: answer.clone(),
        span: Some(span),
        ..Sentence::default()
    };
    Ok(GenerateFinished {
        answer,
        sentences: vec![sentence],
        finish_reason: FinishReason::Stop.into(),
        usage: Some(emend_proto::v1::Usage::default()),
        abstained: true,
        model: model.to_owned(),
        likelihood: None,
    })
}

/// The place of a byte range of `text` in code points.
fn code_points(text: &str, range: Range<usize>) -> Span {
    let count = |range: Range<usize>| text.get(range).map_or(0, |part| part.chars().count());
    let start = count(0..range.start);
    let end = start + count(range);
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span {
        start: place(start),
        end: place(end),
    }
}

#[cfg(test)]
mod tests;
