//! One prompt, one grade: from the cache, from a call that is under way, or from a new one.

use std::future::Future;

use emend_core::{Deadline, PIECE_BYTES, Turns};
use emend_models::chat::{Accepts, ChatError, ChatReply, Receipt};
use emend_models::prompt::{PromptError, Prompts, Rendered};
use emend_proto::v1::Usage;

use super::cache::{CachePolicy, Given, Key};
use super::{Call, LlmBackend, beginning, failed, paid, unrendered};
use crate::backend::Ungraded;

impl LlmBackend {
    /// The grade of a prompt: from the cache, from a call that is already running, or from a new
    /// call. A prompt with many `bytes` of input is rendered when its turn comes.
    pub(super) async fn ask<T: Clone + Send + Sync + 'static>(
        &self,
        bytes: usize,
        render: impl FnOnce(&Prompts) -> Result<Rendered, PromptError> + Send + 'static,
        until: Deadline,
        read: impl Fn(&ChatReply) -> Option<T> + Clone + Send + Sync + 'static,
    ) -> Call<T> {
        let (prompts, model) = (self.prompts.clone(), self.chat.model().to_owned());
        let prepare = move || {
            let rendered = render(&prompts)?;
            let key = Key::of_prompt(&model, &rendered);
            Ok::<_, PromptError>((rendered, key))
        };
        let none = |reason| (Err(reason), Usage::default());
        let rendered = if bytes <= PIECE_BYTES {
            prepare()
        } else {
            match until.run(Turns::shared().piece(bytes, prepare)).await {
                Ok(Ok(rendered)) => rendered,
                Ok(Err(error)) => return none(failed("the prompt cannot be rendered", &error)),
                Err(_) => return none(Ungraded::OutOfTime),
            }
        };
        let (rendered, key) = match rendered {
            Ok(rendered) => rendered,
            Err(error) => return none(unrendered(&error)),
        };
        let give = |receipt| self.call(rendered.clone(), until, receipt, read.clone());
        let (grade, usage) = self.join(Some(rendered.name), key, until, give).await;
        (grade.unwrap_or(Err(Ungraded::OutOfTime)), usage)
    }

    /// [`GradeCache::join`] with a deadline; `None` if the deadline expires first.
    pub(super) async fn join<T, F>(
        &self,
        task: Option<&'static str>,
        key: Key,
        until: Deadline,
        give: impl Fn(Receipt) -> F + Send + Sync,
    ) -> (Option<T>, Usage)
    where
        T: Clone + Send + Sync + 'static,
        F: Future<Output = Given<T>> + Send,
    {
        let receipt = Receipt::default();
        match until.run(self.cache.join(task, key, || give(receipt.clone()))).await {
            Ok((outcome, usage)) => (Some(outcome), usage),
            Err(_) => (None, paid(&receipt)),
        }
    }

    /// Calls the model and reads its reply. The grade of a fallback model is not cached.
    pub(super) async fn call<T>(
        &self,
        rendered: Rendered,
        until: Deadline,
        receipt: Receipt,
        read: impl Fn(&ChatReply) -> Option<T> + Clone + Send + Sync + 'static,
    ) -> Given<Result<T, Ungraded>> {
        let mut request = rendered.request();
        // The same prompt should get the same grade each time.
        request.temperature = Some(0.0);
        request.top_logprobs = self.settings.top_logprobs;
        request.deadline = Some(until.instant());
        request.receipt = receipt.clone();
        request.accepts = Accepts::only({
            let read = read.clone();
            move |reply| read(reply).is_some()
        });
        let reply = until.run(self.chat.complete(request)).await;
        let mut usage = paid(&receipt);
        let is_own = receipt.model().is_none_or(|model| model == self.chat.model());
        let mut holds = CachePolicy::Shared;
        let outcome = match reply {
            Ok(Ok(reply)) => {
                usage.model_calls = usage.model_calls.max(1);
                usage.input_tokens += reply.usage.input_tokens;
                usage.output_tokens += reply.usage.output_tokens;
                let grade = read(&reply).ok_or_else(|| Ungraded::NoVerdict {
                    reply: beginning(&reply.text),
                });
                if grade.is_ok() && is_own {
                    holds = CachePolicy::Kept;
                }
                grade
            }
            Ok(Err(ChatError::Timeout { .. })) if until.is_expired() => {
                holds = CachePolicy::Own;
                Err(Ungraded::OutOfTime)
            }
            Ok(Err(error)) => {
                // A request with more time may wait until the rate limit of the server is over.
                if matches!(error, ChatError::RateLimited { .. }) {
                    holds = CachePolicy::Own;
                }
                Err(failed("the model gave no grade", &error))
            }
            Err(_) => {
                holds = CachePolicy::Own;
                Err(Ungraded::OutOfTime)
            }
        };
        Given { outcome, usage, holds }
    }
}
