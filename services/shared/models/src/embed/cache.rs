//! Embeddings that were made before, and those that somebody is making right now.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{
    TryFutureExt as _,
    future::{BoxFuture, FutureExt},
};
use moka::sync::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tracing::Instrument;

use emend_core::semconv;

use super::{EmbedError, Embedder, Embedding, Input, TokenVectors};

/// The first 16 bytes of the SHA-256 of the kind and the text: the text itself is not kept.
type Key = [u8; 16];
type Waits = HashMap<Key, watch::Receiver<Option<Remembered>>>;
type InFlight = Mutex<Waits>;

/// What was embedded.
#[derive(Clone)]
enum Remembered {
    Text(Embedding),
    Tokens(Arc<TokenVectors>),
}

impl Remembered {
    fn size(&self) -> usize {
        match self {
            Self::Text(embedding) => std::mem::size_of_val::<[f32]>(embedding),
            Self::Tokens(tokens) => tokens.size(),
        }
    }
}

/// What an entry costs beyond its values: key, counters and links of the cache.
const ENTRY_OVERHEAD: usize = 160;

/// An embedder that embeds nothing twice.
///
/// What was embedded is remembered up to a number of bytes, and what another call is embedding at the moment is waited
/// for. When that call is dropped, one of those that waited takes the text over.
pub struct Cached {
    inner: Arc<dyn Embedder>,
    remembered: Cache<Key, Remembered>,
    in_flight: InFlight,
}

impl Cached {
    /// Remembers up to `mebibytes` MiB of what `inner` embeds; 0 remembers nothing.
    #[must_use]
    pub fn new(inner: Arc<dyn Embedder>, mebibytes: u32) -> Self {
        let remembered = Cache::builder()
            .max_capacity(u64::from(mebibytes) << 20)
            .weigher(|_: &Key, remembered: &Remembered| {
                u32::try_from(remembered.size() + ENTRY_OVERHEAD).unwrap_or(u32::MAX)
            })
            .build();
        Self {
            inner,
            remembered,
            in_flight: InFlight::default(),
        }
    }

    /// Covers what is really embedded; how many texts, and never what they say.
    fn span(&self, texts: usize) -> tracing::Span {
        tracing::info_span!(
            "embeddings",
            { semconv::OTEL_NAME } = format!("embeddings {}", self.id()),
            { semconv::GEN_AI_OPERATION_NAME } = "embeddings",
            { semconv::GEN_AI_REQUEST_MODEL } = self.id(),
            texts,
        )
    }

    /// Sorts what `found` lacks into what this call embeds and what it waits for.
    fn claim<I: Clone>(
        &self,
        keys: &[Key],
        items: &[I],
        found: &mut HashMap<Key, Remembered>,
    ) -> (Claims<'_>, Vec<I>, Waits) {
        let mut claims = Claims {
            in_flight: &self.in_flight,
            senders: Vec::new(),
        };
        let (mut mine, mut waits) = (Vec::new(), Waits::new());
        let mut in_flight = lock(&self.in_flight);
        for (key, item) in keys.iter().zip(items) {
            if found.contains_key(key)
                || waits.contains_key(key)
                || claims.senders.iter().any(|(claimed, _)| claimed == key)
            {
                continue;
            }
            if let Some(remembered) = self.remembered.get(key) {
                found.insert(*key, remembered);
            } else if let Some(receiver) = in_flight.get(key) {
                waits.insert(*key, receiver.clone());
            } else {
                let (sender, receiver) = watch::channel(None);
                in_flight.insert(*key, receiver);
                claims.senders.push((*key, sender));
                mine.push(item.clone());
            }
        }
        drop(in_flight);
        (claims, mine, waits)
    }

    /// One for each key, in order, of what is remembered, what other calls are embedding and what `embed` makes of the
    /// items that are left; `None` where `embed` makes none.
    async fn each<'a, I: Clone>(
        &'a self,
        keys: &[Key],
        items: &[I],
        embed: impl Fn(Vec<I>) -> BoxFuture<'a, Result<Option<Vec<Remembered>>, EmbedError>>,
    ) -> Result<Option<Vec<Remembered>>, EmbedError> {
        let mut found = HashMap::with_capacity(keys.len());
        loop {
            let (mut claims, mine, waits) = self.claim(keys, items, &mut found);
            if mine.is_empty() && waits.is_empty() {
                break;
            }
            // Own texts first: two calls that wait for each other's texts would wait for ever otherwise.
            if !mine.is_empty() {
                let asked = mine.len();
                let span = self.span(asked);
                let Some(embedded) = embed(mine).instrument(span).await? else {
                    return Ok(None);
                };
                if embedded.len() != asked {
                    return Err(EmbedError::Model {
                        model: self.inner.id().to_owned(),
                        detail: format!("{} embeddings for {asked} texts", embedded.len()),
                    });
                }
                for ((key, sender), embedded) in claims.senders.iter_mut().zip(embedded) {
                    self.remembered.insert(*key, embedded.clone());
                    sender.send_replace(Some(embedded.clone()));
                    found.insert(*key, embedded);
                }
            }
            drop(claims);
            for (key, mut receiver) in waits {
                // Closed without a value: the other call failed or left, and the next round takes its text over.
                if let Ok(value) = receiver.wait_for(Option::is_some).await
                    && let Some(embedded) = value.clone()
                {
                    found.insert(key, embedded);
                }
            }
        }
        Ok(Some(keys.iter().filter_map(|key| found.get(key).cloned()).collect()))
    }
}

/// The texts that one call embeds; gives them up when dropped, done or not.
struct Claims<'a> {
    in_flight: &'a InFlight,
    senders: Vec<(Key, watch::Sender<Option<Remembered>>)>,
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        let mut in_flight = lock(self.in_flight);
        for (key, _) in &self.senders {
            in_flight.remove(key);
        }
    }
}

fn lock(in_flight: &InFlight) -> MutexGuard<'_, Waits> {
    // Every change is a single insert or remove: a panic elsewhere leaves nothing half done.
    in_flight.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(kind: Input, text: &str) -> Key {
    let mark = match kind {
        Input::Query => b'q',
        Input::Passage => b'p',
    };
    hashed(mark, std::iter::once(text))
}

/// The key of the tokens of a text in pieces.
fn tokens_key(kind: Input, pieces: &[String]) -> Key {
    let mark = match kind {
        Input::Query => b'Q',
        Input::Passage => b'P',
    };
    hashed(mark, pieces.iter().map(String::as_str))
}

fn hashed<'a>(mark: u8, texts: impl Iterator<Item = &'a str>) -> Key {
    let mut hash = Sha256::new();
    hash.update([mark]);
    for (place, text) in texts.enumerate() {
        // No UTF-8 text has this byte, so "ab", "c" is not "a", "bc".
        if place > 0 {
            hash.update([0xff]);
        }
        hash.update(text.as_bytes());
    }
    let mut key = Key::default();
    for (to, from) in key.iter_mut().zip(hash.finalize()) {
        *to = from;
    }
    key
}

impl Embedder for Cached {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn max_tokens(&self) -> usize {
        self.inner.max_tokens()
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.inner.count_tokens(text)
    }

    fn embed<'a>(&'a self, kind: Input, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, EmbedError>> {
        async move {
            let keys: Vec<Key> = texts.iter().map(|text| key(kind, text)).collect();
            let embed = |texts| {
                let embedded = self.inner.embed(kind, texts);
                embedded
                    .map_ok(|embedded| Some(embedded.into_iter().map(Remembered::Text).collect()))
                    .boxed()
            };
            let embedded = self.each(&keys, &texts, embed).await?.unwrap_or_default().into_iter();
            let texts = embedded.filter_map(|embedded| match embedded {
                Remembered::Text(embedding) => Some(embedding),
                Remembered::Tokens(_) => None,
            });
            Ok(texts.collect())
        }
        .boxed()
    }

    fn embed_tokens<'a>(
        &'a self,
        kind: Input,
        texts: Vec<Vec<String>>,
    ) -> BoxFuture<'a, Result<Option<Vec<Arc<TokenVectors>>>, EmbedError>> {
        async move {
            let keys: Vec<Key> = texts.iter().map(|pieces| tokens_key(kind, pieces)).collect();
            let embed = |texts| {
                let embedded = self.inner.embed_tokens(kind, texts);
                embedded
                    .map_ok(|embedded| Some(embedded?.into_iter().map(Remembered::Tokens).collect()))
                    .boxed()
            };
            let Some(embedded) = self.each(&keys, &texts, embed).await? else {
                return Ok(None);
            };
            let tokens = embedded.into_iter().filter_map(|embedded| match embedded {
                Remembered::Tokens(tokens) => Some(tokens),
                Remembered::Text(_) => None,
            });
            Ok(Some(tokens.collect()))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
