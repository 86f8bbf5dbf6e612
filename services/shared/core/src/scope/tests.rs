use std::time::Duration;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_scope_stops_at_its_deadline() {
    let scope = Scope {
        deadline: Deadline::after(Duration::from_secs(5)),
        cancel: CancellationToken::new(),
    };
    scope.stopped().await;
    assert!(scope.deadline.is_expired());
    assert!(!scope.cancel.is_cancelled());
}
