//! Answers from a language model.

use std::sync::Arc;

use emend_core::{Scope, Turns};
use emend_models::chat::{
    Chat, ChatDelta, ChatError, ChatRequest, FinishReason as ModelFinish, Message, ModelFailure, Receipt,
    Usage as Tokens,
};
use emend_models::prompt::{Evidence, Generate, Prompts};
use emend_proto::v1::chat_message::Role;
use emend_proto::v1::{Citation, FinishReason, GenerateFinished, GenerateRequest, Passage, Sentence, Usage};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};

use super::{Backend, Deltas, read_bytes, writing_deadline};
use crate::citations::Mark;
use crate::continuation::COMPLETE;
use crate::draft::Draft;
use crate::error::GenerateError;
use emend_proto::place::CodePointOffsets;

/// How much each further attempt at the same passages raises the temperature, and up to which
/// value. The same prompt at temperature 0 would give the same answer again (R3).
const TEMPERATURE_STEP: f64 = 0.3;
const MAX_RAISED_TEMPERATURE: f64 = 1.0;

/// Settings that apply if a request sets none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenAiSettings {
    /// Longest answer in sentences that the prompt asks for; 0 means no limit. The model is only
    /// stopped at the limit of a request.
    pub max_sentences: u32,
    /// Sampling temperature of the first attempt, 0–2.
    pub temperature: f32,
}

/// The backend `openai`: one streaming call, with the citations extracted from the text. A model
/// that continues beyond the requested number of sentences is stopped. The tokens of that call are
/// unknown, because servers report them at the end.
#[derive(Clone)]
pub struct OpenAiBackend {
    chat: Arc<dyn Chat>,
    prompts: Prompts,
    settings: OpenAiSettings,
}

impl OpenAiBackend {
    /// Generates with this model and these prompts.
    pub fn new(chat: Arc<dyn Chat>, prompts: Prompts, settings: OpenAiSettings) -> Self {
        Self {
            chat,
            prompts,
            settings,
        }
    }

    fn request(&self, request: &GenerateRequest) -> Result<ChatRequest, GenerateError> {
        let language = emend_text::language(&request.question);
        let titles: Vec<_> = request.passages.iter().map(Passage::title_line).collect();
        let titled = request.passages.iter().zip(&titles);
        let passages: Vec<Evidence<'_>> = titled
            .map(|(passage, title)| Evidence {
                title,
                text: &passage.text,
            })
            .collect();
        let unsupported: Vec<&str> = request.unsupported.iter().map(String::as_str).collect();
        let input = Generate {
            question: &request.question,
            passages: &passages,
            language,
            unsupported: &unsupported,
            max_sentences: request.max_sentences.unwrap_or(self.settings.max_sentences),
            abstention: language.abstention(),
            answer_so_far: request.answer_so_far.trim(),
            complete: COMPLETE,
        };
        let mut chat = self.prompts.render(&input, language)?.request();
        // The conversation comes between the instructions and the question.
        let question = chat.messages.len().saturating_sub(1);
        chat.messages
            .splice(question..question, request.history.iter().map(turn));
        let again = request.attempt.max(1) - 1;
        chat.temperature = Some(temperature(request.temperature, self.settings.temperature, again));
        chat.max_tokens = request.max_tokens;
        // Only the sampled token is used; 1 is the smallest number that requests log-probabilities.
        chat.top_logprobs = 1;
        chat.may_be_empty = !request.answer_so_far.trim().is_empty();
        chat.seed = request
            .seed
            .map(|seed| seed.unsigned_abs().wrapping_add(u64::from(again)) & SEEDS);
        Ok(chat)
    }

    fn bad_reply(&self, reason: &str, receipt: &Receipt) -> GenerateError {
        let error = ChatError::BadReply {
            model: self.chat.model().to_owned(),
            reason: reason.to_owned(),
        };
        GenerateError::Model(ModelFailure::new(error, receipt))
    }

    async fn write(
        &self,
        request: &GenerateRequest,
        deltas: &Deltas,
        scope: &Scope,
    ) -> Result<GenerateFinished, GenerateError> {
        let until = writing_deadline(scope);
        let (backend, own) = (self.clone(), request.clone());
        let rendered = Turns::shared().piece(read_bytes(request), move || backend.request(&own));
        let mut chat = rendered.await??;
        chat.deadline = Some(until.instant());
        let receipt = chat.receipt.clone();
        let mut stream = self.chat.stream(chat);
        let mut draft = Draft::new(request);
        let mut tokens = Tokens::default();
        let finish_reason = loop {
            let Ok(next) = until.run(stream.next()).await else {
                break FinishReason::Deadline;
            };
            match next {
                Some(Ok(ChatDelta::Logprobs(tokens))) => draft.tokens(&tokens),
                Some(Ok(ChatDelta::Text(piece))) => deltas.send(draft.push(&piece)).await?,
                Some(Ok(ChatDelta::Finished { finish_reason, usage })) => {
                    tokens = usage;
                    break finish(finish_reason);
                }
                // A timeout of the model counts as the deadline once there is text to show.
                Some(Err(ChatError::Timeout { .. })) if until.is_expired() || !draft.answer().is_empty() => {
                    break FinishReason::Deadline;
                }
                Some(Err(ChatError::Refused { .. })) => break FinishReason::ContentFilter,
                Some(Err(error)) => return Err(GenerateError::Model(ModelFailure::new(error, &receipt))),
                // A stream without a finish reason was cut off.
                None => {
                    return Err(self.bad_reply("the stream ended without a finish reason", &receipt));
                }
            }
            if draft.is_full() {
                break FinishReason::Length;
            }
        };
        drop(stream);
        tokens += receipt.waste();
        let (rest, written) = draft.finish();
        deltas.send(rest).await?;
        let finish_reason = if written.is_cut {
            FinishReason::Length
        } else {
            finish_reason
        };
        let answer = written.answer;
        if answer.is_empty() && finish_reason == FinishReason::Deadline {
            let model_calls = receipt.calls();
            return Err(GenerateError::OutOfTime { model_calls });
        }
        // A model that was cut off while it repeated the answer has not said that the answer is
        // complete.
        if answer.is_empty() && finish_reason == FinishReason::Length && !request.answer_so_far.trim().is_empty() {
            let reason = "it repeated the answer so far until its limit in tokens";
            return Err(self.bad_reply(reason, &receipt));
        }
        let abstained = !answer.is_empty() && emend_text::is_abstention(&answer);
        Ok(GenerateFinished {
            sentences: sentences(&answer, &written.marks, &request.passages),
            answer,
            finish_reason: finish_reason.into(),
            usage: Some(Usage {
                model_calls: receipt.calls().max(1),
                input_tokens: tokens.input_tokens,
                output_tokens: tokens.output_tokens,
            }),
            abstained,
            model: receipt.model().unwrap_or_else(|| self.chat.model().to_owned()),
            likelihood: written.likelihood,
        })
    }
}

impl Backend for OpenAiBackend {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
        deltas: &'a Deltas,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<GenerateFinished, GenerateError>> {
        self.write(request, deltas, scope).boxed()
    }
}

/// Keeps seeds within the range of the signed integers that servers accept.
const SEEDS: u64 = i64::MAX.unsigned_abs();

/// The temperature of the request, otherwise of the service, raised by one step for each earlier
/// attempt.
fn temperature(asked: Option<f64>, service: f32, attempts_before: u32) -> f32 {
    let first = asked.unwrap_or_else(|| f64::from(service));
    let raised = first + TEMPERATURE_STEP * f64::from(attempts_before);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a temperature is 0 to 2, and a model does not see the difference"
    )]
    {
        raised.min(MAX_RAISED_TEMPERATURE.max(first)) as f32
    }
}

fn turn(message: &emend_proto::v1::ChatMessage) -> Message {
    match message.role() {
        Role::Assistant => Message::assistant(&message.content),
        Role::User | Role::Unspecified => Message::user(&message.content),
    }
}

fn finish(reason: ModelFinish) -> FinishReason {
    match reason {
        ModelFinish::Length => FinishReason::Length,
        ModelFinish::ContentFilter => FinishReason::ContentFilter,
        ModelFinish::Stop | ModelFinish::Other => FinishReason::Stop,
    }
}

/// The answer's sentences. A mark belongs to the sentence that it ends or follows.
fn sentences(answer: &str, marks: &[Mark], passages: &[Passage]) -> Vec<Sentence> {
    let ranges = emend_text::sentences(answer);
    let mut offsets = CodePointOffsets::new(answer);
    let mut sentences: Vec<Sentence> = ranges
        .iter()
        .map(|range| Sentence {
            text: answer.get(range.clone()).unwrap_or_default().to_owned(),
            span: Some(offsets.span(range)),
            ..Sentence::default()
        })
        .collect();
    for mark in marks {
        let owner = ranges.partition_point(|range| range.start < mark.at).saturating_sub(1);
        let (Some(sentence), Some(passage)) = (sentences.get_mut(owner), passages.get(mark.number - 1)) else {
            continue;
        };
        let number = u32::try_from(mark.number).unwrap_or(u32::MAX);
        if sentence.citations.iter().all(|citation| citation.number != number) {
            sentence.citations.push(Citation {
                number,
                passage_id: passage.id.clone(),
                span: None,
                document_span: None,
            });
        }
    }
    sentences
}

#[cfg(test)]
mod tests;
