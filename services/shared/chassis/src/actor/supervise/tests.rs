use emend_core::Backoff;

use super::*;

#[tokio::test(start_paused = true)]
async fn backoff_doubles_up_to_its_limit_and_a_quiet_window_forgives() {
    let policy = RestartPolicy {
        backoff: Backoff::new(Duration::from_millis(100), Duration::from_millis(350)),
        max_restarts: 2,
        window: Duration::from_secs(10),
    };
    let deaths = Deaths::new(policy);
    let waits: Vec<_> = (0..4).map(|_| deaths.record().backoff.as_millis()).collect();
    assert_eq!(waits, [100, 200, 350, 350]);
    deaths.quiet().await;
    assert!(deaths.forgive(), "there were too many");
    assert!(!deaths.forgive(), "said once");
    let death = deaths.record();
    assert_eq!((death.backoff, death.too_many), (policy.backoff.first, false));
    tokio::time::advance(Duration::from_secs(11)).await;
    assert_eq!(deaths.record().recent, 1);
}
