//! Limits how often a search engine is asked.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::ValueEnum as _;
use emend_core::{Scope, cut, list_names};
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota};

use crate::config::ProviderKind;

/// Searches per time: `1/s`, `30/m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many searches,
    pub searches: NonZeroU32,
    /// in this time: a second, a minute or an hour.
    pub per: Duration,
}

impl Rate {
    /// A search a second is what the smallest plans of search engines allow.
    const DEFAULT: Self = Self {
        searches: NonZeroU32::MIN,
        per: Duration::from_secs(1),
    };
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{}` is not a rate: write searches per second, minute or hour, like 1/s, 30/m or 100/h",
                cut(text)
            )
        };
        let (searches, unit) = text.trim().split_once('/').ok_or_else(wrong)?;
        let per = match unit.trim() {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return Err(wrong()),
        };
        Ok(Self {
            searches: searches.trim().parse().map_err(|_| wrong())?,
            per: Duration::from_secs(per),
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.per.as_secs() {
            1 => "s",
            60 => "m",
            _ => "h",
        };
        write!(f, "{}/{unit}", self.searches)
    }
}

/// The rate of each search engine, as `1/s`, `1/s,tavily=5/s` or `tavily=5/s,brave=20/s`: a rate without a name is that of
/// every engine that is not named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Of the engines that are not named; one search a second unless it is given.
    others: Rate,
    /// Of the engines that are named, each once.
    named: Vec<(ProviderKind, Rate)>,
}

impl Rates {
    /// The rate of `engine`.
    pub fn of(&self, engine: ProviderKind) -> Rate {
        let named = self.named.iter().find(|(kind, _)| *kind == engine);
        named.map_or(self.others, |(_, rate)| *rate)
    }
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            others: Rate::DEFAULT,
            named: Vec::new(),
        }
    }
}

impl FromStr for Rates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut others, mut named) = (None, Vec::new());
        for part in text.split(',') {
            let Some((name, rate)) = part.split_once('=') else {
                if others.replace(part.parse()?).is_some() {
                    return Err(format!(
                        "`{}` has two rates without a name: write the engine before one of them, like tavily=5/s",
                        cut(text)
                    ));
                }
                continue;
            };
            let engine = engine(name.trim())?;
            if named.iter().any(|(kind, _)| *kind == engine) {
                return Err(format!("`{}` names {} twice: leave one out", cut(text), engine.name()));
            }
            named.push((engine, rate.parse()?));
        }
        Ok(Self {
            others: others.unwrap_or(Rate::DEFAULT),
            named,
        })
    }
}

/// The search engine of this name.
fn engine(name: &str) -> Result<ProviderKind, String> {
    let engines = ProviderKind::value_variants().iter().copied();
    let engines: Vec<_> = engines.filter(|kind| kind.is_engine()).collect();
    let found = engines.iter().copied().find(|kind| kind.name() == name);
    found.ok_or_else(|| {
        let known = list_names(engines.iter().map(|kind| kind.name()));
        format!(
            "`{}` is no search engine: the engines are {known}; write for example tavily=5/s",
            cut(name)
        )
    })
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.others.fmt(f)?;
        let mut named = self.named.iter();
        named.try_for_each(|(kind, rate)| write!(f, ",{}={rate}", kind.name()))
    }
}

/// Holds back searches that come too fast, and all of them while the engine has asked for a pause.
#[derive(Debug)]
pub(super) struct RateLimit {
    limiter: DefaultDirectRateLimiter,
    clock: DefaultClock,
    paused_until: Mutex<Option<Instant>>,
}

impl RateLimit {
    /// Admits `rate` evenly, and at most a second's worth, or one, at once.
    pub(super) fn new(rate: Rate) -> Self {
        let interval = rate.per / rate.searches.get();
        let burst = NonZeroU32::new(rate.searches.get() / u32::try_from(rate.per.as_secs()).unwrap_or(1));
        // The interval is positive: no rate has more searches than a time has nanoseconds.
        let quota = Quota::with_period(interval.max(Duration::from_nanos(1)))
            .unwrap_or_else(|| Quota::per_second(rate.searches))
            .allow_burst(burst.unwrap_or(NonZeroU32::MIN));
        Self {
            limiter: DefaultDirectRateLimiter::direct(quota),
            clock: DefaultClock::default(),
            paused_until: Mutex::new(None),
        }
    }

    /// Waits until a search may start.
    ///
    /// # Errors
    /// How long it would have to wait, if that is more than half of the time that `scope` leaves: the rest is for the
    /// search itself, or for another engine.
    pub(super) async fn admit(&self, scope: &Scope) -> Result<(), Duration> {
        loop {
            let pause = self.pause();
            let wait = if pause.is_zero() {
                match self.limiter.check() {
                    Ok(()) => return Ok(()),
                    Err(until) => until.wait_time_from(self.clock.now()),
                }
            } else {
                pause
            };
            if wait > scope.deadline.remaining() / 2 {
                return Err(wait);
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Admits nothing for `pause`.
    pub(super) fn pause_for(&self, pause: Duration) {
        let until = Instant::now() + pause.min(LONGEST_PAUSE);
        *self
            .paused_until
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(until);
    }

    fn pause(&self) -> Duration {
        let until = *self
            .paused_until
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }
}

/// The longest pause that an engine can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests;
