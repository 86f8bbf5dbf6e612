//! The bridge as a whole: admission, cancellation, deadlines, supervision, streams.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use tokio_util::sync::CancellationToken;
use tonic_types::StatusExt;
use tracing::Span;

use super::*;
use crate::HealthFlag;
use crate::tests::fixture::{CountUp, Failed, Gate, Say, caller, front, hang_guard, until};
use emend_core::Deadline;

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_answers_from_a_plain_tokio_task() {
    let (system, front) = front(&Gate::new(), 4, HealthFlag::detached("say"));
    assert_eq!(front.call(Say("hello"), caller()).await.unwrap(), "hello");
    assert_eq!(front.call(Say("fail"), caller()).await, Err(CallError::Task(Failed)));
    assert_eq!(front.in_flight(), 0);
    system.stop().await;
    assert_eq!(
        hang_guard(async move { front.call(Say("hello"), caller()).await }).await,
        Err(CallError::Gone)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn over_the_limit_is_refused_at_once_and_the_admitted_complete() {
    let gate = Gate::new();
    let (_system, front) = front(&gate, 40, HealthFlag::detached("say"));
    let admitted: Vec<_> = (0..40)
        .map(|_| {
            let front = front.clone();
            tokio::spawn(async move { front.call(Say("hold"), caller()).await })
        })
        .collect();
    gate.reached(&gate.begun, 40).await;
    assert_eq!(front.in_flight(), 40);

    let refused = tonic::Status::from(front.call(Say("hello"), caller()).await.unwrap_err());
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
    assert!(refused.get_details_retry_info().unwrap().retry_delay.unwrap() > Duration::ZERO);

    gate.release.add_permits(40);
    for answer in join_all(admitted).await {
        assert_eq!(answer.unwrap().unwrap(), "hold");
    }
    assert_eq!(front.call(Say("hello"), caller()).await.unwrap(), "hello");
}

#[test]
fn a_busy_actor_queues_all_that_is_admitted() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let gate = Gate::new();
    let (_system, front) = runtime.block_on(async { front(&gate, 40, HealthFlag::detached("say")) });
    let blocked = gate.thread.lock().unwrap();
    // More than a default mailbox of sixteen holds: the permits must be the only bound.
    let calls: Vec<_> = (0..40)
        .map(|_| {
            let front = front.clone();
            runtime.spawn(async move { front.call(Say("block"), caller()).await })
        })
        .collect();
    runtime.block_on(until(|| {
        front.in_flight() == 40 || calls.iter().any(tokio::task::JoinHandle::is_finished)
    }));
    runtime.block_on(tokio::task::yield_now());
    drop(blocked);
    for call in calls {
        assert_eq!(runtime.block_on(call).unwrap().unwrap(), "block");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_call_drops_the_work_and_gives_the_permit_back() {
    let gate = Gate::new();
    let (_system, front) = front(&gate, 1, HealthFlag::detached("say"));
    let call = tokio::spawn({
        let front = front.clone();
        async move { front.call(Say("hold"), caller()).await }
    });
    gate.reached(&gate.begun, 1).await;
    call.abort();
    gate.reached(&gate.dropped, 1).await;
    // The permit goes back when the work is dropped, on another thread.
    until(|| front.in_flight() == 0).await;
    assert_eq!(front.call(Say("hello"), caller()).await.unwrap(), "hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_caller_is_gone_or_late_is_never_begun() {
    let gate = Gate::new();
    let (_system, front) = front(&gate, 4, HealthFlag::detached("say"));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let gone = Caller::new(Deadline::after(Duration::from_secs(60)), cancel, Span::none());
    assert_eq!(front.call(Say("hello"), gone).await, Err(CallError::Cancelled));
    let late = Caller::new(Deadline::after(Duration::ZERO), CancellationToken::new(), Span::none());
    assert_eq!(front.call(Say("hello"), late).await, Err(CallError::Deadline));
    assert_eq!(front.call(Say("hello"), caller()).await.unwrap(), "hello");
    assert_eq!(gate.begun.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_stops_at_the_deadline() {
    let gate = Gate::new();
    let (_system, front) = front(&gate, 4, HealthFlag::detached("say"));
    let short = Caller::new(
        Deadline::after(Duration::from_millis(50)),
        CancellationToken::new(),
        Span::none(),
    );
    assert_eq!(front.call(Say("hold"), short).await, Err(CallError::Deadline));
    if gate.begun.load(Ordering::SeqCst) == 1 {
        gate.reached(&gate.dropped, 1).await;
    }
    assert_eq!(gate.done.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_that_panics_is_replaced() {
    let gate = Gate::new();
    let health = HealthFlag::detached("say");
    let (_system, front) = front(&gate, 8, health.clone());
    let beside = tokio::spawn({
        let front = front.clone();
        async move { front.call(Say("hold"), caller()).await }
    });
    gate.reached(&gate.begun, 1).await;
    assert_eq!(front.call(Say("panic"), caller()).await, Err(CallError::Gone));
    assert_eq!(
        beside.await.unwrap(),
        Err(CallError::Gone),
        "calls in flight on the dead actor are lost with it"
    );
    // The next caller waits for the new actor.
    assert_eq!(front.call(Say("hello"), caller()).await.unwrap(), "hello");
    assert!(health.is_serving());
    assert_eq!(front.in_flight(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_that_dies_again_and_again_is_not_serving() {
    let health = HealthFlag::detached("say");
    let (_system, front) = front(&Gate::new(), 8, health.clone());
    for _ in 0..3 {
        assert_eq!(front.call(Say("panic"), caller()).await, Err(CallError::Gone));
        assert_eq!(front.call(Say("hello"), caller()).await.unwrap(), "hello");
        assert!(health.is_serving());
    }
    assert_eq!(front.call(Say("panic"), caller()).await, Err(CallError::Gone));
    assert_eq!(front.call(Say("hello"), caller()).await.unwrap(), "hello");
    assert!(!health.is_serving());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_that_panics_is_tried_again() {
    let system = ActorSystem::start("actors").unwrap();
    let gate = Gate::new();
    let lives = std::sync::atomic::AtomicUsize::new(0);
    let restart = RestartPolicy {
        backoff: Backoff::new(Duration::from_millis(1), Duration::from_millis(1)),
        ..RestartPolicy::default()
    };
    let options = ActorOptions {
        restart,
        ..ActorOptions::new("say", 4)
    };
    let front = ActorHandle::start(&system, options, HealthFlag::detached("say"), move |alive| {
        assert!(lives.fetch_add(1, Ordering::SeqCst) > 0, "the first life fails");
        crate::tests::fixture::SayActor::new(&gate, alive)
    })
    .unwrap();
    assert_eq!(front.call(Say("hello"), caller()).await.unwrap(), "hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_the_events_and_then_the_failure() {
    let gate = Gate::new();
    let (_system, front) = front(&gate, 1, HealthFlag::detached("say"));
    gate.release.add_permits(3);
    let items: Vec<_> = front
        .stream(caller(), 1, |events| CountUp { events, fail_after: 3 })
        .collect()
        .await;
    let numbers: Vec<_> = items.iter().filter_map(|item| item.as_ref().ok()).copied().collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!(
        items.last().unwrap().as_ref().unwrap_err().code(),
        tonic::Code::FailedPrecondition
    );
    assert_eq!(items.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_stream_cancels_the_work() {
    let gate = Gate::new();
    let (_system, front) = front(&gate, 1, HealthFlag::detached("say"));
    let mut events = front.stream(caller(), 1, |events| CountUp { events, fail_after: 3 });
    gate.release.add_permits(1);
    assert_eq!(events.next().await.unwrap().unwrap(), 0);
    drop(events);
    gate.reached(&gate.dropped, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_admitted_like_any_other_call() {
    let gate = Gate::new();
    let (_system, front) = front(&gate, 1, HealthFlag::detached("say"));
    let _held = {
        let mut first = front.stream(caller(), 1, |events| CountUp { events, fail_after: 3 });
        gate.release.add_permits(1);
        assert_eq!(first.next().await.unwrap().unwrap(), 0);
        first
    };
    let mut second = front.stream(caller(), 1, |events| CountUp { events, fail_after: 3 });
    assert_eq!(
        second.next().await.unwrap().unwrap_err().code(),
        tonic::Code::ResourceExhausted
    );
    assert!(second.next().await.is_none());
}
