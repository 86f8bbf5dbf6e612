use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::{Timings, Until, Workload, aligned, repeat};

#[derive(Clone)]
struct Count {
    times: Arc<AtomicUsize>,
    fails: bool,
}

impl Workload for Count {
    async fn once(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.times.fetch_add(1, Ordering::SeqCst);
        if self.fails { Err("broken".into()) } else { Ok(()) }
    }
}

fn count(fails: bool) -> Count {
    Count {
        times: Arc::default(),
        fails,
    }
}

#[tokio::test]
async fn work_is_done_so_often_whatever_the_concurrency() {
    for concurrency in [1, 3, 20] {
        let (work, done) = (count(false), Arc::default());
        let timings = repeat(&work, concurrency, Until::Done(7), &done).await.unwrap();
        assert_eq!((timings.count(), work.times.load(Ordering::SeqCst)), (7, 7));
        assert_eq!(done.load(Ordering::SeqCst), 7);
    }
}

#[tokio::test]
async fn a_moment_that_has_passed_begins_nothing() {
    let work = count(false);
    let timings = repeat(&work, 3, Until::Moment(Instant::now()), &Arc::default())
        .await
        .unwrap();
    assert_eq!(timings.count(), 0);
    assert_eq!(timings.each(Duration::from_secs(1)), None);
}

#[tokio::test]
async fn an_error_of_the_work_is_the_error() {
    let error = repeat(&count(true), 2, Until::Done(4), &Arc::default())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "broken");
}

#[test]
fn percentiles_are_nearest_ranks() {
    let timings = Timings {
        latencies: (1..=10).map(Duration::from_secs).collect(),
        wall: Duration::from_secs(5),
    };
    assert_eq!(timings.percentile(50), Duration::from_secs(5));
    assert_eq!(timings.percentile(99), Duration::from_secs(10));
    assert_eq!(timings.percentile(1), Duration::from_secs(1));
    assert_eq!(Timings::default().percentile(50), Duration::ZERO);
    assert_eq!(timings.per_second(), 2.0);
    assert_eq!(timings.each(Duration::from_secs(20)), Some(Duration::from_secs(2)));
}

#[test]
fn rounds_add_up() {
    let mut timings = Timings::default();
    for seconds in [3, 1] {
        timings.add(Timings {
            latencies: vec![Duration::from_secs(seconds)],
            wall: Duration::from_secs(1),
        });
    }
    assert_eq!((timings.count(), timings.per_second()), (2, 1.0));
    assert_eq!(timings.percentile(50), Duration::from_secs(1));
}

#[test]
fn cells_stand_to_the_right_of_their_column() {
    let lines = [["a", "long"], ["wide", "b"]].map(|line| line.map(str::to_owned));
    assert_eq!(aligned(&lines), "   a  long\nwide     b\n");
}
