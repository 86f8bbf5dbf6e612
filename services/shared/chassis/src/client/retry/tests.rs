use super::*;
use crate::actor::CallError;
use emend_core::DeadlineExceeded;
use std::cell::Cell;

fn full() -> Status {
    CallError::<DeadlineExceeded>::Full {
        retry_after: Duration::from_millis(300),
    }
    .into()
}

#[tokio::test(start_paused = true)]
async fn unavailable_is_tried_again_until_it_works() {
    let attempts = Cell::new(0);
    let reply = retrying(Deadline::after(Duration::from_secs(30)), |attempt| {
        attempts.set(attempt.number);
        async move {
            if attempt.number < 3 {
                Err(Status::unavailable("down"))
            } else {
                Ok(attempt.number)
            }
        }
    });
    assert_eq!(reply.await.unwrap(), 3);
    assert_eq!(attempts.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_full_server_is_given_the_time_it_asks_for() {
    let started = tokio::time::Instant::now();
    let reply = retrying(Deadline::after(Duration::from_secs(30)), |attempt| async move {
        if attempt.number == 1 { Err(full()) } else { Ok(()) }
    });
    reply.await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(300));
}

#[tokio::test(start_paused = true)]
async fn what_will_not_get_better_is_not_tried_again() {
    for status in [
        Status::invalid_argument("no"),
        Status::resource_exhausted("no hint"),
        Status::internal("bug"),
    ] {
        let attempts = Cell::new(0);
        let code = status.code();
        let error = retrying(Deadline::after(Duration::from_secs(30)), |attempt| {
            attempts.set(attempt.number);
            let status = Status::new(code, "no");
            async move { Err::<(), _>(status) }
        })
        .await
        .unwrap_err();
        assert_eq!((error.code(), attempts.get()), (code, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_within_the_deadline_with_the_last_error() {
    let deadline = Deadline::after(Duration::from_millis(200));
    let error = retrying(deadline, |_| async { Err::<(), _>(Status::unavailable("down")) })
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(!deadline.is_expired());
    let error = retrying(deadline, |_| std::future::pending::<Result<(), Status>>())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_down_is_given_up() {
    let attempts = Cell::new(0);
    let error = retrying(Deadline::after(Duration::from_secs(3600)), |attempt| {
        attempts.set(attempt.number);
        async { Err::<(), _>(Status::unavailable("down")) }
    });
    assert_eq!(error.await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(attempts.get(), MAX_ATTEMPTS);
}

#[tokio::test(start_paused = true)]
async fn a_pushback_is_a_wait_or_an_end() {
    for (pushback, attempts, waited) in [("-1", 1, 0), ("no", 1, 0), ("300", 2, 300)] {
        let (made, started) = (Cell::new(0), tokio::time::Instant::now());
        let reply = retrying(Deadline::after(Duration::from_secs(30)), |attempt| {
            made.set(attempt.number);
            let mut status = Status::unavailable("down");
            status.metadata_mut().insert(PUSHBACK, pushback.parse().unwrap());
            async move { if attempt.number == 1 { Err(status) } else { Ok(()) } }
        });
        assert_eq!(reply.await.is_ok(), attempts == 2, "{pushback}");
        assert_eq!(made.get(), attempts, "{pushback}");
        assert!(started.elapsed() >= Duration::from_millis(waited), "{pushback}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_timeout_is_deadline_exceeded() {
    let expired = || async { Err::<(), _>(Status::cancelled("Timeout expired")) };
    let error = retrying(Deadline::after(Duration::from_secs(1)), |_| expired())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    let request = request((), Deadline::after(Duration::from_secs(2)));
    assert_eq!(request.metadata().get("grpc-timeout").unwrap(), "2000000u");
}
