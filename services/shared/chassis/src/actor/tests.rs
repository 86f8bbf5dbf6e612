//! The bridge as a whole: admission, cancellation, deadlines, supervision, streams.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use tokio_util::sync::CancellationToken;
use tonic_types::StatusExt;
use tracing::Span;

use super::pool::MAX_LOCAL_LEAD;
use super::*;
use crate::tests::fixture::{CountUp, Failed, Gate, Say, actor, actors, caller, hang_guard, until};
use crate::{Caller, HealthFlag, ServiceOptions};
use emend_core::Deadline;

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_answers_from_a_plain_tokio_task() {
    let (system, handle) = actor(&Gate::new(), 4, HealthFlag::detached("say"));
    assert_eq!(handle.call(Say("hello"), caller()).await.unwrap(), "hello");
    assert_eq!(handle.call(Say("fail"), caller()).await, Err(CallError::Work(Failed)));
    assert_eq!(handle.in_flight(), 0);
    system.stop().await;
    assert_eq!(
        hang_guard(async move { handle.call(Say("hello"), caller()).await }).await,
        Err(CallError::Gone)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn over_the_limit_is_refused_at_once_and_the_admitted_complete() {
    let gate = Gate::new();
    let (_system, handle) = actor(&gate, 40, HealthFlag::detached("say"));
    let admitted: Vec<_> = (0..40)
        .map(|_| {
            let handle = handle.clone();
            tokio::spawn(async move { handle.call(Say("hold"), caller()).await })
        })
        .collect();
    gate.reached(&gate.begun, 40).await;
    assert_eq!(handle.in_flight(), 40);

    let refused = tonic::Status::from(handle.call(Say("hello"), caller()).await.unwrap_err());
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
    assert!(refused.get_details_retry_info().unwrap().retry_delay.unwrap() > Duration::ZERO);

    gate.release.add_permits(40);
    for answer in join_all(admitted).await {
        assert_eq!(answer.unwrap().unwrap(), "hold");
    }
    assert_eq!(handle.call(Say("hello"), caller()).await.unwrap(), "hello");
}

#[test]
fn a_busy_actor_queues_all_that_is_admitted() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let gate = Gate::new();
    let (_system, handle) = runtime.block_on(async { actor(&gate, 40, HealthFlag::detached("say")) });
    let blocked = gate.thread.lock().unwrap();
    // More than a default mailbox of sixteen holds: the permits must be the only bound.
    let calls: Vec<_> = (0..40)
        .map(|_| {
            let handle = handle.clone();
            runtime.spawn(async move { handle.call(Say("block"), caller()).await })
        })
        .collect();
    runtime.block_on(until(|| {
        handle.in_flight() == 40 || calls.iter().any(tokio::task::JoinHandle::is_finished)
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
    let (_system, handle) = actor(&gate, 1, HealthFlag::detached("say"));
    let call = tokio::spawn({
        let handle = handle.clone();
        async move { handle.call(Say("hold"), caller()).await }
    });
    gate.reached(&gate.begun, 1).await;
    call.abort();
    gate.reached(&gate.dropped, 1).await;
    // The permit goes back when the work is dropped, on another thread.
    until(|| handle.in_flight() == 0).await;
    assert_eq!(handle.call(Say("hello"), caller()).await.unwrap(), "hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_caller_is_gone_or_late_is_never_begun() {
    let gate = Gate::new();
    let (_system, handle) = actor(&gate, 4, HealthFlag::detached("say"));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let gone = Caller::new(Deadline::after(Duration::from_secs(60)), cancel, Span::none());
    assert_eq!(handle.call(Say("hello"), gone).await, Err(CallError::Cancelled));
    let late = Caller::new(Deadline::after(Duration::ZERO), CancellationToken::new(), Span::none());
    assert_eq!(handle.call(Say("hello"), late).await, Err(CallError::Deadline));
    assert_eq!(handle.call(Say("hello"), caller()).await.unwrap(), "hello");
    assert_eq!(gate.begun.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_stops_at_the_deadline() {
    let gate = Gate::new();
    let (_system, handle) = actor(&gate, 4, HealthFlag::detached("say"));
    let short = Caller::new(
        Deadline::after(Duration::from_millis(50)),
        CancellationToken::new(),
        Span::none(),
    );
    assert_eq!(handle.call(Say("hold"), short).await, Err(CallError::Deadline));
    if gate.begun.load(Ordering::SeqCst) == 1 {
        gate.reached(&gate.dropped, 1).await;
    }
    assert_eq!(gate.done.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_that_panics_is_replaced() {
    let gate = Gate::new();
    let health = HealthFlag::detached("say");
    let (_system, handle) = actor(&gate, 8, health.clone());
    let beside = tokio::spawn({
        let handle = handle.clone();
        async move { handle.call(Say("hold"), caller()).await }
    });
    gate.reached(&gate.begun, 1).await;
    assert_eq!(handle.call(Say("panic"), caller()).await, Err(CallError::Gone));
    assert_eq!(
        beside.await.unwrap(),
        Err(CallError::Gone),
        "calls in flight on the dead actor are lost with it"
    );
    // The next caller waits for the new actor.
    assert_eq!(handle.call(Say("hello"), caller()).await.unwrap(), "hello");
    assert!(health.is_serving());
    assert_eq!(handle.in_flight(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_that_dies_again_and_again_is_not_serving() {
    let health = HealthFlag::detached("say");
    let (_system, handle) = actor(&Gate::new(), 8, health.clone());
    for _ in 0..3 {
        assert_eq!(handle.call(Say("panic"), caller()).await, Err(CallError::Gone));
        assert_eq!(handle.call(Say("hello"), caller()).await.unwrap(), "hello");
        assert!(health.is_serving());
    }
    assert_eq!(handle.call(Say("panic"), caller()).await, Err(CallError::Gone));
    assert_eq!(handle.call(Say("hello"), caller()).await.unwrap(), "hello");
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
        threads: 1,
        ..ActorOptions::new("say", &ServiceOptions::default())
    };
    let handle = ActorHandle::start(&system, options, HealthFlag::detached("say"), move || {
        assert!(lives.fetch_add(1, Ordering::SeqCst) > 0, "the first life fails");
        Arc::clone(&gate)
    })
    .unwrap();
    assert_eq!(handle.call(Say("hello"), caller()).await.unwrap(), "hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_the_events_and_then_the_failure() {
    let gate = Gate::new();
    let (_system, handle) = actor(&gate, 1, HealthFlag::detached("say"));
    gate.release.add_permits(3);
    let items: Vec<_> = handle
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
    let (_system, handle) = actor(&gate, 1, HealthFlag::detached("say"));
    let mut events = handle.stream(caller(), 1, |events| CountUp { events, fail_after: 3 });
    gate.release.add_permits(1);
    assert_eq!(events.next().await.unwrap().unwrap(), 0);
    drop(events);
    gate.reached(&gate.dropped, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_admitted_like_any_other_call() {
    let gate = Gate::new();
    let (_system, handle) = actor(&gate, 1, HealthFlag::detached("say"));
    let _held = {
        let mut first = handle.stream(caller(), 1, |events| CountUp { events, fail_after: 3 });
        gate.release.add_permits(1);
        assert_eq!(first.next().await.unwrap().unwrap(), 0);
        first
    };
    let mut second = handle.stream(caller(), 1, |events| CountUp { events, fail_after: 3 });
    assert_eq!(
        second.next().await.unwrap().unwrap_err().code(),
        tonic::Code::ResourceExhausted
    );
    assert!(second.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "only threads of actors wait for it")]
async fn work_is_spread_over_the_threads_by_what_each_has_to_do() {
    let gate = Gate::new();
    let (_system, handle) = actors(&gate, 3, 40, HealthFlag::detached("say"));
    until(|| handle.alive() == 3).await;
    let blocked = gate.thread.lock().unwrap();
    let call = |text| {
        let handle = handle.clone();
        tokio::spawn(async move { handle.call(Say(text), caller()).await.unwrap() })
    };
    let blocking = call("block");
    gate.reached(&gate.begun, 1).await;
    let holding = call("hold");
    gate.reached(&gate.begun, 2).await;
    // Two threads have a job, and one of them hangs; the third answers.
    let idle = handle.call(Say("where"), caller()).await.unwrap();
    gate.release.add_permits(1);
    holding.await.unwrap();
    let waiting = handle.call(Say("where"), caller()).await.unwrap();
    assert_ne!(idle, waiting, "the first thread that has nothing to do is taken");
    drop(blocked);
    blocking.await.unwrap();
    until(|| handle.in_flight() == 0).await;
    let first = handle.call(Say("where"), caller()).await.unwrap();
    assert_eq!(first, handle.call(Say("where"), caller()).await.unwrap());
    assert!(
        first != idle && first != waiting,
        "without load the first thread does it all"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn work_stays_on_the_thread_it_comes_from_until_another_has_much_less_to_do() {
    let gate = Gate::new();
    let (_system, handle) = actors(&gate, 3, 40, HealthFlag::detached("say"));
    until(|| handle.alive() == 3).await;
    for thread in handle.threads() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let (calls, gate) = (handle.clone(), Arc::clone(&gate));
        thread.spawn(async move {
            let here = format!("{:?}", std::thread::current().id());
            let mut places = vec![here];
            let begun = gate.begun.load(Ordering::SeqCst);
            let held: Vec<_> = (0..MAX_LOCAL_LEAD)
                .map(|_| {
                    tokio::spawn({
                        let handle = calls.clone();
                        async move { handle.call(Say("hold"), caller()).await }
                    })
                })
                .collect();
            places.push(calls.call(Say("where"), caller()).await.unwrap());
            gate.reached(&gate.begun, begun + held.len() + 1).await;
            places.push(calls.call(Say("where"), caller()).await.unwrap());
            gate.release.add_permits(held.len());
            join_all(held).await;
            drop(sender.send(places));
        });
        let places = receiver.await.unwrap();
        let [here, alone, busy] = places.as_slice() else {
            panic!("{places:?}")
        };
        assert_eq!(alone, here);
        assert_ne!(busy, here);
        until(|| handle.in_flight() == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn admission_is_one_for_all_threads() {
    let gate = Gate::new();
    let (_system, handle) = actors(&gate, 3, 4, HealthFlag::detached("say"));
    let admitted: Vec<_> = (0..4)
        .map(|_| {
            let handle = handle.clone();
            tokio::spawn(async move { handle.call(Say("hold"), caller()).await })
        })
        .collect();
    gate.reached(&gate.begun, 4).await;
    let refused = handle.call(Say("hello"), caller()).await;
    assert!(matches!(refused, Err(CallError::Full { .. })), "{refused:?}");
    gate.release.add_permits(4);
    for answer in join_all(admitted).await {
        assert_eq!(answer.unwrap().unwrap(), "hold");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_takes_the_jobs_of_its_own_actor_only() {
    let gate = Gate::new();
    let health = HealthFlag::detached("say");
    let (_system, handle) = actors(&gate, 2, 8, health.clone());
    until(|| handle.alive() == 2).await;
    let beside = tokio::spawn({
        let handle = handle.clone();
        async move { handle.call(Say("hold"), caller()).await }
    });
    gate.reached(&gate.begun, 1).await;
    assert_eq!(handle.call(Say("panic"), caller()).await, Err(CallError::Gone));
    assert_eq!(handle.call(Say("hello"), caller()).await.unwrap(), "hello");
    gate.release.add_permits(1);
    assert_eq!(beside.await.unwrap().unwrap(), "hold");
    until(|| handle.alive() == 2).await;
    assert!(health.is_serving());
}

#[tokio::test(flavor = "multi_thread")]
async fn deaths_of_all_actors_count_together() {
    let health = HealthFlag::detached("say");
    let (_system, handle) = actors(&Gate::new(), 3, 8, health.clone());
    for _ in 0..3 {
        until(|| handle.alive() == 3).await;
        assert_eq!(handle.call(Say("panic"), caller()).await, Err(CallError::Gone));
        assert!(health.is_serving());
    }
    assert_eq!(handle.call(Say("panic"), caller()).await, Err(CallError::Gone));
    until(|| !health.is_serving()).await;
    assert_eq!(handle.call(Say("hello"), caller()).await.unwrap(), "hello");
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "only threads of actors wait for it")]
async fn jobs_that_had_not_begun_go_to_another_actor() {
    let gate = Gate::new();
    for threads in [1, 2] {
        let (_system, handle) = actors(&gate, threads, 16, HealthFlag::detached("say"));
        until(|| handle.alive() == threads).await;
        let mut calls = Vec::new();
        {
            let _blocked = gate.thread.lock().unwrap();
            let begun = gate.begun.load(Ordering::SeqCst);
            let call = |text| {
                let handle = handle.clone();
                tokio::spawn(async move { handle.call(Say(text), caller()).await })
            };
            // Every thread hangs, so what follows waits in the mailboxes behind a panic.
            let mut blocking = Vec::new();
            // One after another: two at once may choose the same actor, and the second would wait behind the first.
            for number in 1..=threads {
                blocking.push(call("block"));
                gate.reached(&gate.begun, begun + number).await;
            }
            let panicking: Vec<_> = (0..threads).map(|_| call("panic")).collect();
            until(|| handle.in_flight() == 2 * threads).await;
            calls.extend((0..4).map(|_| call("hello")));
            until(|| handle.in_flight() == 2 * threads + 4).await;
            drop((blocking, panicking));
        }
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), "hello");
        }
    }
}

#[test]
fn a_caller_is_answered_at_its_deadline_although_the_thread_hangs() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let gate = Gate::new();
    let (_system, handle) = runtime.block_on(async { actor(&gate, 4, HealthFlag::detached("say")) });
    let blocked = gate.thread.lock().unwrap();
    let short = Caller::new(
        Deadline::after(Duration::from_millis(50)),
        CancellationToken::new(),
        Span::none(),
    );
    let answer = runtime.block_on(hang_guard({
        let handle = handle.clone();
        async move { handle.call(Say("block"), short).await }
    }));
    assert_eq!(answer, Err(CallError::Deadline));
    drop(blocked);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_work_of_a_stream_that_nobody_reads_stops_at_the_deadline() {
    let gate = Gate::new();
    let (_system, handle) = actor(&gate, 1, HealthFlag::detached("say"));
    gate.release.add_permits(1);
    let short = Caller::new(
        Deadline::after(Duration::from_millis(500)),
        CancellationToken::new(),
        Span::none(),
    );
    let mut events = handle.stream(short, 1, |events| CountUp { events, fail_after: 3 });
    // Where the machine is too slow even for one event, the call ends unbegun, which is what this is about too.
    if events.next().await.unwrap().is_ok() {
        gate.reached(&gate.dropped, 1).await;
    }
    until(|| handle.in_flight() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_actors_end_with_the_last_handle() {
    let gate = Gate::new();
    let (_system, handle) = actors(&gate, 2, 4, HealthFlag::detached("say"));
    until(|| handle.alive() == 2).await;
    assert_eq!(handle.call(Say("hello"), caller()).await.unwrap(), "hello");
    drop(handle);
    until(|| Arc::strong_count(&gate) == 1).await;
}
