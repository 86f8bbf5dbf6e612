//! A loaded model, and the computation of one reply.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::LoadError;
use super::decoder::{Cache, Decoder};
use super::family::Family;
use super::gguf::Gguf;
use super::sampling::{Likely, Sampling, likelihoods};
use super::template::Template;
use super::tokens::{Text, Tokens};
use crate::chat::{ChatDelta, ChatError, ChatRequest, FinishReason, Message, TokenLogprobs, Usage};

/// Tokens of a prompt that are taken in at once. What is kept of a prompt for the next one is a multiple of it, so that
/// a token's values are computed in the same company, and come out the same to the last bit, with and without it.
const CHUNK: usize = 64;
/// Tokens of prompt and reply where a file does not say.
const DEFAULT_CONTEXT: usize = 2048;

/// A model that is ready to speak.
pub(super) struct Engine {
    name: String,
    decoder: Decoder,
    tokens: Tokens,
    template: Template,
    context: usize,
    /// One call computes at a time; waiting is in order.
    turn: Arc<Semaphore>,
    /// What was computed for the last prompt: questions to one service begin with the same words.
    kept: Mutex<Option<Cache>>,
}

/// What to do for one call.
pub(super) struct Plan {
    /// With the client's defaults in it.
    pub(super) request: ChatRequest,
    pub(super) deadline: std::time::Instant,
}

type Deltas = UnboundedSender<Result<ChatDelta, ChatError>>;

impl Engine {
    /// Reads the file at `path`; blocks for as long as that takes.
    pub(super) fn read(path: &Path, name: String) -> Result<Self, LoadError> {
        let mut gguf = Gguf::open(path)?;
        let family = Family::of(&gguf)?;
        let tokens = Tokens::read(&gguf)?;
        let source = gguf.optional_text("tokenizer.chat_template");
        let template = Template::new(source, tokens.bos(), tokens.eos());
        let template = template.map_err(|error| gguf.corrupt(format!("its chat template: {error}")))?;
        let decoder = Decoder::read(&mut gguf, family)?;
        if decoder.vocabulary() < tokens.len() {
            return Err(gguf.corrupt(format!(
                "it names {} tokens and has vectors for {}",
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
            kept: Mutex::default(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The most tokens of a prompt and its reply together.
    pub(super) fn context(&self) -> usize {
        self.context
    }

    /// Bytes of weights that are read for every token that is generated.
    pub(super) fn bytes(&self) -> usize {
        self.decoder.bytes()
    }

    pub(super) fn bad_reply(&self, reason: &str) -> ChatError {
        ChatError::BadReply {
            model: self.name.clone(),
            reason: reason.to_owned(),
        }
    }

    /// As a server answers a request that it will not take.
    fn rejected(&self, reason: String) -> ChatError {
        ChatError::Rejected {
            model: self.name.clone(),
            status: 400,
            reason,
        }
    }

    /// Waits for the model's turn and begins; the deltas come as they are computed.
    pub(super) async fn start(self: Arc<Self>, plan: Plan) -> UnboundedReceiver<Result<ChatDelta, ChatError>> {
        let (sender, receiver) = unbounded_channel();
        // Never closed, so there always is a turn to wait for.
        if let Ok(turn) = Arc::clone(&self.turn).acquire_owned().await {
            let span = tracing::Span::current();
            tokio::task::spawn_blocking(move || span.in_scope(|| self.run(plan, &sender, turn)));
        }
        receiver
    }

    fn run(&self, plan: Plan, deltas: &Deltas, turn: OwnedSemaphorePermit) {
        let computed = self.reply(plan, deltas);
        // Whoever reads the end may begin the next call at once.
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

    /// Computes a reply and gives its end; `None` when nobody wants it any more.
    fn reply(&self, plan: Plan, deltas: &Deltas) -> Result<Option<ChatDelta>, ChatError> {
        let Plan { request, deadline } = &plan;
        let over = || deltas.is_closed() || std::time::Instant::now() >= *deadline;
        if over() {
            return Ok(None);
        }
        let prompt = self.prompt(request)?;
        let broken = |error: candle_core::Error| self.bad_reply(&error.to_string());
        let (mut cache, mut logits) = match self.take_in(&prompt, &over).map_err(broken)? {
            Some(taken) => taken,
            None => return Ok(None),
        };
        let mut sampling = Sampling::new(request);
        let most = request.max_tokens.map_or(u64::MAX, u64::from);
        let mut text = Text::default();
        let mut spoken = 0;
        let finish_reason = loop {
            if spoken >= most || cache.len() >= self.context {
                break FinishReason::Length;
            }
            let Some(token) = sampling.choose(&logits) else {
                return Err(self.bad_reply("its logits are no numbers: the file may be damaged"));
            };
            if self.tokens.ends(token) {
                break FinishReason::Stop;
            }
            spoken += 1;
            if request.top_logprobs > 0 {
                // The model's own view: a penalty is none of it.
                let place = self.place(&logits, token, request.top_logprobs);
                let _ = deltas.send(Ok(ChatDelta::Logprobs(vec![place])));
            }
            send(deltas, text.push(self.tokens.bytes(token)));
            match self.decoder.forward(&[token], &mut cache, &over).map_err(broken)? {
                Some(next) => logits = next,
                None => return Ok(None),
            }
        };
        send(deltas, text.finish());
        self.keep(cache, prompt.len());
        Ok(Some(ChatDelta::Finished {
            finish_reason,
            usage: Usage {
                input_tokens: prompt.len() as u64,
                output_tokens: spoken,
            },
        }))
    }

    /// The tokens of a request's messages.
    pub(super) fn prompt(&self, request: &ChatRequest) -> Result<Vec<u32>, ChatError> {
        let mut messages: Vec<Message> = request
            .messages
            .iter()
            .map(|message| Message {
                role: message.role,
                content: self.tokens.harmless(&message.content),
            })
            .collect();
        if let Some(schema) = &request.response_schema {
            schema.say(&mut messages);
        }
        let text = self
            .template
            .render(&messages)
            .map_err(|reason| self.rejected(reason))?;
        let prompt = self.tokens.of_conversation(&text);
        let prompt = prompt.map_err(|error| self.bad_reply(&format!("its tokenizer: {error}")))?;
        if prompt.is_empty() || prompt.len() >= self.context {
            return Err(self.rejected(format!(
                "the messages are {} tokens and its context is {}, which the reply shares: give fewer or shorter \
                 passages, or a model with a longer context",
                prompt.len(),
                self.context
            )));
        }
        Ok(prompt)
    }

    /// Takes in the prompt, what an earlier one has in common with it excepted, and gives the logits of what follows.
    fn take_in(&self, prompt: &[u32], over: &dyn Fn() -> bool) -> candle_core::Result<Option<(Cache, Vec<f32>)>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut cache = kept.unwrap_or_else(|| self.decoder.start());
        // At least one token is left: its logits are what comes next.
        let common = cache.common(prompt).min(prompt.len().saturating_sub(1));
        cache.truncate(common / CHUNK * CHUNK);
        let mut logits = Vec::new();
        for chunk in prompt.get(cache.len()..).unwrap_or_default().chunks(CHUNK) {
            match self.decoder.forward(chunk, &mut cache, over)? {
                Some(next) => logits = next,
                None => return Ok(None),
            }
        }
        Ok(Some((cache, logits)))
    }

    /// Keeps what was computed for the whole chunks of a prompt.
    fn keep(&self, mut cache: Cache, prompt: usize) {
        cache.truncate(prompt / CHUNK * CHUNK);
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(cache);
    }

    fn place(&self, logits: &[f32], token: u32, count: u8) -> TokenLogprobs {
        let (chosen, top) = likelihoods(logits, token, usize::from(count));
        let named = |likely: Likely| (self.tokens.name(likely.token), likely.logprob);
        TokenLogprobs {
            token: self.tokens.name(token),
            logprob: chosen.logprob,
            top: top.into_iter().map(named).collect(),
        }
    }
}

#[cfg(test)]
impl Engine {
    /// Waits until nobody computes.
    pub(super) async fn idle(&self) {
        let _turn = self.turn.acquire().await;
    }

    pub(super) fn kept(&self) -> &Mutex<Option<Cache>> {
        &self.kept
    }

    pub(super) fn names(&self, token: u32) -> String {
        self.tokens.name(token)
    }
}

fn send(deltas: &Deltas, text: String) {
    if !text.is_empty() {
        // Nobody listening shows at the next layer.
        let _ = deltas.send(Ok(ChatDelta::Text(text)));
    }
}
