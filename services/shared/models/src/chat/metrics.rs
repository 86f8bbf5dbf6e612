//! How long calls of models take, and how many tokens they read and write.

use std::time::Duration;

use emend_core::semconv;
use opentelemetry::metrics::Histogram;
use opentelemetry::{InstrumentationScope, KeyValue, global};

use super::{ChatError, Usage};

/// Bounds of the histogram of durations in seconds, those that the semantic conventions recommend for calls of models.
const SECONDS: [f64; 14] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
/// The same for tokens, up to the longest context that is served.
const TOKENS: [f64; 11] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
];

/// The instruments of one client. Make them once telemetry has started.
///
/// The tokens of replies that were discarded are not in them: a server reports those with some errors only.
#[derive(Clone, Debug)]
pub(super) struct ChatMetrics {
    provider: &'static str,
    duration: Histogram<f64>,
    tokens: Histogram<u64>,
}

impl ChatMetrics {
    pub(super) fn new(provider: &'static str) -> Self {
        let scope = InstrumentationScope::builder("emend")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(semconv::SCHEMA_URL)
            .build();
        let meter = global::meter_with_scope(scope);
        Self {
            provider,
            duration: meter
                .f64_histogram(semconv::GEN_AI_CLIENT_OPERATION_DURATION)
                .with_unit("s")
                .with_boundaries(SECONDS.to_vec())
                .build(),
            tokens: meter
                .u64_histogram(semconv::GEN_AI_CLIENT_TOKEN_USAGE)
                .with_unit("{token}")
                .with_boundaries(TOKENS.to_vec())
                .build(),
        }
    }

    /// `model` is the one asked for: what a server calls itself is its own choice, and no label.
    pub(super) fn record(&self, model: &str, elapsed: Duration, ended: Result<Usage, &ChatError>) {
        let mut labels = vec![
            KeyValue::new(semconv::GEN_AI_OPERATION_NAME, "chat"),
            KeyValue::new(semconv::GEN_AI_PROVIDER_NAME, self.provider),
            KeyValue::new(semconv::GEN_AI_REQUEST_MODEL, model.to_owned()),
        ];
        match ended {
            Ok(usage) => {
                self.duration.record(elapsed.as_secs_f64(), &labels);
                for (kind, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
                    labels.push(KeyValue::new(semconv::GEN_AI_TOKEN_TYPE, kind));
                    self.tokens.record(tokens, &labels);
                    labels.pop();
                }
            }
            Err(error) => {
                labels.push(KeyValue::new(semconv::ERROR_TYPE, error.error_type()));
                self.duration.record(elapsed.as_secs_f64(), &labels);
            }
        }
    }
}
