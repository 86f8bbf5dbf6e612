//! Walks for a long time, and what they leave behind.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use emend_chassis::Upstream;
use emend_core::{Deadline, duration};
use emend_testkit::language_model::LanguageModel;
use emend_tests::PATIENCE;
use futures::future::join_all;
use tokio::{sync::watch, time::sleep};

use crate::{
    outcome::{asked, is_sound},
    processes::{Service, Services, walk},
};

/// How long, unless `EMEND_SOAK` says otherwise.
const SHORT: Duration = Duration::from_secs(10);
/// The part of the time in which caches fill and allocators take what they need: five minutes of half an hour.
const WARM_UP: u32 = 6;
/// Below it growth says nothing: what is allocated once is not spread yet.
const MEASURED: Duration = Duration::from_secs(20 * 60);
/// How much the memory of a process may grow after that.
const GROWTH: f64 = 0.05;
/// Callers. Each waits as long as its walk took: half of what they could ask.
const CALLERS: usize = 4;
/// How long an idle service takes to close what it does not need any more.
const IDLE: Duration = Duration::from_secs(2);
/// Connections of probes and threads for blocking work that come and go.
const SLACK: usize = 4;

/// What a process has.
#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: u64,
    handles: usize,
    threads: usize,
}

fn held(services: &[&Service]) -> Vec<Held> {
    let of = |service: &&Service| {
        let process = service.process();
        Some(Held {
            bytes: process.rss()?,
            handles: process.handles()?,
            threads: process.threads()?,
        })
    };
    services.iter().filter_map(of).collect()
}

pub(crate) async fn run() {
    let time = std::env::var("EMEND_SOAK").map_or(SHORT, |time| duration(&time).unwrap());
    let services = Services::start(LanguageModel::start().await).await;
    let orchestrator = services.orchestrator();
    let all: Vec<_> = services.all.iter().chain([&orchestrator]).collect();
    let upstream = Arc::new(Upstream::new(&orchestrator.url()).unwrap());
    let warm = walks(&upstream, time / WARM_UP).await;
    sleep(IDLE).await;
    let before = held(&all);
    let walked = warm + walks(&upstream, time - time / WARM_UP).await;
    sleep(IDLE).await;
    let after = held(&all);
    println!("{walked} walks in {time:?}");
    println!("service        MiB then   now  handles then  now  threads then  now");
    for (service, (then, now)) in all.iter().zip(before.iter().zip(&after)) {
        println!(
            "{:<12} {:>9} {:>6} {:>12} {:>5} {:>12} {:>5}",
            service.name,
            then.bytes >> 20,
            now.bytes >> 20,
            then.handles,
            now.handles,
            then.threads,
            now.threads
        );
        assert!(now.handles <= then.handles + SLACK, "{}: handles", service.name);
        assert!(now.threads <= then.threads + SLACK, "{}: threads", service.name);
        let grown = now.bytes as f64 / then.bytes as f64 - 1.0;
        assert!(
            time < MEASURED || grown <= GROWTH,
            "{}: {grown:.3} more memory",
            service.name
        );
    }
}

/// Walks for a time, each of which is sound; how many there were.
async fn walks(upstream: &Arc<Upstream>, time: Duration) -> usize {
    let until = Instant::now() + time;
    let caller = || async {
        let (steps, mut walks) = (watch::Sender::new(0), 0);
        while Instant::now() < until {
            let began = Instant::now();
            let result = walk(upstream, asked(), Deadline::after(PATIENCE), &steps)
                .await
                .unwrap();
            assert!(is_sound(&result), "{result:?}");
            walks += 1;
            sleep(began.elapsed()).await;
        }
        walks
    };
    join_all((0..CALLERS).map(|_| caller())).await.into_iter().sum()
}
