//! Grades that were given before, or are being given.

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

/// What a grade depends on, as a hash: no text is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; 32]);

impl Key {
    /// The grade that `model` gives to a prompt.
    pub(super) fn of_prompt(model: &str, rendered: &Rendered) -> Self {
        let said = rendered.messages.iter().map(|message| message.content.as_str());
        Self::of([model, rendered.version.as_str()].into_iter().chain(said))
    }

    /// The grade that depends on these texts: the model, the prompt with its version, and what is put into it.
    pub(super) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            // With their lengths, or else "ab", "c" would be the same as "a", "bc".
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        }
        Self(hash.finalize().into())
    }
}

/// Keeps real grades, so many at most; the least used go first. A missing grade is not kept: it may be had the next time.
/// What is being asked for is not asked for again in the meantime.
#[derive(Debug)]
pub(super) struct GradeCache {
    /// An outcome of the type that its task has, which the prompt in its key tells. None where nothing is kept or shared.
    grades: Option<Cache<Key, Kept>>,
    hits: Counter<u64>,
    misses: Counter<u64>,
}

type Kept = Arc<dyn Any + Send + Sync>;

/// What came of asking for a grade.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given<T> {
    pub(super) outcome: T,
    /// What it cost, which is told to nobody but who asked.
    pub(super) usage: Usage,
    pub(super) holds: CachePolicy,
}

/// For whom an outcome holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CachePolicy {
    /// For everybody, from now on.
    Kept,
    /// For those who wait for it.
    Shared,
    /// For who asked alone: it comes of how much time they had.
    Own,
}

impl GradeCache {
    /// A cache of so many entries; with 0 it keeps nothing, and whoever asks is given a grade of their own.
    pub(super) fn new(entries: u64, meter: &Meter) -> Self {
        let counter = |name| meter.u64_counter(name).with_unit("{grade}").build();
        Self {
            grades: (entries > 0).then(|| Cache::new(entries)),
            hits: counter(semconv::EMEND_GRADE_CACHE_HITS),
            misses: counter(semconv::EMEND_GRADE_CACHE_MISSES),
        }
    }

    /// The grade of the task with this name, where it was given before.
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

    /// The outcome that was given before, or that somebody else is being given, at no cost; else that of `give`, of which
    /// one at a time runs for a key. Where who is being given it leaves, or has no time left, the next of those who wait
    /// asks. It is counted under the name of the task, where there is one.
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
