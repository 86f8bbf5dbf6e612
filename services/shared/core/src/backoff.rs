//! The wait between tries.

use std::time::{Duration, SystemTime};

/// Waits that double from try to try up to a longest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first try.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
}

impl Backoff {
    /// Waits from `first`, doubling, up to `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// The wait after try number `tries`, which counts from 1.
    pub fn after(&self, tries: u32) -> Duration {
        let doublings = tries.saturating_sub(1).min(20);
        self.first.saturating_mul(1 << doublings).min(self.longest)
    }

    /// [`Backoff::after`], at least `asked`, which is what the other side asks for, and up to half as long again: callers
    /// that were refused together do not come back together.
    pub fn jittered(&self, tries: u32, asked: Duration) -> Duration {
        self.after(tries).max(asked).mul_f64(1.0 + fastrand::f64() / 2.0)
    }
}

/// Parses the value of an HTTP header `Retry-After`: seconds, or a date; a date in the past means zero.
pub fn retry_after(value: &str) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

#[cfg(test)]
mod tests;
