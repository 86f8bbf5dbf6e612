//! The measurement: rounds of both kinds in turns, then a long run for the memory.

use std::{
    io::{self, Write as _},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use emend_testkit::{
    process,
    repeated::{Timings, Until, Workload, repeat},
};

use crate::{
    Failure,
    processes::{Cpu, Processes},
    workload::{Bare, Calls, Walk},
};

/// Walks over one connection of the long run. The orchestrator closes connections of a certain age, and a plain channel
/// does not make a call again that it lost that way.
const SOAK_PART: usize = 10_000;

/// How often the long run looks at the memory.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What to measure.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Walks of each kind at each concurrency.
    pub(crate) walks: usize,
    /// Rounds that they are made in.
    pub(crate) rounds: usize,
    /// Walks at the same time, one after the other.
    pub(crate) concurrency: Vec<usize>,
    /// Walks of the long run.
    pub(crate) soak: usize,
    /// What the bare calls go through.
    pub(crate) bare: Bare,
    /// What the orchestrator logs.
    pub(crate) log: String,
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Load of the machine before and after, where it is known.
    pub(crate) load: [Option<f64>; 2],
    /// One for each concurrency.
    pub(crate) pairs: Vec<Pair>,
    /// The long run, if there was one.
    pub(crate) soak: Option<Soak>,
}

/// Both kinds at one concurrency.
#[derive(Debug)]
pub(crate) struct Pair {
    /// At the same time.
    pub(crate) concurrency: usize,
    /// The orchestrator's.
    pub(crate) walk: Row,
    /// The caller's own.
    pub(crate) bare: Row,
    /// Ratio of the medians of each round.
    pub(crate) ratios: Vec<f64>,
    /// The orchestrator's resident memory after the last walk.
    pub(crate) rss: Option<u64>,
}

impl Pair {
    /// How many times as long as the bare calls a walk takes: the ratio of the medians over all rounds.
    pub(crate) fn ratio(&self) -> f64 {
        self.walk.median().as_secs_f64() / self.bare.median().as_secs_f64()
    }
}

/// All rounds of one kind.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// How long each walk took.
    pub(crate) timings: Timings,
    /// What they cost; `None` until there was a round.
    cpu: Option<Cpu>,
}

impl Row {
    /// Adds a round.
    fn add(&mut self, round: Row) {
        self.timings.add(round.timings);
        self.cpu = match (self.cpu, round.cpu) {
            (Some(cpu), Some(more)) => Some(cpu.plus(more)),
            (cpu, more) => cpu.or(more),
        };
    }

    /// The time of the middle walk.
    fn median(&self) -> Duration {
        self.timings.percentile(50)
    }

    /// Processor time of a walk, of the part of it that `whose` names.
    pub(crate) fn cpu(&self, whose: fn(Cpu) -> Option<Duration>) -> Option<Duration> {
        self.timings.each(whose(self.cpu?)?)
    }
}

/// The orchestrator's resident memory during the long run, after the first tenth of it.
#[derive(Debug)]
pub(crate) struct Soak {
    /// Walks done, the first tenth included.
    pub(crate) walks: usize,
    /// At the same time.
    pub(crate) concurrency: usize,
    /// Walks done in a second.
    pub(crate) per_second: f64,
    /// Looks at the memory, in bytes, oldest first; none where the system does not tell.
    pub(crate) rss: Vec<u64>,
}

impl Plan {
    /// Starts the processes and measures; they end with it.
    pub(crate) async fn measure(&self) -> Result<Measured, Failure> {
        let processes = Processes::start(&self.log)?;
        let before = process::load();
        let mut pairs = Vec::new();
        for concurrency in &self.concurrency {
            pairs.push(self.pair(&processes, *concurrency).await?);
        }
        let soak = match self.soak {
            0 => None,
            walks => Some(self.soak(&processes, walks).await?),
        };
        Ok(Measured {
            load: [before, process::load()],
            pairs,
            soak,
        })
    }

    /// Both kinds in turns, at one concurrency.
    async fn pair(&self, processes: &Processes, concurrency: usize) -> Result<Pair, Failure> {
        let mut pair = Pair {
            concurrency,
            walk: Row::default(),
            bare: Row::default(),
            ratios: Vec::new(),
            rss: None,
        };
        // What is done for the first time takes longer: connections, caches, memory.
        let warm_up = self.walks.div_ceil(20);
        self.walks(processes, concurrency, warm_up).await?;
        self.bare_calls(processes, concurrency, warm_up).await?;
        for round in 0..self.rounds {
            // Rounds that do not divide the walks differ by one.
            let walks = self.walks * (round + 1) / self.rounds - self.walks * round / self.rounds;
            let walk = self.walks(processes, concurrency, walks).await?;
            let bare = self.bare_calls(processes, concurrency, walks).await?;
            pair.ratios
                .push(walk.median().as_secs_f64() / bare.median().as_secs_f64());
            progress(&format!(
                "at once {concurrency}, round {} of {}: walk {:?}, bare {:?}",
                round + 1,
                self.rounds,
                walk.median(),
                bare.median()
            ));
            pair.walk.add(walk);
            pair.bare.add(bare);
        }
        pair.rss = processes.orchestrator.rss();
        Ok(pair)
    }

    /// A round of walks, over a new connection.
    async fn walks(&self, processes: &Processes, concurrency: usize, walks: usize) -> Result<Row, Failure> {
        round(processes, Walk::connect(processes).await?, concurrency, walks).await
    }

    /// A round of bare calls, over new connections.
    async fn bare_calls(&self, processes: &Processes, concurrency: usize, walks: usize) -> Result<Row, Failure> {
        match self.bare {
            Bare::Tonic => round(processes, Calls::over_tonic(processes).await?, concurrency, walks).await,
            Bare::Chassis => round(processes, Calls::over_chassis(processes)?, concurrency, walks).await,
        }
    }

    /// Many walks, with an eye on the orchestrator's memory.
    async fn soak(&self, processes: &Processes, walks: usize) -> Result<Soak, Failure> {
        let concurrency = self.concurrency.iter().copied().max().unwrap_or(1);
        let mut soak = Soak {
            walks,
            concurrency,
            per_second: 0.0,
            rss: Vec::new(),
        };
        let done = Arc::new(AtomicUsize::new(0));
        let began = Instant::now();
        for part in 0..walks.div_ceil(SOAK_PART) {
            let workload = Walk::connect(processes).await?;
            let walks_now = SOAK_PART.min(walks - part * SOAK_PART);
            let mut working = std::pin::pin!(repeat(&workload, concurrency, Until::Done(walks_now), &done));
            loop {
                tokio::select! {
                    ended = &mut working => {
                        ended?;
                        break;
                    }
                    () = tokio::time::sleep(LOOK_EVERY) => {
                        if done.load(Ordering::Relaxed) * 10 >= walks {
                            soak.rss.extend(processes.orchestrator.rss());
                        }
                    }
                }
            }
            let rss = processes.orchestrator.rss().unwrap_or_default() as f64 / (1024.0 * 1024.0);
            progress(&format!(
                "soak, {} of {walks}: rss {rss:.1} MiB",
                done.load(Ordering::Relaxed)
            ));
        }
        soak.per_second = walks as f64 / began.elapsed().as_secs_f64();
        soak.rss.extend(processes.orchestrator.rss());
        Ok(soak)
    }
}

/// Does the work so many times, so many at the same time, and says how long it took and what it cost.
async fn round<W: Workload>(
    processes: &Processes,
    workload: W,
    concurrency: usize,
    walks: usize,
) -> Result<Row, Failure> {
    let uncounted = Arc::new(AtomicUsize::new(0));
    // The first call over a connection takes longer.
    repeat(&workload, concurrency, Until::Done(concurrency), &uncounted).await?;
    let cpu = processes.cpu();
    let timings = repeat(&workload, concurrency, Until::Done(walks), &uncounted).await?;
    Ok(Row {
        timings,
        cpu: Some(processes.cpu().since(cpu)),
    })
}

/// Says on standard error how far it is.
fn progress(line: &str) {
    // Should standard error be closed, nobody wants to know.
    drop(writeln!(io::stderr(), "{line}"));
}
