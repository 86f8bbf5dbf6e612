use super::*;

fn circuit() -> Circuit {
    Circuit::new(Arc::new(UpstreamMetrics::new("server")))
}

/// Calls of an outage, each of which is made again for as long as that is allowed: how often a server is asked.
fn asked(circuit: &Circuit, calls: usize) -> usize {
    let mut asked = 0;
    for _ in 0..calls {
        circuit.called();
        asked += 1;
        while circuit.may_retry() {
            circuit.called();
            asked += 1;
        }
    }
    asked
}

#[tokio::test(start_paused = true)]
async fn an_outage_has_a_tenth_more_calls_and_no_more() {
    let circuit = circuit();
    // At once: what is free in the whole window is used up first.
    let free = FREE_RETRIES as usize * 10;
    assert!(asked(&circuit, 1000) <= 1100 + 2 * free);
    // For ten minutes, at 100 calls a second.
    let mut all = 0;
    for _ in 0..600 {
        all += asked(&circuit, 100);
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    assert!(all > 60_000 + 6_000, "{all}");
    assert!(all <= 66_000 + 2 * 600 * FREE_RETRIES as usize, "{all}");
}

#[tokio::test(start_paused = true)]
async fn soon_after_an_outage_calls_are_tried_again_as_ever() {
    let circuit = circuit();
    asked(&circuit, 1000);
    assert!(!circuit.may_retry());
    tokio::time::advance(WINDOW + Duration::from_secs(2)).await;
    let allowed = (0..100).take_while(|_| circuit.may_retry()).count();
    assert_eq!(allowed, FREE_RETRIES as usize * 10);
}
