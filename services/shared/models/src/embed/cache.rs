//! An embedding cache that coalesces concurrent requests for the same text.

use std::{
    collections::{HashMap, HashSet},
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

/// The first 16 bytes of the SHA-256 of the kind and the text. The text itself is not stored.
type Key = [u8; 16];
type Pending = HashMap<Key, watch::Receiver<Option<Entry>>>;
type InFlight = Mutex<Pending>;

/// A cached result.
#[derive(Clone)]
enum Entry {
    Text(Embedding),
    Tokens(Arc<TokenVectors>),
}

impl Entry {
    /// The size of the values in bytes.
    fn size(&self) -> usize {
        match self {
            Self::Text(embedding) => std::mem::size_of_val::<[f32]>(embedding),
            Self::Tokens(tokens) => tokens.size(),
        }
    }
}

/// Bytes of an entry besides its values: key, counters and links of the cache.
const ENTRY_OVERHEAD: usize = 160;

/// An embedder with a cache.
///
/// Results are cached up to a number of bytes. A text that another call is embedding is not embedded again: the call
/// waits for the result. If the other call is dropped, one of the waiting calls embeds the text.
pub struct Cached {
    inner: Arc<dyn Embedder>,
    cache: Cache<Key, Entry>,
    in_flight: InFlight,
}

impl Cached {
    /// Caches up to `mebibytes` MiB of the results of `inner`. 0 disables the cache.
    #[must_use]
    pub fn new(inner: Arc<dyn Embedder>, mebibytes: u32) -> Self {
        let cache = Cache::builder()
            .max_capacity(u64::from(mebibytes) << 20)
            .weigher(|_: &Key, entry: &Entry| u32::try_from(entry.size() + ENTRY_OVERHEAD).unwrap_or(u32::MAX))
            .build();
        Self {
            inner,
            cache,
            in_flight: InFlight::default(),
        }
    }

    /// Creates the span of what the cache did not have. It records the number of texts, never their content. The call of
    /// the model as the conventions mean it is the caller's span, around the cache.
    fn span(&self, texts: usize) -> tracing::Span {
        tracing::info_span!(
            "embed",
            { semconv::GEN_AI_REQUEST_MODEL } = self.id(),
            { semconv::EMEND_EMBEDDINGS_TEXTS } = texts,
        )
    }

    /// Looks up the keys that `found` lacks. Cached entries are added to `found`. Returns the claims and items that
    /// this call has to embed, and the receivers of those that other calls are embedding.
    fn claim<I: Clone>(
        &self,
        keys: &[Key],
        items: &[I],
        found: &mut HashMap<Key, Entry>,
    ) -> (Claims<'_>, Vec<I>, Pending) {
        let mut claims = Claims {
            in_flight: &self.in_flight,
            senders: Vec::new(),
        };
        let (mut claimed, mut pending) = (Vec::new(), Pending::new());
        let mut own = HashSet::new();
        let mut in_flight = lock(&self.in_flight);
        for (key, item) in keys.iter().zip(items) {
            if found.contains_key(key) || pending.contains_key(key) || own.contains(key) {
                continue;
            }
            if let Some(entry) = self.cache.get(key) {
                found.insert(*key, entry);
            } else if let Some(receiver) = in_flight.get(key) {
                pending.insert(*key, receiver.clone());
            } else {
                let (sender, receiver) = watch::channel(None);
                in_flight.insert(*key, receiver);
                own.insert(*key);
                claims.senders.push((*key, sender));
                claimed.push(item.clone());
            }
        }
        drop(in_flight);
        (claims, claimed, pending)
    }

    /// Returns one entry per key, in order: from the cache, from other calls in flight, or from `embed`. `None` if
    /// `embed` returns `None`.
    async fn get_or_embed<'a, I: Clone>(
        &'a self,
        keys: &[Key],
        items: &[I],
        embed: impl Fn(Vec<I>) -> BoxFuture<'a, Result<Option<Vec<Entry>>, EmbedError>>,
    ) -> Result<Option<Vec<Entry>>, EmbedError> {
        let mut found = HashMap::with_capacity(keys.len());
        loop {
            let (mut claims, claimed, pending) = self.claim(keys, items, &mut found);
            if claimed.is_empty() && pending.is_empty() {
                break;
            }
            // Claimed texts first: two calls that wait for each other's texts would deadlock otherwise.
            if !claimed.is_empty() {
                let count = claimed.len();
                let span = self.span(count);
                let Some(entries) = embed(claimed).instrument(span).await? else {
                    return Ok(None);
                };
                if entries.len() != count {
                    return Err(EmbedError::Model {
                        model: self.inner.id().to_owned(),
                        detail: format!("got {} embeddings for {count} texts", entries.len()),
                    });
                }
                for ((key, sender), entry) in claims.senders.iter_mut().zip(entries) {
                    self.cache.insert(*key, entry.clone());
                    sender.send_replace(Some(entry.clone()));
                    found.insert(*key, entry);
                }
            }
            drop(claims);
            for (key, mut receiver) in pending {
                // Closed without a value: the other call failed or was dropped. The next iteration claims its text.
                if let Ok(value) = receiver.wait_for(Option::is_some).await
                    && let Some(entry) = value.clone()
                {
                    found.insert(key, entry);
                }
            }
        }
        Ok(Some(keys.iter().filter_map(|key| found.get(key).cloned()).collect()))
    }
}

/// The keys that one call is embedding. They are released on drop, whether embedded or not.
struct Claims<'a> {
    in_flight: &'a InFlight,
    senders: Vec<(Key, watch::Sender<Option<Entry>>)>,
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        let mut in_flight = lock(self.in_flight);
        for (key, _) in &self.senders {
            in_flight.remove(key);
        }
    }
}

fn lock(in_flight: &InFlight) -> MutexGuard<'_, Pending> {
    // Every change is a single insert or remove, so the map is consistent even if the mutex is poisoned.
    in_flight.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(kind: Input, text: &str) -> Key {
    let mark = match kind {
        Input::Query => b'q',
        Input::Passage => b'p',
        Input::Claim => b'c',
        Input::Evidence => b'e',
        Input::Question => b'u',
        Input::Answer => b'a',
    };
    hash(mark, std::iter::once(text))
}

/// The key of the token vectors of a text in pieces.
fn tokens_key(kind: Input, pieces: &[String]) -> Key {
    let mark = match kind {
        Input::Query => b'Q',
        Input::Passage => b'P',
        Input::Claim => b'C',
        Input::Evidence => b'E',
        Input::Question => b'U',
        Input::Answer => b'A',
    };
    hash(mark, pieces.iter().map(String::as_str))
}

fn hash<'a>(mark: u8, texts: impl Iterator<Item = &'a str>) -> Key {
    let mut hash = Sha256::new();
    hash.update([mark]);
    for (index, text) in texts.enumerate() {
        // A separator that does not occur in UTF-8, so that "ab", "c" differs from "a", "bc".
        if index > 0 {
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

    fn space(&self) -> &str {
        self.inner.space()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn max_tokens(&self) -> usize {
        self.inner.max_tokens()
    }

    fn adapts_to_answers(&self) -> bool {
        self.inner.adapts_to_answers()
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
                    .map_ok(|embedded| Some(embedded.into_iter().map(Entry::Text).collect()))
                    .boxed()
            };
            let entries = self.get_or_embed(&keys, &texts, embed).await?.unwrap_or_default();
            let embeddings = entries.into_iter().filter_map(|entry| match entry {
                Entry::Text(embedding) => Some(embedding),
                Entry::Tokens(_) => None,
            });
            Ok(embeddings.collect())
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
                    .map_ok(|embedded| Some(embedded?.into_iter().map(Entry::Tokens).collect()))
                    .boxed()
            };
            let Some(entries) = self.get_or_embed(&keys, &texts, embed).await? else {
                return Ok(None);
            };
            let tokens = entries.into_iter().filter_map(|entry| match entry {
                Entry::Tokens(tokens) => Some(tokens),
                Entry::Text(_) => None,
            });
            Ok(Some(tokens.collect()))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
