//! The measurement: every way in turns, at one concurrency after the other.

use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use emend_testkit::{
    process::{self, Process},
    repeated::{Timings, Until, Workload, repeat},
};

use crate::{
    Arguments, Failure, Kind,
    floor::Floor,
    progress,
    services::{self, Services},
    standin,
    walk::Walk,
};

/// What came out.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Load of the machine before and after, where it is known.
    pub(crate) load: [Option<f64>; 2],
    /// Each way at each concurrency, first with the model that answers at once, then with the slow one.
    pub(crate) rows: Vec<Row>,
}

/// One way at one concurrency.
#[derive(Debug)]
pub(crate) struct Row {
    /// The way, and whose binaries.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// What the model takes for each call.
    pub(crate) delay: Duration,
    /// At the same time.
    pub(crate) concurrency: usize,
    pub(crate) timings: Timings,
    /// Processor time used by the services, in the order of [`services::NAMES`]; none by the floor.
    pub(crate) services: Vec<Duration>,
    /// Processor time used by the model.
    pub(crate) model: Duration,
    /// Processor time used by this process.
    pub(crate) caller: Duration,
}

impl Row {
    /// Processor time used for the work itself: that of the services, or of this process where it does the work.
    pub(crate) fn cpu(&self) -> Duration {
        match self.kind {
            Kind::Floor => self.caller,
            Kind::Walk => self.services.iter().sum(),
        }
    }
}

/// A way to have the work done, ready to be done.
enum Way {
    Floor(Floor),
    Walk(Services),
}

/// Starts everything and measures; what was started ends with it.
pub(crate) async fn measure(arguments: &Arguments) -> Result<Measured, Failure> {
    let folders = match &arguments.binaries[..] {
        [] if arguments.kinds.contains(&Kind::Walk) => vec![services::build()?],
        folders => folders.to_vec(),
    };
    let model = standin::start()?;
    let mut ways = Vec::new();
    if arguments.kinds.contains(&Kind::Floor) {
        let floor = Floor::new(&model.url(), arguments.passages)?;
        ways.push(("floor".to_owned(), Way::Floor(floor)));
    }
    if arguments.kinds.contains(&Kind::Walk) {
        for folder in &folders {
            let services = Services::start(folder, &model.url(), arguments).await?;
            let name = match folders.len() {
                1 => "walk".to_owned(),
                _ => format!("walk {}", folder.display()),
            };
            ways.push((name, Way::Walk(services)));
        }
    }
    let before = process::load();
    let mut rows = Vec::new();
    let delays = [(!arguments.only_delay).then_some(Duration::ZERO), Some(arguments.delay)];
    for (part, delay) in delays.into_iter().enumerate() {
        let Some(delay) = delay.filter(|delay| part == 0 || !delay.is_zero()) else {
            continue;
        };
        set_delay(&model, delay).await?;
        for concurrency in &arguments.concurrency {
            rows.extend(in_turns(arguments, &ways, &model, delay, *concurrency).await?);
        }
    }
    Ok(Measured {
        load: [before, process::load()],
        rows,
    })
}

/// Tells the model how long each call is to take.
async fn set_delay(model: &Process, delay: Duration) -> Result<(), Failure> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("{}/delay/{}", model.url(), delay.as_millis());
    client.get(url).send().await?.error_for_status()?;
    Ok(())
}

/// Every way at one concurrency, in rounds.
async fn in_turns(
    arguments: &Arguments,
    ways: &[(String, Way)],
    model: &Process,
    delay: Duration,
    concurrency: usize,
) -> Result<Vec<Row>, Failure> {
    let mut rows: Vec<Row> = ways
        .iter()
        .map(|(name, way)| Row {
            name: name.clone(),
            kind: match way {
                Way::Floor(_) => Kind::Floor,
                Way::Walk(_) => Kind::Walk,
            },
            delay,
            concurrency,
            timings: Timings::default(),
            services: Vec::new(),
            model: Duration::ZERO,
            caller: Duration::ZERO,
        })
        .collect();
    // A round of a slow model is long enough for every worker to do the work more than once.
    let rounds = if delay.is_zero() { arguments.rounds } else { 1 };
    for round in 1..=rounds {
        for ((_, way), row) in ways.iter().zip(&mut rows) {
            let time = arguments.time / rounds;
            match way {
                Way::Floor(floor) => row.round(floor.clone(), None, model, time).await?,
                Way::Walk(services) => {
                    let walk = Walk::connect(services.url()).await?;
                    row.round(walk, Some(services), model, time).await?;
                }
            }
        }
        let so_far: Vec<String> = rows
            .iter()
            .map(|row| format!("{} {:.2?}", row.name, row.timings.percentile(50)))
            .collect();
        progress(&format!(
            "model {} ms, at once {concurrency}, round {round} of {rounds}: {}",
            delay.as_millis(),
            so_far.join(", ")
        ));
    }
    Ok(rows)
}

impl Row {
    /// Does the work for some time and adds what it took.
    async fn round<W: Workload>(
        &mut self,
        workload: W,
        services: Option<&Services>,
        model: &Process,
        time: Duration,
    ) -> Result<(), Failure> {
        let uncounted = Arc::new(AtomicUsize::new(0));
        // What is done for the first time takes longer: connections, caches, memory.
        repeat(&workload, self.concurrency, Until::Done(self.concurrency), &uncounted).await?;
        let used = || {
            let services = services.map(Services::cpu).unwrap_or_default();
            (
                services,
                model.cpu().unwrap_or_default(),
                process::own_cpu().unwrap_or_default(),
            )
        };
        let (services_before, model_before, caller_before) = used();
        let until = Until::Moment(Instant::now() + time);
        self.timings
            .add(repeat(&workload, self.concurrency, until, &uncounted).await?);
        let (services, model, caller) = used();
        self.services.resize(services.len(), Duration::ZERO);
        for ((total, after), before) in self.services.iter_mut().zip(services).zip(services_before) {
            *total += after.saturating_sub(before);
        }
        self.model += model.saturating_sub(model_before);
        self.caller += caller.saturating_sub(caller_before);
        Ok(())
    }
}
