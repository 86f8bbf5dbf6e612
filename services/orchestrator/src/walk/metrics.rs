//! Walks by graph, status and limit, steps by action and outcome, corrections by kind.

use std::sync::Arc;

use emend_chassis::metrics::meter;
use emend_core::{ServiceError as _, semconv};
use emend_proto::v1::{Limit, WalkResult};
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram, InstrumentProvider, Meter},
};

use super::{error::WalkError, span::status_name};
use crate::graph::{Action, Outcome};

/// Bounds of the histogram of steps.
const STEPS: [f64; 10] = [2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0];

/// The instruments of the walks of one service; cheap to clone. Make them once telemetry has started.
#[derive(Clone, Debug)]
pub struct WalkMetrics {
    walks: Counter<u64>,
    walk_steps: Histogram<u64>,
    steps: Counter<u64>,
    corrections: Counter<u64>,
}

impl Default for WalkMetrics {
    fn default() -> Self {
        WalkMetrics::of(&meter())
    }
}

/// Makes instruments that count nothing.
struct Uncounted;

impl InstrumentProvider for Uncounted {}

impl WalkMetrics {
    /// Instruments that count nothing, for walks that are only replayed.
    pub(crate) fn uncounted() -> Self {
        WalkMetrics::of(&Meter::new(Arc::new(Uncounted)))
    }

    fn of(meter: &Meter) -> Self {
        WalkMetrics {
            walks: meter.u64_counter(semconv::EMEND_WALKS).with_unit("{walk}").build(),
            steps: meter.u64_counter(semconv::EMEND_STEPS).with_unit("{step}").build(),
            walk_steps: meter
                .u64_histogram(semconv::EMEND_WALK_STEPS)
                .with_unit("{step}")
                .with_boundaries(STEPS.to_vec())
                .build(),
            corrections: meter
                .u64_counter(semconv::EMEND_CORRECTIONS)
                .with_unit("{correction}")
                .build(),
        }
    }

    /// Counts a walk that ended, for the key of its caller. A graph of the request has no name here.
    pub(super) fn ended(&self, graph: Option<&str>, key: Option<&str>, ended: &Result<WalkResult, WalkError>) {
        let graph = graph.unwrap_or(semconv::EMEND_GRAPH_OF_REQUEST).to_owned();
        let mut of = vec![KeyValue::new(semconv::GEN_AI_WORKFLOW_NAME, graph)];
        of.extend(key.map(|key| KeyValue::new(semconv::EMEND_KEY_NAME, key.to_owned())));
        match ended {
            Ok(result) => {
                let status = status_name(result);
                let limit = match result.exhausted() {
                    Limit::Unspecified => "NONE",
                    limit => limit.as_str_name().trim_start_matches("LIMIT_"),
                };
                self.walk_steps.record(result.steps.len() as u64, &of);
                of.push(KeyValue::new(semconv::EMEND_WALK_STATUS, status));
                of.push(KeyValue::new(semconv::EMEND_WALK_LIMIT, limit));
                self.walks.add(1, &of);
            }
            Err(error) => {
                of.push(KeyValue::new(semconv::ERROR_TYPE, error.code().name()));
                self.walks.add(1, &of);
            }
        }
    }

    /// Counts a step by what it did and how it ended.
    pub(super) fn stepped(&self, action: Action, outcome: Outcome) {
        let action = KeyValue::new(semconv::EMEND_ACTION, action.name());
        let outcome = KeyValue::new(semconv::EMEND_OUTCOME, outcome.name());
        self.steps.add(1, &[action, outcome]);
    }

    /// Counts a step if it is a correction; `generations` counts the answers asked for so far, this step's included.
    pub(super) fn corrected(&self, action: Action, generations: u32) {
        let kind = match action {
            Action::Rewrite => "rewrite",
            Action::WebSearch => "web_search",
            Action::Generate if generations > 1 => "regenerate",
            _ => return,
        };
        self.corrections
            .add(1, &[KeyValue::new(semconv::EMEND_CORRECTION_KIND, kind)]);
    }
}
