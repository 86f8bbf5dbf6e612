//! Which chat model to use, from flags and the environment.

use std::convert::Infallible;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::{Chat, ChatError, LocalModel};
use crate::progress::Progress;

/// Which chat model to use. Without `--llm-url` and `--llm-local` there is none, and services do without.
#[derive(Args, Clone, Debug)]
pub struct ChatOptions {
    /// Base URL of an OpenAI-compatible server, with or without `/v1` (OpenAI, vLLM, SGLang, Ollama, llama.cpp).
    #[arg(long, env = "EMEND_LLM_URL")]
    pub llm_url: Option<String>,
    /// The model's name on that server.
    #[arg(long, env = "EMEND_LLM_MODEL")]
    pub llm_model: Option<String>,
    /// A chat model in this process, in place of a server: `smollm2` (fetched by name), or the path of a GGUF file.
    #[arg(long, env = "EMEND_LLM_LOCAL", value_name = "MODEL")]
    pub llm_local: Option<LocalModel>,
    /// A folder with the file of `--llm-local smollm2`, looked at before anything is downloaded.
    #[arg(long, env = "EMEND_MODEL_DIR", value_name = "DIR")]
    pub llm_model_dir: Option<PathBuf>,
    /// API key sent as a bearer token; OPENAI_API_KEY is read when this is absent.
    #[arg(long, env = "EMEND_LLM_API_KEY", hide_env_values = true)]
    pub llm_api_key: Option<ApiKey>,
    /// A model behind that of --llm-url, asked where those before it are down, limit the rate beyond the deadline, do not
    /// answer within --llm-timeout, refuse, or send an empty, cut or unreadable reply: URL#MODEL, for instance
    /// http://127.0.0.1:11434/v1#llama3.1. Repeatable, or separated by commas; tried in this order, each once.
    #[arg(long, env = "EMEND_LLM_FALLBACK", value_name = "URL#MODEL", value_delimiter = ',')]
    pub llm_fallback: Vec<Fallback>,
    /// API key of each fallback, in their order, separated by commas; empty for none. One without a key that has the
    /// host and port of --llm-url gets the key of that; no key is sent anywhere else.
    #[arg(
        long,
        env = "EMEND_LLM_FALLBACK_API_KEY",
        value_name = "KEY",
        value_delimiter = ',',
        hide_env_values = true
    )]
    pub llm_fallback_api_key: Vec<ApiKey>,
    /// Calls to each model at once, over all requests. Fewer are made while the server answers 429.
    #[arg(long, env = "EMEND_LLM_CONCURRENCY", default_value = "8", value_name = "N")]
    pub llm_concurrency: NonZeroUsize,
    /// Sampling temperature where a request names none, 0–2.
    #[arg(long, env = "EMEND_LLM_TEMPERATURE", default_value_t = 0.0)]
    pub llm_temperature: f32,
    /// A reply's limit in tokens where a request names none.
    #[arg(long, env = "EMEND_LLM_MAX_TOKENS", default_value_t = 1024)]
    pub llm_max_tokens: u32,
    /// Seed where a request names none, for a model that can repeat a sample; unset sends none.
    #[arg(long, env = "EMEND_LLM_SEED", value_name = "N")]
    pub llm_seed: Option<u64>,
    /// What a token loses with each time it has been said already, −2 to 2; unset leaves it to the model.
    #[arg(long, env = "EMEND_LLM_FREQUENCY_PENALTY", value_name = "P", allow_negative_numbers = true, value_parser = penalty)]
    pub llm_frequency_penalty: Option<f32>,
    /// Longest time for one call of a model, its retries included and the wait for its turn not; the caller's deadline
    /// holds besides. With fallbacks, set it to a part of that.
    #[arg(long, env = "EMEND_LLM_TIMEOUT", default_value = "60s", value_parser = duration)]
    pub llm_timeout: Duration,
    /// Record prompts and answers in spans. Off, because questions and passages may be confidential.
    #[arg(
        long,
        env = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
        default_value_t = false
    )]
    pub llm_record_content: bool,
}

impl ChatOptions {
    /// Whether they name a model.
    pub fn is_some(&self) -> bool {
        self.llm_local.is_some() || self.llm_url.is_some()
    }

    /// Whether each of them has something to act upon. A service that makes no use of a model asks this too, so that
    /// nobody believes in a model, or in one that stands in for it, that is never asked.
    ///
    /// # Errors
    /// [`ChatError::Options`] when a fallback or a model's name comes without `--llm-url`, there are more keys than fallbacks,
    /// or both `--llm-url` and `--llm-local` name a model. A key alone is fine: services may share one secret.
    pub fn check(&self) -> Result<(), ChatError> {
        // An option that the environment gives as nothing is not given.
        let given = |value: &Option<String>| value.clone().filter(|value| !value.trim().is_empty());
        let refused = |option, reason| Err(ChatError::Options { option, reason });
        let (count, keys) = (self.llm_fallback.len(), self.llm_fallback_api_key.len());
        if keys > count {
            return refused(
                "--llm-fallback-api-key",
                format!("there are {keys} keys for {count} fallbacks; give one for each, in their order"),
            );
        }
        if let Some(url) = given(&self.llm_url) {
            return match &self.llm_local {
                Some(model) => refused(
                    "--llm-local",
                    format!("{model} and --llm-url {url} are two models, and one is asked; give one of them"),
                ),
                None => Ok(()),
            };
        }
        if let Some(Fallback { url, model }) = self.llm_fallback.first() {
            return refused(
                "--llm-fallback",
                format!(
                    "`{url}#{model}` would never be asked: it stands in for the model of --llm-url, and there is none; \
                     give --llm-url and --llm-model, or leave it out"
                ),
            );
        }
        if let Some(model) = given(&self.llm_model) {
            return refused(
                "--llm-model",
                format!(
                    "`{model}` is the name of a model of --llm-url, and there is none; give --llm-url, or leave it out"
                ),
            );
        }
        Ok(())
    }

    /// The chat model that these options describe: that of `--llm-local` or of `--llm-url`, or none.
    ///
    /// The same local model is loaded once a process; `progress` follows the download of one that is not on this
    /// machine. To a server nothing is sent: whether it answers shows at the first call.
    ///
    /// # Errors
    /// As [`ChatOptions::check`], and [`ChatError::Options`] when the local model cannot be had or used, the URL is none,
    /// or the server's model is not named.
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

/// A secret that neither `Debug` nor `Display` shows.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// The secret itself, for the authorization header only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(***)")
    }
}

impl From<String> for ApiKey {
    fn from(secret: String) -> Self {
        Self(secret)
    }
}

impl FromStr for ApiKey {
    type Err = Infallible;

    fn from_str(secret: &str) -> Result<Self, Infallible> {
        Ok(Self(secret.trim().to_owned()))
    }
}

/// A model that stands in for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// Base URL of its server, as in `--llm-url`.
    pub url: String,
    /// Its name there.
    pub model: String,
}

impl FromStr for Fallback {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('#').map(|(url, model)| (url.trim(), model.trim())) {
            Some((url, model)) if !url.is_empty() && !model.is_empty() => Ok(Self {
                url: url.to_owned(),
                model: model.to_owned(),
            }),
            _ => Err(format!(
                "`{text}` does not name a server and a model; write URL#MODEL, for instance http://127.0.0.1:11434/v1#llama3.1"
            )),
        }
    }
}

fn penalty(text: &str) -> Result<f32, String> {
    match text.trim().parse::<f32>() {
        Ok(value) if (-2.0..=2.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a penalty; give a number from -2 to 2")),
    }
}

/// `60s`, `1500ms`, `2m`, or seconds as a bare number.
fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a duration; write 60s, 1500ms or 2m"))?;
    let seconds = match unit.trim() {
        "" | "s" | "sec" | "secs" => number,
        "ms" => number / 1000.0,
        "m" | "min" => number * 60.0,
        unit => return Err(format!("unknown unit `{unit}` in `{text}`; known: ms, s, m")),
    };
    Duration::try_from_secs_f64(seconds).map_err(|error| format!("`{text}`: {error}"))
}

#[cfg(test)]
mod tests;
