//! An encoder in this process as an [`Embedder`]: tokens, batches, and the threads that it computes on.

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::{
    StreamExt as _, TryStreamExt as _,
    future::{BoxFuture, FutureExt},
    stream,
};
use tokio::sync::{Semaphore, oneshot};

use super::{
    EmbedError, Embedder, EmbedderChoice, EmbedderOptions, Embedding, Input, ModelError, Token, TokenVectors,
    bert::{Bert, pool},
    e5, minilm,
    tokenize::TextTokenizer,
};
use crate::{
    fetch::{self, FetchOptions},
    progress::Progress,
};

/// Tokens that are encoded at once: enough for large products, few enough for somebody else's turn to come soon.
const BATCH_TOKENS: usize = 512;
/// Beyond this many bytes a text is not even split into tokens: no model takes that many.
const MAX_BYTES: usize = 1 << 16;

/// The ids that a model has before and after a text.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    pub(super) first: u32,
    pub(super) last: u32,
}

/// A model and what belongs to it.
pub(super) struct Encoder {
    pub(super) id: &'static str,
    pub(super) bert: Bert,
    pub(super) tokenizer: TextTokenizer,
    pub(super) marks: Marks,
    /// What goes before a text of that kind.
    pub(super) prefix: fn(Input) -> &'static str,
    /// The longest text that the model takes, prefix and marks included.
    pub(super) max_tokens: usize,
}

impl Encoder {
    fn limit(&self) -> usize {
        self.max_tokens.min(self.bert.max_positions())
    }

    /// The ids of `text` with prefix and marks, cut at the limit.
    fn tokens(&self, kind: Input, text: &str) -> Result<Vec<u32>, EmbedError> {
        let text = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or(text);
        let text = format!("{}{text}", (self.prefix)(kind));
        let mut ids = self.tokenizer.ids(&text).map_err(|detail| self.failed(detail))?;
        ids.truncate(self.limit().saturating_sub(2));
        ids.insert(0, self.marks.first);
        ids.push(self.marks.last);
        Ok(ids)
    }

    /// The ids of a text given in pieces, with prefix and marks, cut at the limit, and for each the piece that it is of;
    /// none for prefix and marks.
    fn pieces(&self, kind: Input, pieces: &[String]) -> Result<(Vec<u32>, Vec<Option<usize>>), EmbedError> {
        let prefix = self
            .tokenizer
            .ids((self.prefix)(kind))
            .map_err(|detail| self.failed(detail))?;
        let mut ids = vec![self.marks.first];
        ids.extend(prefix);
        let mut of = vec![None; ids.len()];
        let mut bytes = 0;
        for (place, piece) in pieces.iter().enumerate() {
            bytes += piece.len();
            if ids.len() >= self.limit().saturating_sub(1) || bytes > MAX_BYTES {
                break;
            }
            ids.extend(self.tokenizer.ids(piece).map_err(|detail| self.failed(detail))?);
            of.resize(ids.len(), Some(place));
        }
        ids.truncate(self.limit().saturating_sub(1));
        of.truncate(ids.len());
        ids.push(self.marks.last);
        of.push(None);
        Ok((ids, of))
    }

    /// The vectors of a text whose ids and their pieces are known and whose rows were encoded.
    fn token_vectors(&self, ids: &[u32], of: &[Option<usize>], rows: &[f32], pieces: usize) -> TokenVectors {
        let width = self.bert.hidden();
        let whole = Embedding::from(pool(rows, width));
        let (mut tokens, mut own) = (Vec::with_capacity(ids.len()), Vec::with_capacity(rows.len()));
        for ((id, of), row) in ids.iter().zip(of).zip(rows.chunks_exact(width.max(1))) {
            if let Some(piece) = *of {
                let text = self.tokenizer.piece(*id).unwrap_or_default().into();
                tokens.push(Token { text, piece });
                own.extend_from_slice(row);
            }
        }
        TokenVectors::new(width, tokens, &own, pieces, whole)
    }

    fn failed(&self, detail: impl ToString) -> EmbedError {
        EmbedError::Model {
            model: self.id.to_owned(),
            detail: detail.to_string(),
        }
    }
}

/// The path of a file that every form of the model has.
pub(super) fn required(files: &fetch::ModelFiles, name: &str) -> Result<PathBuf, ModelError> {
    let detail = "it is not among the files of the model";
    files.path(name).ok_or_else(|| ModelError::Corrupt {
        path: name.into(),
        detail: detail.to_owned(),
    })
}

/// Embeds on threads of its own, as many batches at a time as there are threads.
pub(super) struct LocalEmbedder {
    encoder: Arc<Encoder>,
    pool: rayon::ThreadPool,
    /// One batch alone is spread over every thread of the pool, but its products are too small to keep them all busy; a
    /// batch a thread does. Waiting here is in order.
    turns: Semaphore,
    threads: usize,
    /// Tokens that the longest prefix takes.
    prefix_tokens: usize,
}

/// Makes an encoder of the files of its model.
type Read = fn(&fetch::ModelFiles) -> Result<Encoder, ModelError>;

/// Fetches, reads and starts the model of `options`.
pub(super) async fn load(options: &EmbedderOptions, progress: Progress) -> Result<Arc<dyn Embedder>, ModelError> {
    let (model, read): (_, Read) = match options.embedder {
        EmbedderChoice::MiniLm => (&fetch::MINILM, minilm::load),
        _ => (&fetch::E5_SMALL, e5::load),
    };
    let start = |detail: String| ModelError::Start {
        embedder: options.embedder.to_string(),
        detail,
    };
    let where_to_look = FetchOptions::new(options.model_dir.clone()).map_err(Arc::new)?;
    let files = fetch::ensure(model, &where_to_look, progress).await.map_err(Arc::new)?;
    let encoder = tokio::task::spawn_blocking(move || read(&files))
        .await
        .map_err(|error| start(error.to_string()))??;
    let embedder = LocalEmbedder::new(encoder, options.embedder_threads).map_err(|error| start(error.to_string()))?;
    Ok(Arc::new(embedder))
}

impl LocalEmbedder {
    fn new(encoder: Encoder, threads: Option<NonZeroUsize>) -> Result<Self, rayon::ThreadPoolBuildError> {
        let threads = threads.map_or_else(usable_cores, NonZeroUsize::get);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|n| format!("embed-{n}"))
            .build()?;
        let prefix_tokens = [Input::Query, Input::Passage]
            .map(|kind| encoder.tokenizer.ids((encoder.prefix)(kind)).map_or(0, |ids| ids.len()))
            .into_iter()
            .max()
            .unwrap_or(0);
        Ok(Self {
            encoder: Arc::new(encoder),
            pool,
            turns: Semaphore::new(threads),
            threads,
            prefix_tokens,
        })
    }

    /// Runs `work` on the pool when it is this call's turn.
    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Encoder) -> Result<T, EmbedError> + Send + 'static,
    ) -> Result<T, EmbedError> {
        let _turn = self.turns.acquire().await.map_err(|error| self.encoder.failed(error))?;
        let (sender, receiver) = oneshot::channel();
        let encoder = self.encoder.clone();
        let span = tracing::Span::current();
        self.pool.spawn(move || {
            // A panic would end the process from here; as an error it ends one call.
            let work = std::panic::AssertUnwindSafe(|| span.in_scope(|| work(&encoder)));
            let result = std::panic::catch_unwind(work).unwrap_or_else(|_| Err(encoder.failed("it panicked")));
            // Nobody waits any more when the caller left.
            let _ = sender.send(result);
        });
        receiver
            .await
            .unwrap_or_else(|_| Err(self.encoder.failed("its thread ended without an answer")))
    }
}

/// Hyper-threads share the unit that multiplies, so physical cores count; a container may have fewer.
fn usable_cores() -> usize {
    let allowed = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    num_cpus::get_physical().clamp(1, allowed)
}

/// Tells the work that its caller left.
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

    fn dimensions(&self) -> usize {
        self.encoder.bert.hidden()
    }

    fn max_tokens(&self) -> usize {
        self.encoder.limit().saturating_sub(2 + self.prefix_tokens)
    }

    fn count_tokens(&self, text: &str) -> usize {
        // A failing tokenizer fails when the text is embedded; an estimate is good enough until then.
        self.encoder.tokenizer.ids(text).map_or(text.len() / 4, |ids| ids.len())
    }

    fn embed<'a>(&'a self, kind: Input, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, EmbedError>> {
        async move {
            let stop = Arc::new(AtomicBool::new(false));
            let _stop_on_drop = StopOnDrop(stop.clone());
            let count = texts.len();
            let batches = self.batches(texts).into_iter().map(|batch| {
                let stop = stop.clone();
                self.compute(move |encoder| {
                    let mut tokens = Vec::with_capacity(batch.len());
                    for text in &batch {
                        if stop.load(Ordering::Relaxed) {
                            return Ok(None);
                        }
                        tokens.push(encoder.tokens(kind, text)?);
                    }
                    encoder
                        .bert
                        .encode(&tokens, &stop)
                        .map_err(|error| encoder.failed(error))
                })
            });
            let mut embedded = stream::iter(batches).buffered(self.threads);
            let mut embeddings = Vec::with_capacity(count);
            while let Some(vectors) = embedded.try_next().await? {
                // `None` only after this future was dropped, when nothing comes back here.
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
            // Each text by itself: passages are large enough.
            let texts = texts.into_iter().map(|text| {
                let stop = stop.clone();
                self.compute(move |encoder| {
                    let (ids, of) = encoder.pieces(kind, &text)?;
                    let rows = encoder
                        .bert
                        .rows(std::slice::from_ref(&ids), &stop)
                        .map_err(|error| encoder.failed(error))?;
                    let rows = rows.and_then(|rows| rows.into_iter().next());
                    Ok(rows.map(|rows| encoder.token_vectors(&ids, &of, &rows, text.len())))
                })
            });
            let mut embedded = stream::iter(texts).buffered(self.threads);
            while let Some(vectors) = embedded.try_next().await? {
                // `None` only after this future was dropped, when nothing comes back here.
                all.extend(vectors.map(Arc::new));
            }
            Ok(Some(all))
        }
        .boxed()
    }
}

impl LocalEmbedder {
    /// The texts in order, in batches of about [`BATCH_TOKENS`] with at least one text each.
    fn batches(&self, texts: Vec<String>) -> Vec<Vec<String>> {
        let mut batches: Vec<Vec<String>> = Vec::new();
        let mut tokens = 0;
        for text in texts {
            let own = self.estimate(&text);
            match batches.last_mut() {
                Some(batch) if tokens + own <= BATCH_TOKENS => {
                    tokens += own;
                    batch.push(text);
                }
                _ => {
                    tokens = own;
                    batches.push(vec![text]);
                }
            }
        }
        batches
    }

    /// About the tokens of a text, without the work of finding them: rather too many.
    fn estimate(&self, text: &str) -> usize {
        (text.len() / 3 + 8).min(self.encoder.limit())
    }
}
