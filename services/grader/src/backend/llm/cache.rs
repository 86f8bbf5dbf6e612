//! A cache of grades, in which concurrent requests for the same grade share one call.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;

use emend_core::semconv;
use emend_models::prompt::Rendered;
use emend_proto::v1::Usage;
use moka::future::Cache;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Meter};
use sha2::{Digest, Sha256};

/// The hash of everything that a grade depends on. Texts are not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; 32]);

impl Key {
    /// The key for the grade that `model` gives to a prompt.
    pub(super) fn of_prompt(model: &str, rendered: &Rendered) -> Self {
        let said = rendered.messages.iter().map(|message| message.content.as_str());
        Self::of([model, rendered.version.as_str()].into_iter().chain(said))
    }

    /// The key for a grade that depends on these texts: the model, the prompt with its version, and
    /// its inputs.
    pub(super) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            // The lengths are hashed too; otherwise "ab", "c" and "a", "bc" would have the same
            // key.
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        }
        Self(hash.finalize().into())
    }
}

/// Caches grades up to a number of entries; the least used ones are evicted. Missing grades are not
/// cached, because the next call may succeed. Concurrent requests for the same key share one call.
#[derive(Debug)]
pub(super) struct GradeCache {
    /// The cached grades. Their type depends on the task, which the prompt in the key determines.
    /// `None` if nothing is cached or shared.
    grades: Option<Cache<Key, Kept>>,
    hits: Counter<u64>,
    misses: Counter<u64>,
}

type Kept = Arc<dyn Any + Send + Sync>;

/// The result of a call for a grade.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given<T> {
    pub(super) outcome: T,
    /// What it cost. Only the request that made the call reports it.
    pub(super) usage: Usage,
    pub(super) holds: CachePolicy,
}

/// Who may use an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CachePolicy {
    /// Everybody, from now on.
    Kept,
    /// The requests that wait for it now.
    Shared,
    /// Only the request that made the call, because the outcome depends on its deadline.
    Own,
}

impl GradeCache {
    /// A cache of this many entries. With 0 it caches nothing, and every request makes its own
    /// call.
    pub(super) fn new(entries: u64, meter: &Meter) -> Self {
        let counter = |name| meter.u64_counter(name).with_unit("{grade}").build();
        Self {
            grades: (entries > 0).then(|| Cache::new(entries)),
            hits: counter(semconv::EMEND_GRADE_CACHE_HITS),
            misses: counter(semconv::EMEND_GRADE_CACHE_MISSES),
        }
    }

    /// The cached grade for a key, counted as a hit or a miss of this task.
    pub(super) async fn get<T: Clone + 'static>(&self, task: &'static str, key: &Key) -> Option<T> {
        let grades = self.grades.as_ref()?;
        let found = grades
            .get(key)
            .await
            .and_then(|grade| grade.downcast_ref::<T>().cloned());
        self.count(task, found.is_some());
        found
    }

    pub(super) async fn put<T: Send + Sync + 'static>(&self, key: Key, grade: T) {
        if let Some(grades) = &self.grades {
            grades.insert(key, Arc::new(grade)).await;
        }
    }

    /// The outcome for a key: the cached one or that of a call that is already running, both at no
    /// cost, otherwise that of `give`. For each key only one `give` runs at a time. If the request
    /// that runs it is dropped or out of time, the next waiting request calls `give`. With a
    /// `task`, a hit or a miss of it is counted.
    pub(super) async fn join<T, F>(&self, task: Option<&'static str>, key: Key, give: impl Fn() -> F) -> (T, Usage)
    where
        T: Clone + Send + Sync + 'static,
        F: Future<Output = Given<T>>,
    {
        while let Some(grades) = &self.grades {
            let mut own: Option<(Option<T>, Usage)> = None;
            let asked = async {
                let Given { outcome, usage, holds } = give().await;
                let (mine, others) = match holds {
                    CachePolicy::Kept => (None, Ok(Arc::new(outcome) as Kept)),
                    CachePolicy::Shared => (None, Err(Some(outcome))),
                    CachePolicy::Own => (Some(outcome), Err(None)),
                };
                own = Some((mine, usage));
                others
            };
            let shared: Option<T> = match grades.try_get_with(key, asked).await {
                Ok(kept) => kept.downcast_ref::<T>().cloned(),
                Err(unkept) => unkept.as_ref().clone(),
            };
            let is_known = own.is_none();
            let (mine, usage) = own.unwrap_or_default();
            if let Some(outcome) = mine.or(shared) {
                if let Some(task) = task {
                    self.count(task, is_known);
                }
                return (outcome, usage);
            }
        }
        let Given { outcome, usage, .. } = give().await;
        (outcome, usage)
    }

    fn count(&self, task: &'static str, is_known: bool) {
        let counter = if is_known { &self.hits } else { &self.misses };
        counter.add(1, &[KeyValue::new(semconv::GEN_AI_EVALUATION_NAME, task)]);
    }
}

#[cfg(test)]
mod tests;
