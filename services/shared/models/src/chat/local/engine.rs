//! A loaded model and its generation loop.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::LoadError;
use super::decoder::{Cache, Decoder};
use super::family::Family;
use super::gguf::Gguf;
use super::sampling::{Sampling, ScoredToken, top_logprobs};
use super::template::Template;
use super::tokens::{Tokens, Utf8Decoder};
use crate::chat::{ChatDelta, ChatError, ChatRequest, FinishReason, Message, TokenLogprobs, Usage};

/// Tokens per forward pass of the prefill. The prompt cache is truncated to a multiple of it: each token is then
/// computed in the same batch, and the logits are bit-identical with and without the cache.
const CHUNK: usize = 64;
/// Context length in tokens if the file does not specify one.
const DEFAULT_CONTEXT: usize = 2048;

/// A loaded model.
pub(super) struct Engine {
    name: String,
    decoder: Decoder,
    tokens: Tokens,
    template: Template,
    context: usize,
    /// Limits inference to one call at a time. Waiters are served in FIFO order.
    turn: Arc<Semaphore>,
    /// Prompt cache: the KV cache of the last prompt. The prompts of one service share a prefix.
    prompt_cache: Mutex<Option<Cache>>,
}

/// The input of one call.
pub(super) struct Plan {
    /// The request, with the client's defaults filled in.
    pub(super) request: ChatRequest,
    pub(super) deadline: std::time::Instant,
}

type Deltas = UnboundedSender<Result<ChatDelta, ChatError>>;

impl Engine {
    /// Reads the GGUF file at `path`. Blocking.
    pub(super) fn read(path: &Path, name: String) -> Result<Self, LoadError> {
        let mut gguf = Gguf::open(path)?;
        let family = Family::read(&gguf)?;
        let tokens = Tokens::read(&gguf)?;
        let source = gguf.optional_text("tokenizer.chat_template");
        let template = Template::new(source, tokens.bos(), tokens.eos());
        let template = template.map_err(|error| gguf.corrupt(format!("invalid chat template: {error}")))?;
        let decoder = Decoder::read(&mut gguf, family)?;
        if decoder.vocabulary() < tokens.len() {
            return Err(gguf.corrupt(format!(
                "the vocabulary has {} tokens, but there are only {} token embeddings",
                tokens.len(),
                decoder.vocabulary()
            )));
        }
        Ok(Self {
            context: gguf.optional_size("context_length").unwrap_or(DEFAULT_CONTEXT),
            name,
            decoder,
            tokens,
            template,
            turn: Arc::new(Semaphore::new(1)),
            prompt_cache: Mutex::default(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The context length in tokens, shared by the prompt and the reply.
    pub(super) fn context(&self) -> usize {
        self.context
    }

    /// Bytes of weights read per generated token.
    pub(super) fn bytes(&self) -> usize {
        self.decoder.bytes()
    }

    pub(super) fn bad_reply(&self, reason: &str) -> ChatError {
        ChatError::BadReply {
            model: self.name.clone(),
            reason: reason.to_owned(),
        }
    }

    /// Creates the error that a server returns for an invalid request (status 400).
    fn rejected(&self, reason: String) -> ChatError {
        ChatError::Rejected {
            model: self.name.clone(),
            status: 400,
            reason,
        }
    }

    /// Waits until the model is free, then starts generation on a blocking thread. The deltas arrive on the channel.
    pub(super) async fn start(self: Arc<Self>, plan: Plan) -> UnboundedReceiver<Result<ChatDelta, ChatError>> {
        let (sender, receiver) = unbounded_channel();
        // The semaphore is never closed, so this does not fail.
        if let Ok(turn) = Arc::clone(&self.turn).acquire_owned().await {
            let span = tracing::Span::current();
            tokio::task::spawn_blocking(move || span.in_scope(|| self.run(plan, &sender, turn)));
        }
        receiver
    }

    fn run(&self, plan: Plan, deltas: &Deltas, turn: OwnedSemaphorePermit) {
        let computed = self.reply(plan, deltas);
        // Released before the end is sent, so that the receiver can start the next call at once.
        drop(turn);
        let last = match computed {
            Ok(Some(finished)) => Ok(finished),
            Ok(None) => Err(ChatError::Timeout {
                model: self.name.clone(),
            }),
            Err(error) => Err(error),
        };
        let _ = deltas.send(last);
    }

    /// Generates a reply and returns its last delta. `None` if the call was cancelled or its deadline has passed.
    fn reply(&self, plan: Plan, deltas: &Deltas) -> Result<Option<ChatDelta>, ChatError> {
        let Plan { request, deadline } = &plan;
        let cancelled = || deltas.is_closed() || std::time::Instant::now() >= *deadline;
        if cancelled() {
            return Ok(None);
        }
        let prompt = self.prompt(request)?;
        let failed = |error: candle_core::Error| self.bad_reply(&error.to_string());
        let (mut cache, mut logits) = match self.prefill(&prompt, &cancelled).map_err(failed)? {
            Some(prefilled) => prefilled,
            None => return Ok(None),
        };
        let mut sampling = Sampling::new(request);
        let max_tokens = request.max_tokens.map_or(u64::MAX, u64::from);
        let mut text = Utf8Decoder::default();
        let mut output_tokens = 0;
        let finish_reason = loop {
            if output_tokens >= max_tokens || cache.len() >= self.context {
                break FinishReason::Length;
            }
            let Some(token) = sampling.sample(&logits) else {
                return Err(self.bad_reply("the logits are NaN: the file may be damaged"));
            };
            if self.tokens.is_end(token) {
                break FinishReason::Stop;
            }
            output_tokens += 1;
            if request.top_logprobs > 0 {
                // From the raw logits, without the frequency penalty.
                let logprobs = self.token_logprobs(&logits, token, request.top_logprobs);
                let _ = deltas.send(Ok(ChatDelta::Logprobs(vec![logprobs])));
            }
            send(deltas, text.push(self.tokens.bytes(token)));
            match self.decoder.forward(&[token], &mut cache, &cancelled).map_err(failed)? {
                Some(next) => logits = next,
                None => return Ok(None),
            }
        };
        send(deltas, text.finish());
        self.store_prompt_cache(cache, prompt.len());
        Ok(Some(ChatDelta::Finished {
            finish_reason,
            usage: Usage {
                input_tokens: prompt.len() as u64,
                output_tokens,
            },
        }))
    }

    /// Renders the messages of `request` and tokenizes them.
    pub(super) fn prompt(&self, request: &ChatRequest) -> Result<Vec<u32>, ChatError> {
        let mut messages: Vec<Message> = request
            .messages
            .iter()
            .map(|message| Message {
                role: message.role,
                content: self.tokens.escape_control_tokens(&message.content),
            })
            .collect();
        if let Some(schema) = &request.response_schema {
            schema.say(&mut messages);
        }
        let text = self
            .template
            .render(&messages)
            .map_err(|reason| self.rejected(reason))?;
        let prompt = self.tokens.encode(&text);
        let prompt = prompt.map_err(|error| self.bad_reply(&format!("the tokenizer failed: {error}")))?;
        if prompt.is_empty() || prompt.len() >= self.context {
            return Err(self.rejected(format!(
                "the messages have {} tokens, and the context length of the model is {}, including the reply; give \
                 fewer or shorter passages, or use a model with a longer context",
                prompt.len(),
                self.context
            )));
        }
        Ok(prompt)
    }

    /// Prefills the KV cache with the prompt and returns it with the logits of the next token. Reuses the common prefix
    /// with the prompt cache. `None` if the call was cancelled.
    fn prefill(&self, prompt: &[u32], cancelled: &dyn Fn() -> bool) -> candle_core::Result<Option<(Cache, Vec<f32>)>> {
        let cached = self.prompt_cache.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut cache = cached.unwrap_or_else(|| self.decoder.new_cache());
        // The last token is always computed, because its logits are needed.
        let common = cache.common_prefix(prompt).min(prompt.len().saturating_sub(1));
        cache.truncate(common / CHUNK * CHUNK);
        let mut logits = Vec::new();
        for chunk in prompt.get(cache.len()..).unwrap_or_default().chunks(CHUNK) {
            match self.decoder.forward(chunk, &mut cache, cancelled)? {
                Some(next) => logits = next,
                None => return Ok(None),
            }
        }
        Ok(Some((cache, logits)))
    }

    /// Stores the whole chunks of a prompt of `prompt` tokens as the prompt cache.
    fn store_prompt_cache(&self, mut cache: Cache, prompt: usize) {
        cache.truncate(prompt / CHUNK * CHUNK);
        *self.prompt_cache.lock().unwrap_or_else(PoisonError::into_inner) = Some(cache);
    }

    fn token_logprobs(&self, logits: &[f32], token: u32, count: u8) -> TokenLogprobs {
        let (sampled, top) = top_logprobs(logits, token, usize::from(count));
        let named = |scored: ScoredToken| (self.tokens.name(scored.token), scored.logprob);
        TokenLogprobs {
            token: self.tokens.name(token),
            logprob: sampled.logprob,
            top: top.into_iter().map(named).collect(),
        }
    }
}

#[cfg(test)]
impl Engine {
    /// Waits until no call is running.
    pub(super) async fn idle(&self) {
        let _turn = self.turn.acquire().await;
    }

    pub(super) fn prompt_cache(&self) -> &Mutex<Option<Cache>> {
        &self.prompt_cache
    }

    pub(super) fn token_name(&self, token: u32) -> String {
        self.tokens.name(token)
    }
}

fn send(deltas: &Deltas, text: String) {
    if !text.is_empty() {
        // A closed channel is noticed before the next layer.
        let _ = deltas.send(Ok(ChatDelta::Text(text)));
    }
}
