use std::time::Duration;

use super::*;

#[tokio::test(start_paused = true)]
async fn r11_the_walk_ends_before_the_caller_stops_waiting() {
    let second = walk_deadline(Deadline::after(Duration::from_secs(1)));
    assert_eq!(second.remaining(), Duration::from_millis(950));
    let minute = walk_deadline(Deadline::after(Duration::from_secs(60)));
    assert_eq!(minute.remaining(), Duration::from_millis(59_500));
}

#[tokio::test(start_paused = true)]
async fn r11_hops_that_use_up_their_shares_leave_something_to_the_next() {
    let walk = Deadline::after(Duration::from_secs(8));
    for left in [4, 2, 1] {
        let hop = hop_deadline(walk, Share::Half);
        tokio::time::sleep_until(hop.instant()).await;
        assert_eq!(walk.remaining(), Duration::from_secs(left));
    }
}
