//! Grades that were given before.

use std::any::Any;
use std::sync::Arc;

use emend_chassis::semconv;
use emend_models::prompt::Rendered;
use moka::sync::Cache;
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
#[derive(Debug)]
pub(super) struct GradeCache {
    /// A grade of the type that its task has, which the prompt in its key tells. None where nothing is kept.
    grades: Option<Cache<Key, Arc<dyn Any + Send + Sync>>>,
    hits: Counter<u64>,
    misses: Counter<u64>,
}

impl GradeCache {
    /// A cache of so many entries; with 0 it keeps nothing.
    pub(super) fn new(entries: u64, meter: &Meter) -> Self {
        let counter = |name| meter.u64_counter(name).with_unit("{grade}").build();
        Self {
            grades: (entries > 0).then(|| Cache::new(entries)),
            hits: counter(semconv::EMEND_GRADE_CACHE_HITS),
            misses: counter(semconv::EMEND_GRADE_CACHE_MISSES),
        }
    }

    /// The grade of the task with this name, where it was given before.
    pub(super) fn get<T: Clone + 'static>(&self, task: &'static str, key: &Key) -> Option<T> {
        let grades = self.grades.as_ref()?;
        let found = grades.get(key).and_then(|grade| (*grade).downcast_ref::<T>().cloned());
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.add(1, &[KeyValue::new(semconv::GEN_AI_EVALUATION_NAME, task)]);
        found
    }

    pub(super) fn put<T: Send + Sync + 'static>(&self, key: Key, grade: T) {
        if let Some(grades) = &self.grades {
            grades.insert(key, Arc::new(grade));
        }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::metrics::MeterProvider as _;
    use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
    use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};

    use super::*;

    #[test]
    fn texts_do_not_run_together() {
        assert_eq!(Key::of(["ab", "c"]), Key::of(["ab", "c"]));
        assert_ne!(Key::of(["ab", "c"]), Key::of(["a", "bc"]));
        assert_ne!(Key::of(["ab"]), Key::of(["ab", ""]));
    }

    #[test]
    fn hits_and_misses_are_counted_by_task() {
        let exporter = InMemoryMetricExporter::default();
        let provider = SdkMeterProvider::builder()
            .with_reader(PeriodicReader::builder(exporter.clone()).build())
            .build();
        let cache = GradeCache::new(10, &provider.meter("test"));
        let key = Key::of(["a"]);
        assert_eq!(cache.get::<f64>("grade_documents", &key), None);
        cache.put(key, 0.5);
        assert_eq!(cache.get::<f64>("grade_documents", &key), Some(0.5));
        assert_eq!(cache.get::<f64>("grade_documents", &key), Some(0.5));
        provider.force_flush().unwrap();
        let mut counts = Vec::new();
        for resource in exporter.get_finished_metrics().unwrap() {
            for metric in resource.scope_metrics().flat_map(|scope| scope.metrics()) {
                let AggregatedMetrics::U64(MetricData::Sum(sum)) = metric.data() else {
                    panic!("counters count whole grades")
                };
                for point in sum.data_points() {
                    let task: Vec<String> = point.attributes().map(|label| label.value.to_string()).collect();
                    counts.push((metric.name().to_owned(), task.join(","), point.value()));
                }
            }
        }
        counts.sort();
        assert_eq!(
            counts,
            [
                ("emend.grade_cache.hits".to_owned(), "grade_documents".to_owned(), 2),
                ("emend.grade_cache.misses".to_owned(), "grade_documents".to_owned(), 1),
            ]
        );
    }

    #[test]
    fn a_cache_without_entries_keeps_nothing() {
        let provider = SdkMeterProvider::builder().build();
        let cache = GradeCache::new(0, &provider.meter("test"));
        cache.put(Key::of(["a"]), 0.5);
        assert_eq!(cache.get::<f64>("grade_documents", &Key::of(["a"])), None);
    }
}
