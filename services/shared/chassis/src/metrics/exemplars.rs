//! Of each bucket of a latency histogram the last trace that fell into it: the exemplars of OpenMetrics.
//!
//! OpenTelemetry's SDK for Rust collects none, so they are kept beside its histograms and join them where Prometheus reads.

use std::collections::HashMap;
use std::slice;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use opentelemetry::KeyValue;
use opentelemetry::trace::SpanContext;
use prometheus::TextEncoder;
use prometheus::proto::{MetricFamily, MetricType};

use super::SECONDS;

/// Content type of what [`Exemplars::encode`] writes.
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Most series with exemplars: as many as the SDK keeps of one instrument.
const MAX_SERIES: usize = 2000;
/// One for each bound, and one above all of them.
const BUCKETS: usize = SECONDS.len() + 1;

/// A call of a bucket.
#[derive(Clone, Debug)]
struct Exemplar {
    context: SpanContext,
    took: Duration,
    at: SystemTime,
}

/// A histogram as Prometheus calls it, and its labels, sorted.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Series {
    name: String,
    labels: Vec<(String, String)>,
}

/// The exemplars of every series.
#[derive(Debug, Default)]
pub(crate) struct Exemplars(Mutex<HashMap<Series, [Option<Exemplar>; BUCKETS]>>);

static OF_PROCESS: OnceLock<Exemplars> = OnceLock::new();

/// The exemplars of this process, which are collected from the first call on.
pub(crate) fn collect() -> &'static Exemplars {
    OF_PROCESS.get_or_init(Exemplars::default)
}

/// The exemplars of this process if they are collected.
pub(super) fn collected() -> Option<&'static Exemplars> {
    OF_PROCESS.get()
}

impl Exemplars {
    /// Keeps a call for the bucket of its duration, if its trace is sampled: another cannot be looked up.
    pub(super) fn keep(&self, instrument: &str, attributes: &[KeyValue], took: Duration, context: &SpanContext) {
        if !context.is_valid() || !context.is_sampled() {
            return;
        }
        let mut labels: Vec<_> = attributes
            .iter()
            .map(|attribute| (label(attribute.key.as_str()), attribute.value.as_str().into_owned()))
            .collect();
        labels.sort();
        let series = Series {
            name: format!("{}_seconds", label(instrument)),
            labels,
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_SERIES && !all.contains_key(&series) {
            return;
        }
        let bucket = SECONDS.partition_point(|bound| *bound < took.as_secs_f64());
        all.entry(series).or_default()[bucket] = Some(Exemplar {
            context: context.clone(),
            took,
            at: SystemTime::now(),
        });
    }

    /// Metrics in OpenMetrics' text form, with the exemplars of their buckets.
    ///
    /// # Errors
    /// A family that cannot be written.
    pub(crate) fn encode(&self, families: &[MetricFamily]) -> prometheus::Result<String> {
        let mut text = String::new();
        for family in families {
            let written = TextEncoder::new().encode_to_string(slice::from_ref(family))?;
            let mut exemplars = self.of_buckets(family).into_iter();
            let bucket = format!("{}_bucket{{", family.name());
            for line in written.lines() {
                if line.starts_with('#') && family.get_field_type() == MetricType::COUNTER {
                    // Its samples have the suffix, the family has not.
                    let base = family.name().strip_suffix("_total").unwrap_or(family.name());
                    text.push_str(&line.replacen(family.name(), base, 1));
                } else {
                    text.push_str(line);
                }
                if line.starts_with(&bucket)
                    && let Some(Some(exemplar)) = exemplars.next()
                {
                    text.push_str(&exemplar.text());
                }
                text.push('\n');
            }
        }
        text.push_str("# EOF\n");
        Ok(text)
    }

    /// An exemplar or none for each bucket that is written of a histogram, in the order of writing.
    fn of_buckets(&self, family: &MetricFamily) -> Vec<Option<Exemplar>> {
        if family.get_field_type() != MetricType::HISTOGRAM {
            return Vec::new();
        }
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_series = |metric: &prometheus::proto::Metric| {
            let pairs = metric.get_label().iter();
            let mut labels: Vec<_> = pairs
                .map(|pair| (pair.name().to_owned(), pair.value().to_owned()))
                .collect();
            labels.sort();
            let series = Series {
                name: family.name().to_owned(),
                labels,
            };
            let bounds = metric.get_histogram().get_bucket().iter();
            let bounds: Vec<f64> = bounds.map(|bucket| bucket.upper_bound()).collect();
            // That above all bounds is written also where it is not given.
            let given = bounds.last().is_some_and(|bound| bound.is_infinite());
            let written = bounds.len() + usize::from(!given);
            let mut exemplars = vec![None; written];
            if written == BUCKETS
                && let Some(found) = all.get(&series)
            {
                exemplars.clone_from_slice(found);
            }
            exemplars
        };
        family.get_metric().iter().flat_map(of_series).collect()
    }
}

impl Exemplar {
    /// What stands behind the sample of its bucket.
    fn text(&self) -> String {
        let at = self.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        format!(
            " # {{trace_id=\"{}\",span_id=\"{}\"}} {} {:.3}",
            self.context.trace_id(),
            self.context.span_id(),
            self.took.as_secs_f64(),
            at.as_secs_f64(),
        )
    }
}

/// A name as Prometheus has it.
fn label(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

#[cfg(test)]
mod tests;
