//! What a key has used: its calls lately, its model calls and tokens today.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use emend_core::{Reason, ServiceError, cut};
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Most calls in a time, as many of them at once: `10/s`, `600/m`, `1000/h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Rate {
    calls: NonZeroU32,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{}` is no rate: write it like 10/s, 600/m or 1000/h", cut(text));
        let (calls, unit) = text.split_once('/').ok_or_else(wrong)?;
        let unit = match unit {
            "s" => Unit::Second,
            "m" => Unit::Minute,
            "h" => Unit::Hour,
            _ => return Err(wrong()),
        };
        let calls = calls.parse().map_err(|_| wrong())?;
        Ok(Self { calls, unit })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Second => "s",
            Unit::Minute => "m",
            Unit::Hour => "h",
        };
        write!(f, "{}/{unit}", self.calls)
    }
}

impl TryFrom<String> for Rate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

/// What a key has so much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Calls in a time.
    Calls,
    /// Calls of models in a day.
    ModelCalls,
    /// Tokens in a day.
    Tokens,
}

/// A key has used what it may use for now.
#[derive(Clone, Debug, thiserror::Error)]
#[error("key \"{key}\" has used its {of}: come back in {}", rounded(*retry_after))]
pub struct OverBudget {
    /// The name of the key.
    pub key: String,
    /// How much there was, of what, in which time.
    pub of: String,
    /// Of what there is no more.
    pub resource: Resource,
    /// When there is some again.
    pub retry_after: Duration,
}

/// A time as people say it: to the second, and below one to the millisecond.
fn rounded(time: Duration) -> humantime::FormattedDuration {
    let whole = if time < Duration::from_secs(1) {
        Duration::from_millis(u64::from(time.subsec_millis()).max(1))
    } else {
        Duration::from_secs(time.as_secs())
    };
    humantime::format_duration(whole)
}

impl ServiceError for OverBudget {
    fn reason(&self) -> Reason {
        match self.resource {
            Resource::Calls => Reason::KeyRateExceeded,
            Resource::ModelCalls | Resource::Tokens => Reason::KeyBudgetSpent,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        Some(self.retry_after)
    }
}

/// Calls of models, and the tokens that they read and wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Calls.
    pub model_calls: u64,
    /// Tokens, read and written.
    pub tokens: u64,
}

/// What one key has used. In this process alone, and forgotten with it: each replica counts for itself.
#[derive(Debug)]
pub(crate) struct Meter {
    rate: Option<Rate>,
    limiter: Option<DefaultDirectRateLimiter>,
    today: Arc<Mutex<Today>>,
}

#[derive(Debug, Default)]
struct Today {
    /// Days since 1970 (UTC).
    day: u64,
    spent: Spent,
}

impl Meter {
    pub(super) fn new(rate: Option<Rate>) -> Arc<Self> {
        Self::of(rate, Arc::default())
    }

    /// The same, at another rate.
    pub(super) fn with_rate(&self, rate: Option<Rate>) -> Arc<Self> {
        Self::of(rate, Arc::clone(&self.today))
    }

    fn of(rate: Option<Rate>, today: Arc<Mutex<Today>>) -> Arc<Self> {
        let limiter = rate.map(|Rate { calls, unit }| {
            RateLimiter::direct(match unit {
                Unit::Second => Quota::per_second(calls),
                Unit::Minute => Quota::per_minute(calls),
                Unit::Hour => Quota::per_hour(calls),
            })
        });
        Arc::new(Self { rate, limiter, today })
    }

    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Counts a call; how long to wait where there were too many.
    pub(super) fn call(&self) -> Result<(), Duration> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        limiter
            .check()
            .map_err(|until| until.wait_time_from(DefaultClock::default().now()))
    }

    /// What was spent today, and how long the day still lasts.
    pub(super) fn today(&self, now: SystemTime) -> (Spent, Duration) {
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let day = since.as_secs() / DAY.as_secs();
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        if today.day != day {
            *today = Today {
                day,
                spent: Spent::default(),
            };
        }
        let over = Duration::from_secs(since.as_secs() % DAY.as_secs());
        (today.spent, DAY - over)
    }

    pub(super) fn spend(&self, now: SystemTime, more: Spent) {
        // Begins the day if it is a new one.
        self.today(now);
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        today.spent.model_calls = today.spent.model_calls.saturating_add(more.model_calls);
        today.spent.tokens = today.spent.tokens.saturating_add(more.tokens);
    }
}
