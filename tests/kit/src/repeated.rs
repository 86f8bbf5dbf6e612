//! The same work done again and again, and how long it took: what benchmarks of whole programs share.

use std::{
    error::Error,
    future::Future,
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

/// Cores of the machine that this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Work to be done again and again, by many at once.
pub trait Workload: Clone + Send + Sync + 'static {
    /// Does it once; an error unless it ends as it should.
    fn once(&mut self) -> impl Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send;
}

/// When it is enough.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// When it was done so often.
    Done(usize),
    /// At a moment; what has begun by then is finished.
    Moment(Instant),
}

/// How long each time took.
#[derive(Debug, Default)]
pub struct Timings {
    /// Shortest first.
    latencies: Vec<Duration>,
    /// How long all of them took.
    wall: Duration,
}

impl Timings {
    /// Adds those of another round.
    pub fn add(&mut self, round: Timings) {
        self.latencies.extend(round.latencies);
        self.latencies.sort_unstable();
        self.wall += round.wall;
    }

    /// The time within which so many in a hundred were done; zero where there are none.
    pub fn percentile(&self, percent: usize) -> Duration {
        let place = (self.latencies.len() * percent).div_ceil(100).max(1) - 1;
        self.latencies.get(place).copied().unwrap_or_default()
    }

    /// How often it was done.
    pub fn count(&self) -> usize {
        self.latencies.len()
    }

    /// How often it was done in a second.
    pub fn per_second(&self) -> f64 {
        self.count() as f64 / self.wall.as_secs_f64()
    }

    /// The share that falls to one time of something that was used for all of them.
    pub fn each(&self, used: Duration) -> Option<Duration> {
        let count = u32::try_from(self.count()).ok().filter(|count| *count > 0)?;
        Some(used / count)
    }
}

/// Does the work so many times at once until it is enough. `done` counts on.
///
/// # Errors
/// The first error of the work.
pub async fn repeat<W: Workload>(
    workload: &W,
    concurrency: usize,
    until: Until,
    done: &Arc<AtomicUsize>,
) -> Result<Timings, Box<dyn Error + Send + Sync>> {
    let begun = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..concurrency {
        let (mut workload, begun, done) = (workload.clone(), Arc::clone(&begun), Arc::clone(done));
        workers.spawn(async move {
            let mut latencies = Vec::new();
            while match until {
                Until::Done(times) => begun.fetch_add(1, Ordering::Relaxed) < times,
                Until::Moment(moment) => Instant::now() < moment,
            } {
                let began = Instant::now();
                workload.once().await?;
                latencies.push(began.elapsed());
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, Box<dyn Error + Send + Sync>>(latencies)
        });
    }
    let mut latencies = Vec::new();
    while let Some(worked) = workers.join_next().await {
        latencies.extend(worked??);
    }
    latencies.sort_unstable();
    Ok(Timings {
        latencies,
        wall: start.elapsed(),
    })
}

/// A table in plain text, each cell to the right of its column.
pub fn aligned<const COLUMNS: usize>(lines: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Milliseconds for a table, to the microsecond.
pub fn milliseconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests;
