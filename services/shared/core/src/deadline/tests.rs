use super::*;

#[tokio::test(start_paused = true)]
async fn a_caller_is_answered_a_little_early_and_one_without_a_timeout_gets_the_default() {
    let default = Duration::from_secs(30);
    let left = |timeout| Deadline::of_caller(timeout, default).remaining();
    assert_eq!(left(Some(Duration::from_millis(100))), Duration::from_millis(95));
    assert_eq!(left(Some(Duration::from_secs(10))), Duration::from_millis(9950));
    assert_eq!(left(Some(Duration::MAX)), MAX_TIMEOUT);
    assert_eq!(left(None), default);
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_is_a_part_of_what_is_left_and_never_much() {
    let deadline = Deadline::after(Duration::from_secs(1));
    let kept = |reserve| deadline.remaining() - deadline.keeping(reserve).remaining();
    assert_eq!(kept(Reserve::TRANSPORT), Duration::from_millis(50));
    assert_eq!(kept(Reserve::PARTIAL_RESULT), Duration::from_millis(100));
    assert_eq!(kept(Reserve::WALK_RESULT), Duration::from_millis(50));
    let far = Deadline::after(Duration::from_secs(60));
    assert_eq!(
        far.remaining() - far.keeping(Reserve::WALK_RESULT).remaining(),
        Duration::from_millis(500)
    );
}

#[tokio::test(start_paused = true)]
async fn work_is_dropped_when_the_deadline_passes() {
    let deadline = Deadline::after(Duration::from_secs(1));
    assert_eq!(deadline.run(async { 7 }).await, Ok(7));
    assert_eq!(deadline.run(std::future::pending::<()>()).await, Err(DeadlineExceeded));
    assert!(deadline.is_expired());
    assert_eq!(deadline.remaining(), Duration::ZERO);
    assert!(deadline.minus(Duration::from_secs(1)) < deadline);
}
