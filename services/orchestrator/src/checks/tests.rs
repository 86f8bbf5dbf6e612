use std::sync::mpsc;

use emend_core::{Deadline, ServiceError as _};
use tokio_util::sync::CancellationToken;

use super::*;

fn scope(time: Duration) -> Scope {
    Scope {
        deadline: Deadline::after(time),
        cancel: CancellationToken::new(),
    }
}

const LONG: Duration = Duration::from_secs(600);

#[tokio::test]
async fn more_checks_than_may_wait_are_refused_at_once() {
    let checks = GraphChecks::default();
    let others = checks.admitted.clone().try_acquire_many_owned(64).unwrap();
    let error = checks.run(&scope(LONG), |_| ()).await.unwrap_err();
    assert_eq!(
        (error.code(), error.retry_after()),
        (emend_core::Code::ResourceExhausted, Some(RETRY_AFTER))
    );
    drop(others);
    checks.run(&scope(LONG), |_| ()).await.unwrap();
}

#[tokio::test]
async fn a_check_keeps_its_turn_until_it_is_done_whoever_waits_for_it() {
    let checks = GraphChecks::default();
    let turns = checks.running.available_permits();
    let (end, ended) = mpsc::channel::<()>();
    // The deadline is past; the check is at work all the same.
    let late = checks.run(&scope(Duration::ZERO), move |_| ended.recv().unwrap()).await;
    assert!(matches!(late, Err(CheckError::Deadline(_))));
    assert_eq!(checks.running.available_permits(), turns - 1);
    end.send(()).unwrap();
    let all = u32::try_from(turns).unwrap();
    drop(checks.running.acquire_many(all).await.unwrap());
}

#[tokio::test]
async fn a_check_that_panics_fails_alone() {
    let checks = GraphChecks::default();
    let broken = checks.run(&scope(LONG), |_| panic!("as the test wants it")).await;
    assert_eq!(broken, Err::<(), _>(CheckError::Panicked));
    assert_eq!(checks.run(&scope(LONG), |_| 1).await, Ok(1));
}
