use super::*;

#[tokio::test(start_paused = true)]
async fn dropping_the_caller_stops_its_scope() {
    let caller = Caller::of(&tonic::Request::new(()), Duration::from_secs(5));
    let scope = caller.scope();
    let stopped = scope.stopped();
    assert!(!scope.is_stopped());
    drop(caller);
    assert!(scope.is_stopped());
    stopped.await;
    assert!(!scope.deadline.is_expired());
}

#[tokio::test]
async fn a_part_stops_with_the_whole_but_not_the_other_way_round() {
    let scope = emend_testkit::scope();
    let part = Caller::within(&scope);
    part.cancel.cancel();
    assert!(!scope.is_stopped());
    let part = Caller::within(&scope);
    scope.cancel.cancel();
    assert!(part.scope().is_stopped());
}
