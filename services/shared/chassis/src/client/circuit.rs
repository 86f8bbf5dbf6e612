//! What a client does to a name in trouble: it tries few calls again, and none while every server rests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use tonic::Status;
use tower::retry::budget::{Budget, TpsBudget};

use super::member::Resting;
use crate::metrics::UpstreamMetrics;

/// How long to wait before a call is made again, in milliseconds; never where it is no such number (gRFC A6).
pub(super) const PUSHBACK: &str = "grpc-retry-pushback-ms";
/// The time that calls count for the retries that they allow.
const WINDOW: Duration = Duration::from_secs(10);
/// Retries a second that are allowed whatever the number of calls: a client with few is no burden.
const FREE_RETRIES: u32 = 3;
/// Retries for a call, which every retry is too: one in eleven, and so a tenth of what is called at first. The budget
/// rounds its inverse down.
const RETRY_SHARE: f32 = 0.09;

/// The retries that a name may still have, and whether every server behind it rests.
#[derive(Debug)]
pub(super) struct Circuit {
    retries: TpsBudget,
    open: AtomicBool,
    metrics: Arc<UpstreamMetrics>,
}

impl Circuit {
    pub(super) fn new(metrics: Arc<UpstreamMetrics>) -> Self {
        Self {
            retries: TpsBudget::new(WINDOW, FREE_RETRIES, RETRY_SHARE),
            open: AtomicBool::new(false),
            metrics,
        }
    }

    /// A call is made, for the first time or again.
    pub(super) fn called(&self) {
        self.retries.deposit();
    }

    /// Whether a call that failed may be made again, which counts as if it were.
    pub(super) fn may_retry(&self) -> bool {
        let may = self.retries.withdraw();
        if !may {
            self.metrics.retry_refused();
        }
        may
    }

    /// Every server rests, or there is none: what a call is told, which is not to be made again.
    pub(super) fn open(&self, target: &str, resting: Option<Resting>) -> Status {
        let Some(resting) = resting else {
            return Status::unavailable(format!("no server at {target}"));
        };
        self.metrics.call_refused();
        if !self.open.swap(true, Ordering::Relaxed) {
            tracing::warn!(target, %resting, "no server is left to ask: calls fail at once");
        }
        let mut headers = HeaderMap::new();
        forbid_retry(&mut headers);
        let message = format!("no server at {target} is asked for now: {resting}");
        Status::with_metadata(
            tonic::Code::Unavailable,
            message,
            tonic::metadata::MetadataMap::from_headers(headers),
        )
    }

    /// A server is asked that does not rest, or that has shown that it works.
    pub(super) fn close(&self, target: &str) {
        if self.open.load(Ordering::Relaxed) && self.open.swap(false, Ordering::Relaxed) {
            tracing::info!(target, "there is a server to ask again");
        }
    }
}

/// Says of an error that the call is not to be made again.
pub(super) fn forbid_retry(headers: &mut HeaderMap) {
    headers.insert(PUSHBACK, HeaderValue::from_static("-1"));
}

#[cfg(test)]
mod tests;
