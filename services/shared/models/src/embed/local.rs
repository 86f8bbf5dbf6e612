//! The in-process [`Embedder`]: tokenization, batching and the thread pool of an encoder.

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use emend_core::Places;
use futures::{
    StreamExt as _, TryStreamExt as _,
    future::{BoxFuture, FutureExt},
    stream,
};
use tokio::sync::oneshot;

use super::{
    EmbedError, Embedder, EmbedderChoice, EmbedderOptions, Embedding, Input, ModelError, Precision, Token,
    TokenVectors,
    adapter::Adapter,
    bert::{Bert, Layer, pool},
    e5, int8, minilm,
    tokenize::TextTokenizer,
};
use crate::{
    fetch::{self, FetchOptions},
    progress::Progress,
};

/// Tokens per batch: enough for large matrix products, few enough that other calls do not wait long.
const BATCH_TOKENS: usize = 512;
/// Batches of a call that wait while others of it are computed, so that no other call slips in between two of them.
const NEXT_BATCHES: usize = 1;
/// Texts are truncated to this many bytes before tokenization. No model takes more.
const MAX_BYTES: usize = 1 << 16;

/// The ids of the special tokens before and after a text, such as `[CLS]` and `[SEP]`.
#[derive(Clone, Copy)]
pub(super) struct SpecialTokens {
    pub(super) first: u32,
    pub(super) last: u32,
}

/// A model with its tokenizer.
pub(super) struct Encoder {
    pub(super) id: &'static str,
    /// See [`Embedder::space`].
    pub(super) space: &'static str,
    pub(super) bert: Bert,
    pub(super) tokenizer: TextTokenizer,
    pub(super) special_tokens: SpecialTokens,
    /// The prefix of texts of a kind.
    pub(super) prefix: fn(Input) -> &'static str,
    /// The maximum text length in tokens, including prefix and special tokens.
    pub(super) max_tokens: usize,
    /// The adapter of questions and answers; `None` if they are embedded as queries and passages.
    pub(super) adapter: Option<Adapter>,
}

impl Encoder {
    /// The layers that replace the last ones for texts of a kind.
    fn adapted(&self, kind: Input) -> &[Layer] {
        match (&self.adapter, kind) {
            (None, _) | (_, Input::Claim | Input::Evidence) => &[],
            (Some(adapter), Input::Query | Input::Passage) => &adapter.search_layers,
            (Some(adapter), Input::Question | Input::Answer) => &adapter.answer_layers,
        }
    }

    /// Brings the weights into the form in which they are multiplied.
    fn pack(&mut self, to_int8: bool) -> Result<(), EmbedError> {
        let adapted = self.adapter.iter_mut();
        let adapted = adapted.flat_map(|adapter| adapter.search_layers.iter_mut().chain(&mut adapter.answer_layers));
        let mut layers = self.bert.layers.iter_mut().chain(adapted);
        let packed = layers.try_for_each(|layer| layer.pack(to_int8));
        packed.map_err(|error| self.failed(error))
    }

    fn limit(&self) -> usize {
        self.max_tokens.min(self.bert.max_positions())
    }

    /// Tokenizes `text` with prefix and special tokens, truncated to the limit.
    fn tokens(&self, kind: Input, text: &str) -> Result<Vec<u32>, EmbedError> {
        let text = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or(text);
        let text = format!("{}{text}", (self.prefix)(kind));
        let mut ids = self.tokenizer.ids(&text).map_err(|detail| self.failed(detail))?;
        ids.truncate(self.limit().saturating_sub(2));
        ids.insert(0, self.special_tokens.first);
        ids.push(self.special_tokens.last);
        Ok(ids)
    }

    /// Tokenizes a text given in pieces, with prefix and special tokens, truncated to the limit. Also returns the piece
    /// index of each token, `None` for prefix and special tokens.
    fn pieces(&self, kind: Input, pieces: &[String]) -> Result<(Vec<u32>, Vec<Option<usize>>), EmbedError> {
        let prefix = self
            .tokenizer
            .ids((self.prefix)(kind))
            .map_err(|detail| self.failed(detail))?;
        let mut ids = vec![self.special_tokens.first];
        ids.extend(prefix);
        let mut piece_of = vec![None; ids.len()];
        let mut bytes = 0;
        for (index, piece) in pieces.iter().enumerate() {
            bytes += piece.len();
            if ids.len() >= self.limit().saturating_sub(1) || bytes > MAX_BYTES {
                break;
            }
            ids.extend(self.tokenizer.ids(piece).map_err(|detail| self.failed(detail))?);
            piece_of.resize(ids.len(), Some(index));
        }
        ids.truncate(self.limit().saturating_sub(1));
        piece_of.truncate(ids.len());
        ids.push(self.special_tokens.last);
        piece_of.push(None);
        Ok((ids, piece_of))
    }

    /// Builds the token vectors of a text from its token ids, their piece indices and the encoded rows.
    fn token_vectors(
        &self,
        kind: Input,
        (ids, piece_of): (&[u32], &[Option<usize>]),
        rows: &[f32],
        pieces: usize,
    ) -> TokenVectors {
        let width = self.bert.hidden();
        let whole = Embedding::from(pool(rows, width));
        let (mut tokens, mut token_rows) = (Vec::with_capacity(ids.len()), Vec::with_capacity(rows.len()));
        for ((id, piece), row) in ids.iter().zip(piece_of).zip(rows.chunks_exact(width.max(1))) {
            if let Some(piece) = *piece {
                let text = self.tokenizer.piece(*id).unwrap_or_default().into();
                tokens.push(Token { text, piece });
                token_rows.extend_from_slice(row);
            }
        }
        let vectors = TokenVectors::new(width, tokens, &token_rows, pieces, whole);
        match &self.adapter {
            Some(adapter) if kind == Input::Question => vectors.weighted(&adapter.token_weights),
            _ => vectors,
        }
    }

    fn failed(&self, detail: impl ToString) -> EmbedError {
        EmbedError::Model {
            model: self.id.to_owned(),
            detail: detail.to_string(),
        }
    }
}

/// The path of a required file of the model.
pub(super) fn required(files: &fetch::ModelFiles, name: &str) -> Result<PathBuf, ModelError> {
    let detail = "the file is missing from the model";
    files.path(name).ok_or_else(|| ModelError::Corrupt {
        path: name.into(),
        detail: detail.to_owned(),
    })
}

/// Embeds on its own thread pool, with as many concurrent batches as threads.
pub(super) struct LocalEmbedder {
    encoder: Arc<Encoder>,
    pool: rayon::ThreadPool,
    /// Limits the concurrent batches. A single batch runs on all threads of the pool, but its matrix products are too
    /// small to keep them busy; one batch per thread does.
    places: Places,
    threads: usize,
    /// Length of the longest prefix in tokens.
    prefix_tokens: usize,
}

/// Loads an encoder from the files of its model.
type LoadFn = fn(&fetch::ModelFiles) -> Result<Encoder, ModelError>;

/// Fetches, loads and starts the model of `options`.
pub(super) async fn load(options: &EmbedderOptions, progress: Progress) -> Result<Arc<dyn Embedder>, ModelError> {
    let (model, read): (_, LoadFn) = match options.embedder {
        EmbedderChoice::MiniLm => (&fetch::MINILM, minilm::load),
        _ => (&fetch::E5_SMALL, e5::load),
    };
    let embedder = options.embedder.to_string();
    let start = move |detail: String| ModelError::Start {
        embedder: embedder.clone(),
        detail,
    };
    let fetch_options = FetchOptions::new(options.model_dir.clone()).map_err(Arc::new)?;
    let files = fetch::ensure(model, &fetch_options, progress).await.map_err(Arc::new)?;
    let to_int8 = to_int8(options.embedder_precision)?;
    let failed = start.clone();
    let loading = move || {
        let mut encoder = read(&files)?;
        let packed = encoder.pack(to_int8);
        packed.map(|()| encoder).map_err(|error| failed(error.to_string()))
    };
    let encoder = tokio::task::spawn_blocking(loading)
        .await
        .map_err(|error| start(error.to_string()))??;
    let numbers = if to_int8 { Precision::Int8 } else { Precision::F32 };
    tracing::debug!(embedder = encoder.id, precision = %numbers, "weights read");
    let embedder = LocalEmbedder::new(encoder, options.embedder_threads).map_err(|error| start(error.to_string()))?;
    Ok(Arc::new(embedder))
}

/// Whether the weights of a model are rounded to 8 bits.
fn to_int8(precision: Precision) -> Result<bool, ModelError> {
    let is_fast = int8::is_fast();
    match precision {
        Precision::Auto => Ok(is_fast),
        Precision::F32 => Ok(false),
        Precision::Int8 if is_fast => Ok(true),
        Precision::Int8 => Err(ModelError::Option {
            option: "embedder-precision",
            value: precision.to_string(),
            detail: "this CPU has no AVX-512 VNNI; use auto or f32".to_owned(),
        }),
    }
}

impl LocalEmbedder {
    fn new(encoder: Encoder, threads: Option<NonZeroUsize>) -> Result<Self, rayon::ThreadPoolBuildError> {
        let threads = threads.map_or_else(usable_cores, NonZeroUsize::get);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|n| format!("embed-{n}"))
            .start_handler(|_| emend_core::let_others_first())
            .build()?;
        let prefix_tokens = [Input::Query, Input::Passage]
            .map(|kind| encoder.tokenizer.ids((encoder.prefix)(kind)).map_or(0, |ids| ids.len()))
            .into_iter()
            .max()
            .unwrap_or(0);
        Ok(Self {
            encoder: Arc::new(encoder),
            pool,
            places: Places::new(threads),
            threads,
            prefix_tokens,
        })
    }

    /// Waits for a place, then runs `work` on texts of this kind on the thread pool.
    async fn compute<T: Send + 'static>(
        &self,
        kind: Input,
        work: impl FnOnce(&Encoder) -> Result<T, EmbedError> + Send + 'static,
    ) -> Result<T, EmbedError> {
        let place = self.places.place(rank(kind)).await;
        let _place = place.map_err(|error| self.encoder.failed(error))?;
        let (sender, receiver) = oneshot::channel();
        let encoder = self.encoder.clone();
        let span = tracing::Span::current();
        self.pool.spawn(move || {
            // A panic in a rayon task would abort the process. Turn it into an error of this call.
            let work = std::panic::AssertUnwindSafe(|| span.in_scope(|| work(&encoder)));
            let result = std::panic::catch_unwind(work).unwrap_or_else(|_| Err(encoder.failed("panicked")));
            // Fails if the caller has been dropped.
            let _ = sender.send(result);
        });
        receiver
            .await
            .unwrap_or_else(|_| Err(self.encoder.failed("the task was dropped without a result")))
    }
}

/// Who gets a place first: questions that somebody waits for go before documents that are being stored.
fn rank(kind: Input) -> u64 {
    u64::from(kind == Input::Passage)
}

/// The number of physical cores that this process may use. Hyper-threads are not counted because they share the
/// floating-point units. A container may be limited to fewer cores.
fn usable_cores() -> usize {
    let allowed = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    num_cpus::get_physical().clamp(1, allowed)
}

/// Sets the stop flag when the caller is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Embedder for LocalEmbedder {
    fn id(&self) -> &str {
        self.encoder.id
    }

    fn space(&self) -> &str {
        self.encoder.space
    }

    fn dimensions(&self) -> usize {
        self.encoder.bert.hidden()
    }

    fn max_tokens(&self) -> usize {
        self.encoder.limit().saturating_sub(2 + self.prefix_tokens)
    }

    fn adapts_to_answers(&self) -> bool {
        self.encoder.adapter.is_some()
    }

    fn count_tokens(&self, text: &str) -> usize {
        // If the tokenizer fails, return an estimate. Embedding the text reports the error.
        self.encoder.tokenizer.ids(text).map_or(text.len() / 4, |ids| ids.len())
    }

    fn embed<'a>(&'a self, kind: Input, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, EmbedError>> {
        async move {
            let stop = Arc::new(AtomicBool::new(false));
            let _stop_on_drop = StopOnDrop(stop.clone());
            let count = texts.len();
            let batches = self.batches(texts).into_iter().map(|batch| {
                let stop = stop.clone();
                self.compute(kind, move |encoder| {
                    let mut tokens = Vec::with_capacity(batch.len());
                    for text in &batch {
                        if stop.load(Ordering::Relaxed) {
                            return Ok(None);
                        }
                        tokens.push(encoder.tokens(kind, text)?);
                    }
                    encoder
                        .bert
                        .encode(encoder.adapted(kind), &tokens, &stop)
                        .map_err(|error| encoder.failed(error))
                })
            });
            let mut embedded = stream::iter(batches).buffered(self.threads + NEXT_BATCHES);
            let mut embeddings = Vec::with_capacity(count);
            while let Some(vectors) = embedded.try_next().await? {
                // `None` only after this future was dropped, which ends this loop.
                embeddings.extend(vectors.into_iter().flatten().map(Embedding::from));
            }
            Ok(embeddings)
        }
        .boxed()
    }

    fn embed_tokens<'a>(
        &'a self,
        kind: Input,
        texts: Vec<Vec<String>>,
    ) -> BoxFuture<'a, Result<Option<Vec<Arc<TokenVectors>>>, EmbedError>> {
        async move {
            let stop = Arc::new(AtomicBool::new(false));
            let _stop_on_drop = StopOnDrop(stop.clone());
            let mut all = Vec::with_capacity(texts.len());
            // One text per batch: passages are large enough.
            let texts = texts.into_iter().map(|text| {
                let stop = stop.clone();
                self.compute(kind, move |encoder| {
                    let (ids, piece_of) = encoder.pieces(kind, &text)?;
                    let rows = encoder
                        .bert
                        .rows(encoder.adapted(kind), std::slice::from_ref(&ids), &stop)
                        .map_err(|error| encoder.failed(error))?;
                    let rows = rows.and_then(|rows| rows.into_iter().next());
                    Ok(rows.map(|rows| encoder.token_vectors(kind, (&ids, &piece_of), &rows, text.len())))
                })
            });
            let mut embedded = stream::iter(texts).buffered(self.threads + NEXT_BATCHES);
            while let Some(vectors) = embedded.try_next().await? {
                // `None` only after this future was dropped, which ends this loop.
                all.extend(vectors.map(Arc::new));
            }
            Ok(Some(all))
        }
        .boxed()
    }
}

impl LocalEmbedder {
    /// Splits the texts, in order, into batches of about [`BATCH_TOKENS`] tokens, at least one text each.
    fn batches(&self, texts: Vec<String>) -> Vec<Vec<String>> {
        let mut batches: Vec<Vec<String>> = Vec::new();
        let mut tokens = 0;
        for text in texts {
            let estimate = self.estimate_tokens(&text);
            match batches.last_mut() {
                Some(batch) if tokens + estimate <= BATCH_TOKENS => {
                    tokens += estimate;
                    batch.push(text);
                }
                _ => {
                    tokens = estimate;
                    batches.push(vec![text]);
                }
            }
        }
        batches
    }

    /// Estimates the number of tokens of a text without tokenizing it. Errs on the high side.
    fn estimate_tokens(&self, text: &str) -> usize {
        (text.len() / 3 + 8).min(self.encoder.limit())
    }
}
