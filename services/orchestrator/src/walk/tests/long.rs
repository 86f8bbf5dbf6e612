//! Walks of many steps that call nobody.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use emend_core::{Deadline, limits::MAX_MESSAGE_BYTES};
use emend_proto::v1::Limit;
use prost::Message as _;

use super::{
    super::{Events, WalkMetrics, scripted::Scripted, walk},
    walk_request_of,
};
use crate::graph::{Graph, MAX_STEPS};

/// Two nodes that each go round as often as the option says.
const ROUND: &str = "
name: round
description: Goes round and does nothing.
options:
  rounds: {default: 5, min: 1, max: 10000, description: Visits of each node.}
limits: {recursion: none}
start: first
nodes:
  first: {action: pass}
  second: {action: pass}
edges:
  first:
    done: [{to: first, while: visits(first) < rounds}, {else: second}]
  second:
    done: [{to: second, while: visits(second) < rounds}, {else: finish(abstained)}]
";

fn round() -> Arc<Graph> {
    Arc::new(Graph::parse("round.yaml", ROUND).unwrap())
}

async fn rounds(rounds: f64) -> emend_proto::v1::WalkResult {
    walk(
        walk_request_of(round(), &[("rounds", rounds)]),
        &Scripted::default(),
        Deadline::after(Duration::from_secs(3600)),
        &Events::none(),
        &WalkMetrics::default(),
    )
    .await
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn no_option_makes_a_walk_longer_than_the_longest() {
    let short = rounds(5.0).await;
    assert_eq!((short.steps.len(), short.exhausted()), (10, Limit::Unspecified));
    let long = rounds(10_000.0).await;
    assert_eq!((long.steps.len(), long.exhausted()), (MAX_STEPS as usize, Limit::Steps));
    assert!(long.encoded_len() < MAX_MESSAGE_BYTES);
}

#[tokio::test(start_paused = true)]
async fn a_walk_that_calls_nobody_lets_others_go_on() {
    let ended = Arc::new(AtomicBool::new(false));
    let turns = Arc::new(AtomicU32::new(0));
    // On the one thread of this runtime.
    let other = tokio::spawn({
        let (ended, turns) = (Arc::clone(&ended), Arc::clone(&turns));
        async move {
            while !ended.load(Ordering::Relaxed) {
                turns.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        }
    });
    let walking = tokio::spawn(async move {
        rounds(2_000.0).await;
        ended.store(true, Ordering::Relaxed);
    });
    walking.await.unwrap();
    other.await.unwrap();
    let turns = turns.load(Ordering::Relaxed);
    assert!(turns > 10, "the other task had {turns} turns during 4000 steps");
}
