//! Chat model options, from flags and environment variables.

use std::convert::Infallible;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use emend_core::without_secrets;

use super::{Chat, ChatError, LocalModel};
use crate::progress::Progress;
use crate::secret::NoKeyHere;
use emend_core::Secret;

/// Chat model options. Without `--llm-url` and `--llm-local`, no chat model is used.
#[derive(Args, Clone, Debug)]
pub struct ChatOptions {
    /// Base URL of an OpenAI-compatible server, with or without `/v1` (OpenAI, vLLM, SGLang, Ollama, llama.cpp).
    #[arg(long, env = "EMEND_LLM_URL", hide_env_values = true)]
    pub llm_url: Option<String>,
    /// Model name on that server.
    #[arg(long, env = "EMEND_LLM_MODEL")]
    pub llm_model: Option<String>,
    /// Run a chat model in this process instead of on a server: `smollm2` (downloaded), or the path of a GGUF file.
    #[arg(long, env = "EMEND_LLM_LOCAL", value_name = "MODEL")]
    pub llm_local: Option<LocalModel>,
    /// Folder with the file of `--llm-local smollm2`. Checked before the file is downloaded.
    #[arg(long, env = "EMEND_MODEL_DIR", value_name = "DIR")]
    pub llm_model_dir: Option<PathBuf>,
    /// File with the API key, which is sent as a bearer token. Without it the key is that of the environment:
    /// EMEND_LLM_API_KEY, else OPENAI_API_KEY.
    #[arg(long, env = "EMEND_LLM_API_KEY_FILE", value_name = "FILE")]
    pub llm_api_key_file: Option<PathBuf>,
    /// The API key, where it is given by the program itself.
    #[arg(skip)]
    pub llm_api_key: Option<Secret>,
    #[expect(missing_docs, reason = "it only says what to use")]
    #[arg(
        long = "llm-api-key",
        hide = true,
        value_parser = NoKeyHere("write the key to a file for --llm-api-key-file, or set EMEND_LLM_API_KEY")
    )]
    pub llm_api_key_refused: Option<Infallible>,
    /// Fallback model for --llm-url, as URL#MODEL, for example http://127.0.0.1:11434/v1#llama3.1. Called when the
    /// models before it are unavailable, are rate limited beyond the deadline, do not answer within their share of
    /// --llm-timeout, refuse, or send an empty, truncated or unparsable reply. Repeatable, or comma-separated; tried in order, each
    /// once.
    #[arg(
        long,
        env = "EMEND_LLM_FALLBACK",
        hide_env_values = true,
        value_name = "URL#MODEL",
        value_delimiter = ','
    )]
    pub llm_fallback: Vec<Fallback>,
    /// File with the API keys of the fallback models, one a line in the same order; an empty line for no key. A fallback
    /// without a key uses the key of --llm-url if host and port are the same, and otherwise sends none. Without the file
    /// the keys are those of EMEND_LLM_FALLBACK_API_KEY, comma-separated.
    #[arg(long, env = "EMEND_LLM_FALLBACK_API_KEY_FILE", value_name = "FILE")]
    pub llm_fallback_api_key_file: Option<PathBuf>,
    /// The keys of the fallback models, where they are given by the program itself.
    #[arg(skip)]
    pub llm_fallback_api_key: Vec<Secret>,
    #[expect(missing_docs, reason = "it only says what to use")]
    #[arg(
        long = "llm-fallback-api-key",
        hide = true,
        value_parser = NoKeyHere(
            "write the keys to a file for --llm-fallback-api-key-file, or set EMEND_LLM_FALLBACK_API_KEY"
        )
    )]
    pub llm_fallback_api_key_refused: Option<Infallible>,
    /// Maximum concurrent calls per model, over all requests. Lowered while the server answers 429.
    #[arg(long, env = "EMEND_LLM_CONCURRENCY", default_value = "8", value_name = "N")]
    pub llm_concurrency: NonZeroUsize,
    /// Default sampling temperature, 0–2.
    #[arg(long, env = "EMEND_LLM_TEMPERATURE", default_value_t = 0.0)]
    pub llm_temperature: f32,
    /// Default maximum reply length in tokens.
    #[arg(long, env = "EMEND_LLM_MAX_TOKENS", default_value_t = 1024)]
    pub llm_max_tokens: u32,
    /// Default sampling seed, for models that support one. No seed is sent if unset.
    #[arg(long, env = "EMEND_LLM_SEED", value_name = "N")]
    pub llm_seed: Option<u64>,
    /// Default frequency penalty, −2 to 2: lowers a token's logit with each earlier occurrence. The model's own default
    /// applies if unset.
    #[arg(long, env = "EMEND_LLM_FREQUENCY_PENALTY", value_name = "P", allow_negative_numbers = true, value_parser = penalty)]
    pub llm_frequency_penalty: Option<f32>,
    /// Timeout of one request: its retries, reading the reply to its end, and the same of the fallback models. Each model
    /// has an equal share of what is left for it and those after it; a stream that has begun has all of it. The wait for a
    /// concurrency slot is not counted, or of a hundred grades that queue for eight slots the last would fail for the time of
    /// those before them. The caller's deadline also applies, undivided: with fallback models, set the timeout below it.
    #[arg(long, env = "EMEND_LLM_TIMEOUT", default_value = "60s", value_parser = emend_core::duration)]
    pub llm_timeout: Duration,
    /// Record prompts and replies in spans, and with walks in this process their questions, passages and answers. Off by default, because questions and passages may be confidential.
    #[arg(
        long,
        env = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
        default_value_t = false
    )]
    pub llm_record_content: bool,
}

impl ChatOptions {
    /// Whether a chat model is configured.
    pub fn is_some(&self) -> bool {
        self.llm_local.is_some() || self.llm_url.is_some()
    }

    /// Checks that no option is without effect. Services that use no chat model call this too, so that a model or
    /// fallback that would never be called is an error instead of being ignored.
    ///
    /// # Errors
    /// [`ChatError::Options`] if a fallback or a model name is given without `--llm-url`, if there are more keys than
    /// fallbacks, or if both `--llm-url` and `--llm-local` are given. A key alone is allowed: services may share one
    /// secret.
    pub fn check(&self) -> Result<(), ChatError> {
        // An empty environment variable counts as unset.
        let given = |value: &Option<String>| value.clone().filter(|value| !value.trim().is_empty());
        let refused = |option, reason| Err(ChatError::Options { option, reason });
        for Fallback { url, model } in &self.llm_fallback {
            if url.is_empty() || model.is_empty() {
                return refused(
                    "--llm-fallback",
                    format!(
                        "`{}` is not a server and a model; write URL#MODEL, for example http://127.0.0.1:11434/v1#llama3.1",
                        without_secrets(url)
                    ),
                );
            }
        }
        let (count, keys) = (self.llm_fallback.len(), self.fallback_keys()?.len());
        if keys > count {
            return refused(
                "--llm-fallback-api-key-file",
                format!("got {keys} keys for {count} fallbacks; give one key per fallback, in the same order"),
            );
        }
        if let Some(url) = given(&self.llm_url) {
            return match &self.llm_local {
                Some(model) => refused(
                    "--llm-local",
                    format!(
                        "{model} conflicts with --llm-url {}; give one of them",
                        without_secrets(&url)
                    ),
                ),
                None => Ok(()),
            };
        }
        if let Some(Fallback { url, model }) = self.llm_fallback.first() {
            return refused(
                "--llm-fallback",
                format!(
                    "`{}#{model}` would never be called, because --llm-url is not set; \
                     give --llm-url and --llm-model, or remove --llm-fallback",
                    without_secrets(url)
                ),
            );
        }
        if let Some(model) = given(&self.llm_model) {
            return refused(
                "--llm-model",
                format!("`{model}` has no effect, because --llm-url is not set; give --llm-url, or remove --llm-model"),
            );
        }
        Ok(())
    }

    /// The key of `--llm-url`: of the file, else of the environment.
    ///
    /// # Errors
    /// [`ChatError::Options`] if the file cannot be read or is empty.
    #[cfg(feature = "openai")]
    pub(super) fn api_key(&self) -> Result<Option<Secret>, ChatError> {
        if let Some(key) = &self.llm_api_key {
            return Ok(Some(key.clone()));
        }
        if let Some(file) = &self.llm_api_key_file {
            let key = Secret::read(file).map_err(|error| unreadable("--llm-api-key-file", file, &error))?;
            return Ok(Some(key));
        }
        let keys = ["EMEND_LLM_API_KEY", "OPENAI_API_KEY"];
        Ok(keys.into_iter().find_map(Secret::from_environment))
    }

    /// The keys of the fallback models: of the file, else of the environment.
    ///
    /// # Errors
    /// [`ChatError::Options`] if the file cannot be read.
    pub(super) fn fallback_keys(&self) -> Result<Vec<Secret>, ChatError> {
        if !self.llm_fallback_api_key.is_empty() {
            return Ok(self.llm_fallback_api_key.clone());
        }
        if let Some(file) = &self.llm_fallback_api_key_file {
            return Secret::read_lines(file).map_err(|error| unreadable("--llm-fallback-api-key-file", file, &error));
        }
        let keys = Secret::from_environment("EMEND_LLM_FALLBACK_API_KEY");
        let keys = keys.iter().flat_map(|keys| keys.reveal().split(','));
        Ok(keys.map(|key| key.trim().to_owned().into()).collect())
    }

    /// Loads the chat model of `--llm-local` or `--llm-url`. Returns `None` if neither is set.
    ///
    /// A local model is loaded once per process. `progress` reports its download if it is not on this machine. No
    /// request is sent to a server: connection errors appear at the first call.
    ///
    /// # Errors
    /// The errors of [`ChatOptions::check`], and [`ChatError::Options`] if the local model cannot be fetched or loaded,
    /// the URL is invalid, or `--llm-model` is missing.
    pub async fn load(&self, progress: Progress) -> Result<Option<Arc<dyn Chat>>, ChatError> {
        self.check()?;
        match &self.llm_local {
            #[cfg(feature = "local-chat")]
            Some(model) => Ok(Some(Arc::new(super::local::load(self, model, progress).await?))),
            #[cfg(not(feature = "local-chat"))]
            Some(model) => {
                drop(progress);
                Err(ChatError::Options {
                    option: "--llm-local",
                    reason: format!("{model} needs a build with the feature local-chat of emend-models"),
                })
            }
            #[cfg(feature = "openai")]
            None => self.connect(),
            #[cfg(not(feature = "openai"))]
            None => Ok(None),
        }
    }
}

/// A fallback model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// Base URL of the server, as in `--llm-url`.
    pub url: String,
    /// Model name on that server.
    pub model: String,
}

impl FromStr for Fallback {
    /// What is not URL#MODEL is found by [`ChatOptions::check`]: an error here would show a password in the URL.
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let (url, model) = text.rsplit_once('#').unwrap_or((text, ""));
        Ok(Self {
            url: url.trim().to_owned(),
            model: model.trim().to_owned(),
        })
    }
}

fn unreadable(option: &'static str, file: &Path, error: &io::Error) -> ChatError {
    ChatError::Options {
        option,
        reason: format!("cannot use {}: {error}", file.display()),
    }
}

fn penalty(text: &str) -> Result<f32, String> {
    match text.trim().parse::<f32>() {
        Ok(value) if (-2.0..=2.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a penalty; give a number from -2 to 2")),
    }
}

#[cfg(test)]
mod tests;
