//! The backends that write answers.

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
use emend_proto::place::CodePointOffsets;
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
    /// Writes the answer to a valid request: streams its text to `deltas` and returns the whole
    /// answer. The joined deltas equal the `answer` of the result.
    ///
    /// Dropping the future stops the work (R12). Shortly before the deadline of `scope`, the answer
    /// ends with the text so far (R11).
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
        deltas: &'a Deltas,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<GenerateFinished, GenerateError>>;
}

/// Where the text of an answer is streamed to.
#[derive(Clone, Debug)]
pub struct Deltas(EventSender<GenerateResponse>);

impl Deltas {
    /// Sends pieces as events of a stream.
    pub fn new(events: EventSender<GenerateResponse>) -> Self {
        Self(events)
    }

    /// Sends a piece, and waits for a slow reader. An empty piece is not sent.
    ///
    /// # Errors
    /// [`Gone`] when the reader has disconnected.
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

/// Loads the backend that the options select.
///
/// # Errors
/// [`LoadError`] when a model, coefficients or prompts cannot be loaded.
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

/// The deadline of a backend, early enough that its text arrives before the deadline of the request
/// (R11).
fn writing_deadline(scope: &Scope) -> Deadline {
    scope.deadline.keeping(Reserve::PARTIAL_RESULT)
}

/// Abstains (R8) in `language`, the language of the question (R16).
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

/// Converts a byte range of `text` to a range of code points.
/// How many bytes of a request's passages are read to write an answer.
fn read_bytes(request: &GenerateRequest) -> usize {
    request.passages.iter().map(|passage| passage.text.len()).sum()
}

fn code_points(text: &str, range: Range<usize>) -> Span {
    CodePointOffsets::new(text).span(&range)
}

#[cfg(test)]
mod tests;
