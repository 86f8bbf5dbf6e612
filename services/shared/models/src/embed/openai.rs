//! An embedder behind an OpenAI-compatible `/v1/embeddings`.

use std::fmt;
use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use emend_core::without_secrets;
use futures::future::{BoxFuture, FutureExt};
use reqwest::{StatusCode, Url, header};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::{EmbedError, Embedder, EmbedderOptions, Embedding, Input, ModelError, normalize};
use emend_core::Secret;

/// Servers differ in what they take at once; this is below what the common ones allow.
const BATCH_TEXTS: usize = 64;
const BATCH_BYTES: usize = 256 << 10;
/// Ten times what a batch of long vectors takes.
const MAX_ANSWER_BYTES: usize = 64 << 20;
const MAX_MESSAGE_BYTES: usize = 400;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Against a connection that is dead without saying so; the caller's deadline is far below it.
const READ_TIMEOUT: Duration = Duration::from_secs(120);
/// What OpenAI's own models take. A server that takes less cuts the text or says so.
const MAX_TOKENS: usize = 8191;

/// A model that a server runs.
///
/// Query and passage are sent alike: what a model wants in front of them is the server's to add.
pub struct OpenAiEmbedder {
    model: String,
    url: Url,
    key: Option<Secret>,
    client: reqwest::Client,
    encoding: Encoding,
    dimensions: usize,
}

/// How a server is asked to write vectors. Whatever it does is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    /// Little-endian `f32`: a quarter of the bytes, and no number to be parsed.
    Base64,
    /// JSON numbers.
    Float,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: Encoding,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    index: Option<usize>,
    #[serde(deserialize_with = "values")]
    embedding: Vec<f32>,
}

/// The values of a vector, in either encoding.
fn values<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    struct Values;

    impl<'de> de::Visitor<'de> for Values {
        type Value = Vec<f32>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("numbers, or numbers in base64")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            let bytes = BASE64_STANDARD
                .decode(text)
                .map_err(|error| E::custom(format!("an embedding is no base64: {error}")))?;
            let (values, rest) = bytes.as_chunks();
            if !rest.is_empty() {
                return Err(E::custom(format!(
                    "an embedding of {} bytes has no whole number of values",
                    bytes.len()
                )));
            }
            Ok(values.iter().map(|value| f32::from_le_bytes(*value)).collect())
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut numbers: A) -> Result<Self::Value, A::Error> {
            let mut values = Vec::new();
            while let Some(value) = numbers.next_element()? {
                values.push(value);
            }
            Ok(values)
        }
    }

    deserializer.deserialize_any(Values)
}

impl OpenAiEmbedder {
    /// Asks the server of `options` for one embedding of `model`, which tells how long its vectors are and whether it takes
    /// `encoding_format` base64.
    ///
    /// # Errors
    /// [`ModelError::Option`] for an address that is none, [`ModelError::Server`] when the server does not embed.
    pub async fn connect(model: &str, options: &EmbedderOptions) -> Result<Self, ModelError> {
        let wrong = |detail: String| ModelError::Option {
            option: "embedder-url",
            value: without_secrets(&options.embedder_url),
            detail,
        };
        let base = options.embedder_url.trim_end_matches('/');
        let url = Url::parse(&format!("{base}/embeddings"))
            .map_err(|error| wrong(format!("{error}; use http://HOST:PORT/v1")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("it does not begin with http:// or https://".to_owned()));
        }
        let client = emend_core::http::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .build()
            .map_err(|error| wrong(emend_core::error_chain(&error)))?;
        let key = key(options)?;
        let mut embedder = Self {
            model: model.to_owned(),
            url,
            key,
            client,
            encoding: Encoding::Base64,
            dimensions: 0,
        };
        let texts = ["dimensions".to_owned()];
        let mut probe = embedder.request(&texts).await;
        // Nothing else in this request could be wrong with a server that embeds at all.
        if let Err(EmbedError::Refused {
            status: 400 | 415 | 422 | 501,
            ..
        }) = &probe
        {
            embedder.encoding = Encoding::Float;
            probe = embedder.request(&texts).await;
        }
        let probe = probe.map_err(|error| ModelError::Server(error.into()))?;
        embedder.dimensions = probe.first().map_or(0, |embedding| embedding.len());
        Ok(embedder)
    }

    /// The address without what may be secret in it.
    fn address(&self) -> String {
        without_secrets(self.url.as_str())
    }

    fn unusable(&self, detail: impl Into<String>) -> EmbedError {
        EmbedError::Response {
            url: self.address(),
            detail: detail.into(),
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> EmbedError {
        EmbedError::Unreachable {
            url: self.address(),
            source: emend_core::error_chain(&error.without_url()).into(),
        }
    }

    async fn request(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let body = Request {
            model: &self.model,
            input: texts,
            encoding_format: self.encoding,
        };
        let mut request = self.client.post(self.url.clone()).json(&body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.reveal());
        }
        let mut response = request.send().await.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| emend_core::retry_after(value.to_str().ok()?));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(error))? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(self.unusable(format!("it is longer than {MAX_ANSWER_BYTES} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        if !status.is_success() {
            let message = self.message(status, &body);
            return Err(EmbedError::Refused {
                url: self.address(),
                status: status.as_u16(),
                message,
                retry_after,
            });
        }
        let answer = serde_json::from_slice(&body).map_err(|error| self.unusable(error.to_string()))?;
        self.in_order(answer, texts.len())
    }

    /// Servers may answer in any order; the index says what is what.
    fn in_order(&self, answer: Answer, count: usize) -> Result<Vec<Embedding>, EmbedError> {
        if answer.data.len() != count {
            return Err(self.unusable(format!("{} embeddings for {count} texts", answer.data.len())));
        }
        let mut places: Vec<Option<Embedding>> = vec![None; count];
        for (position, mut entry) in answer.data.into_iter().enumerate() {
            let index = entry.index.unwrap_or(position);
            let length = entry.embedding.len();
            if length == 0 || (self.dimensions != 0 && length != self.dimensions) {
                return Err(self.unusable(format!(
                    "embedding {index} has {length} values instead of {}",
                    self.dimensions
                )));
            }
            if !entry.embedding.iter().all(|value| value.is_finite()) {
                return Err(self.unusable(format!("embedding {index} has a value that is not finite")));
            }
            normalize(&mut entry.embedding);
            match places.get_mut(index) {
                Some(place @ None) => *place = Some(entry.embedding.into()),
                _ => return Err(self.unusable(format!("index {index} comes twice or is not below {count}"))),
            }
        }
        Ok(places.into_iter().flatten().collect())
    }

    /// The server's own words, without the key if it repeats it.
    fn message(&self, status: StatusCode, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        let json = serde_json::from_str::<serde_json::Value>(&text).ok();
        let said = json.as_ref().and_then(|json| {
            [
                json.pointer("/error/message"),
                json.get("error"),
                json.get("message"),
                json.get("detail"),
            ]
            .into_iter()
            .flatten()
            .find_map(serde_json::Value::as_str)
        });
        let mut message = said.unwrap_or(&text).trim().to_owned();
        if let Some(key) = &self.key {
            message = message.replace(key.reveal(), "…");
        }
        if message.is_empty() {
            message = status.canonical_reason().unwrap_or("no reason given").to_lowercase();
        }
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message
    }
}

/// The key of the options: of the file, else of the environment.
fn key(options: &EmbedderOptions) -> Result<Option<Secret>, ModelError> {
    let wrong = |option, value: String, detail: String| ModelError::Option { option, value, detail };
    let key = match (&options.embedder_api_key, &options.embedder_api_key_file) {
        (Some(key), _) => Some(key.clone()),
        (None, Some(file)) => Some(
            Secret::read(file)
                .map_err(|error| wrong("embedder-api-key-file", file.display().to_string(), error.to_string()))?,
        ),
        (None, None) => Secret::from_environment("EMEND_EMBEDDER_API_KEY"),
    };
    let key = key.filter(|key| !key.reveal().is_empty());
    let fits = |key: &Secret| header::HeaderValue::from_str(&format!("Bearer {}", key.reveal())).is_ok();
    if key.as_ref().is_some_and(|key| !fits(key)) {
        let detail = "the key has characters that a header cannot carry".to_owned();
        return Err(wrong("embedder-api-key-file", "…".to_owned(), detail));
    }
    Ok(key)
}

impl Embedder for OpenAiEmbedder {
    fn id(&self) -> &str {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn max_tokens(&self) -> usize {
        MAX_TOKENS
    }

    fn count_tokens(&self, text: &str) -> usize {
        // About four letters a token in Latin script, about one in the others.
        let (ascii, other) = text.chars().fold((0, 0), |(ascii, other), c| {
            if c.is_ascii() {
                (ascii + 1, other)
            } else {
                (ascii, other + 1)
            }
        });
        usize::div_ceil(ascii, 4) + other
    }

    fn embed<'a>(&'a self, _kind: Input, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, EmbedError>> {
        async move {
            let mut embeddings = Vec::with_capacity(texts.len());
            let mut left = texts.as_slice();
            while !left.is_empty() {
                let mut bytes = 0;
                let fitting = left.iter().take(BATCH_TEXTS).take_while(|text| {
                    bytes += text.len();
                    bytes <= BATCH_BYTES
                });
                let (batch, rest) = left.split_at(fitting.count().max(1));
                embeddings.extend(self.request(batch).await?);
                left = rest;
            }
            Ok(embeddings)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
