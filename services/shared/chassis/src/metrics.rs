//! The chassis' own instruments. Without a configured exporter they are no-ops.

pub(crate) mod exemplars;

use std::time::Duration;

use opentelemetry::metrics::{Counter, Histogram, Meter, UpDownCounter};
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry::{InstrumentationScope, KeyValue, global};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use emend_core::semconv;

/// Bounds of duration histograms in seconds: those that the semantic conventions recommend, and two more up to the time that
/// a walk has by default.
const SECONDS: [f64; 16] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 30.0, 60.0,
];

/// The meter of all of Emend's instruments. Instruments made before telemetry is started stay no-ops, so make them when
/// a service starts, not in a process-wide static.
pub fn meter() -> Meter {
    let scope = InstrumentationScope::builder("emend")
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_schema_url(semconv::SCHEMA_URL)
        .build();
    global::meter_with_scope(scope)
}

/// A histogram of how long calls took, from 5 ms to a minute, whose buckets name a trace for Prometheus.
#[derive(Clone, Debug)]
pub struct Latency {
    name: &'static str,
    seconds: Histogram<f64>,
}

impl Latency {
    /// The histogram of this name; its unit is the second.
    pub fn new(name: &'static str) -> Self {
        let seconds = meter()
            .f64_histogram(name)
            .with_unit("s")
            .with_boundaries(SECONDS.to_vec())
            .build();
        Self { name, seconds }
    }

    /// Records a call that had this span.
    pub fn record(&self, took: Duration, attributes: &[KeyValue], span: &Span) {
        self.seconds.record(took.as_secs_f64(), attributes);
        if let Some(exemplars) = exemplars::collected() {
            exemplars.keep(self.name, attributes, took, span.context().span().span_context());
        }
    }
}

/// The instruments of one handle's actors.
#[derive(Debug)]
pub(crate) struct ActorMetrics {
    in_flight: UpDownCounter<i64>,
    queued: UpDownCounter<i64>,
    rejected: Counter<u64>,
    skipped: Counter<u64>,
    restarts: Counter<u64>,
    actor: [KeyValue; 1],
}

impl ActorMetrics {
    pub(crate) fn new(actor: &'static str) -> Self {
        let meter = meter();
        let metrics = Self {
            in_flight: meter
                .i64_up_down_counter(semconv::EMEND_ACTOR_IN_FLIGHT)
                .with_unit("{call}")
                .build(),
            queued: meter
                .i64_up_down_counter(semconv::EMEND_ACTOR_QUEUE_DEPTH)
                .with_unit("{call}")
                .build(),
            rejected: meter
                .u64_counter(semconv::EMEND_ACTOR_REJECTED)
                .with_unit("{call}")
                .build(),
            skipped: meter
                .u64_counter(semconv::EMEND_ACTOR_SKIPPED)
                .with_unit("{call}")
                .build(),
            restarts: meter
                .u64_counter(semconv::EMEND_ACTOR_RESTARTS)
                .with_unit("{restart}")
                .build(),
            actor: [KeyValue::new(semconv::EMEND_ACTOR, actor)],
        };
        // Where a series begins with its first refusal, no rate shows that refusal.
        metrics.in_flight.add(0, &metrics.actor);
        metrics.queued.add(0, &metrics.actor);
        for counter in [&metrics.rejected, &metrics.skipped, &metrics.restarts] {
            counter.add(0, &metrics.actor);
        }
        metrics
    }

    pub(crate) fn rejected(&self) {
        self.rejected.add(1, &self.actor);
    }

    pub(crate) fn skipped(&self) {
        self.skipped.add(1, &self.actor);
    }

    pub(crate) fn restarted(&self) {
        self.restarts.add(1, &self.actor);
    }

    pub(crate) fn admitted(&self) {
        self.in_flight.add(1, &self.actor);
    }

    pub(crate) fn left(&self) {
        self.in_flight.add(-1, &self.actor);
    }

    pub(crate) fn queued(&self) {
        self.queued.add(1, &self.actor);
    }

    pub(crate) fn unqueued(&self) {
        self.queued.add(-1, &self.actor);
    }
}

/// The instruments of one upstream.
#[derive(Debug)]
pub(crate) struct UpstreamMetrics {
    ejections: Counter<u64>,
    calls_refused: Counter<u64>,
    retries_refused: Counter<u64>,
    server: KeyValue,
}

impl UpstreamMetrics {
    pub(crate) fn new(host: &str) -> Self {
        let meter = meter();
        let metrics = Self {
            ejections: meter
                .u64_counter(semconv::EMEND_UPSTREAM_EJECTIONS)
                .with_unit("{ejection}")
                .build(),
            calls_refused: meter
                .u64_counter(semconv::EMEND_UPSTREAM_CALLS_REFUSED)
                .with_unit("{call}")
                .build(),
            retries_refused: meter
                .u64_counter(semconv::EMEND_UPSTREAM_RETRIES_REFUSED)
                .with_unit("{call}")
                .build(),
            server: KeyValue::new(semconv::SERVER_ADDRESS, host.to_owned()),
        };
        for counter in [&metrics.calls_refused, &metrics.retries_refused] {
            counter.add(0, std::slice::from_ref(&metrics.server));
        }
        metrics
    }

    /// A server is ejected.
    pub(crate) fn ejected(&self, fault: &'static str) {
        let fault = KeyValue::new(semconv::ERROR_TYPE, fault);
        self.ejections.add(1, &[self.server.clone(), fault]);
    }

    /// A call fails, because every server rests.
    pub(crate) fn call_refused(&self) {
        self.calls_refused.add(1, std::slice::from_ref(&self.server));
    }

    /// A call may not be tried again.
    pub(crate) fn retry_refused(&self) {
        self.retries_refused.add(1, std::slice::from_ref(&self.server));
    }
}
