use emend_core::Backoff;

use super::*;

#[tokio::test(start_paused = true)]
async fn backoff_doubles_up_to_its_limit_and_a_quiet_window_forgives() {
    let policy = RestartPolicy {
        backoff: Backoff::new(Duration::from_millis(100), Duration::from_millis(350)),
        max_restarts: 2,
        window: Duration::from_secs(10),
    };
    let mut deaths = Deaths::new(policy);
    let waits: Vec<_> = (0..4).map(|_| deaths.record().as_millis()).collect();
    assert_eq!(waits, [100, 200, 350, 350]);
    assert!(deaths.too_many());
    deaths.quiet().await;
    assert!(!deaths.too_many());
    assert_eq!(deaths.record(), policy.backoff.first);
    tokio::time::advance(Duration::from_secs(11)).await;
    deaths.record();
    assert_eq!(deaths.recent(), 1);
}
