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

fn given(outcome: f64, holds: CachePolicy) -> Given<f64> {
    let usage = Usage {
        model_calls: 1,
        ..Usage::default()
    };
    Given { outcome, usage, holds }
}

#[tokio::test]
async fn hits_and_misses_are_counted_by_task() {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder()
        .with_reader(PeriodicReader::builder(exporter.clone()).build())
        .build();
    let cache = GradeCache::new(10, &provider.meter("test"));
    let key = Key::of(["a"]);
    assert_eq!(cache.get::<f64>("grade_documents", &key).await, None);
    cache.put(key, 0.5).await;
    assert_eq!(cache.get::<f64>("grade_documents", &key).await, Some(0.5));
    assert_eq!(cache.get::<f64>("grade_documents", &key).await, Some(0.5));
    let key = Key::of(["b"]);
    let give = || async { given(0.25, CachePolicy::Kept) };
    assert_eq!(cache.join(Some("grade_usefulness"), key, give).await.1.model_calls, 1);
    for _ in 0..2 {
        let known = cache.join(Some("grade_usefulness"), key, give).await;
        assert_eq!(known, (0.25, Usage::default()));
    }
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
            ("emend.grade_cache.hits".to_owned(), "grade_usefulness".to_owned(), 2),
            ("emend.grade_cache.misses".to_owned(), "grade_documents".to_owned(), 1),
            ("emend.grade_cache.misses".to_owned(), "grade_usefulness".to_owned(), 1),
        ]
    );
}

#[tokio::test]
async fn what_is_not_kept_is_asked_for_again() {
    let cache = GradeCache::new(10, &SdkMeterProvider::builder().build().meter("test"));
    let key = Key::of(["a"]);
    for (number, holds) in [CachePolicy::Shared, CachePolicy::Own, CachePolicy::Kept]
        .into_iter()
        .enumerate()
    {
        let outcome = number as f64;
        let joined = cache.join(None, key, || async { given(outcome, holds) }).await;
        assert_eq!((joined.0, joined.1.model_calls), (outcome, 1));
    }
    let joined = cache.join(None, key, || async { given(9.0, CachePolicy::Kept) }).await;
    assert_eq!((joined.0, joined.1.model_calls), (2.0, 0));
}

#[tokio::test]
async fn a_cache_without_entries_keeps_nothing() {
    let provider = SdkMeterProvider::builder().build();
    let cache = GradeCache::new(0, &provider.meter("test"));
    cache.put(Key::of(["a"]), 0.5).await;
    assert_eq!(cache.get::<f64>("grade_documents", &Key::of(["a"])).await, None);
    for _ in 0..2 {
        let joined = cache
            .join(None, Key::of(["a"]), || async { given(0.5, CachePolicy::Kept) })
            .await;
        assert_eq!((joined.0, joined.1.model_calls), (0.5, 1));
    }
}
