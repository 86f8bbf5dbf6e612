use super::*;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

async fn take(limit: &Arc<Limit>, calls: usize) -> Vec<Slot> {
    let mut slots = Vec::new();
    for _ in 0..calls {
        slots.push(limit.admit(soon()).await.unwrap());
    }
    slots
}

/// Whether a call would have to wait.
fn is_full(limit: &Limit) -> bool {
    limit.slots.available_permits() == 0
}

#[tokio::test(start_paused = true)]
async fn a_429_halves_the_limit_once_and_successes_grow_it_back_to_what_is_configured() {
    let limit = Limit::new(8, MAX_PAUSE);
    let slots = take(&limit, 8).await;
    // Eight concurrent 429s lower the limit once, not eight times.
    slots.iter().for_each(|slot| slot.limited(None));
    assert_eq!(limit.allowed(), 4);
    drop(slots);
    let slots = take(&limit, 4).await;
    assert!(is_full(&limit));
    slots[0].limited(None);
    assert_eq!(limit.allowed(), 2);
    drop(slots);
    for _ in 0..5 {
        let slots = take(&limit, 1).await;
        slots[0].limited(None);
    }
    assert_eq!(limit.allowed(), 1, "never less than one");
    let mut grown = Vec::new();
    for _ in 0..60 {
        let before = limit.allowed();
        take(&limit, 1).await[0].succeeded();
        if limit.allowed() != before {
            grown.push(limit.allowed());
        }
    }
    assert_eq!(grown, [2, 3, 4, 5, 6, 7, 8], "one at a time, and no further");
    let _slots = take(&limit, 8).await;
    assert!(is_full(&limit));
}

#[tokio::test(start_paused = true)]
async fn growing_takes_as_many_successes_as_there_are_calls_at_once() {
    let limit = Limit::new(8, MAX_PAUSE);
    take(&limit, 1).await[0].limited(None);
    assert_eq!(limit.allowed(), 4);
    for allowed in [4, 4, 4, 5, 5, 5, 5, 5, 6] {
        take(&limit, 1).await[0].succeeded();
        assert_eq!(limit.allowed(), allowed);
    }
}

#[tokio::test(start_paused = true)]
async fn slots_in_use_go_when_they_are_free() {
    let limit = Limit::new(4, MAX_PAUSE);
    let mut slots = take(&limit, 4).await;
    slots[0].limited(None);
    // Two slots are owed: the first two that are released are removed.
    slots.truncate(2);
    assert!(is_full(&limit));
    slots.truncate(1);
    assert!(!is_full(&limit));
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_every_call_and_fails_those_that_it_outlasts_at_once() {
    let limit = Limit::new(2, MAX_PAUSE);
    take(&limit, 1).await[0].limited(Some(Duration::from_secs(30)));
    let begin = Instant::now();
    let early = limit.admit(begin + Duration::from_secs(30)).await;
    assert_eq!(early.err(), Some(Held::Paused(Duration::from_secs(30))));
    assert_eq!(begin.elapsed(), Duration::ZERO);
    let slot = limit.admit(begin + Duration::from_secs(31)).await.unwrap();
    assert_eq!(begin.elapsed(), Duration::from_secs(30));
    // A later, shorter pause does not end it earlier. A pause above the maximum is capped.
    slot.limited(Some(Duration::from_secs(1 << 40)));
    slot.limited(Some(Duration::from_secs(1)));
    drop(slot);
    let begin = Instant::now();
    assert!(limit.admit(begin + MAX_PAUSE + Duration::from_secs(1)).await.is_ok());
    assert_eq!(begin.elapsed(), MAX_PAUSE);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_begins_while_a_call_waits_fails_it_too() {
    let limit = Limit::new(1, MAX_PAUSE);
    let slot = limit.admit(soon()).await.unwrap();
    let waiting = tokio::spawn({
        let limit = Arc::clone(&limit);
        async move { limit.admit(soon()).await.err() }
    });
    tokio::task::yield_now().await;
    let begin = Instant::now();
    slot.limited(Some(Duration::from_secs(120)));
    drop(slot);
    assert_eq!(waiting.await.unwrap(), Some(Held::Paused(Duration::from_secs(120))));
    assert_eq!(begin.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_turn_beyond_the_deadline() {
    let limit = Limit::new(1, MAX_PAUSE);
    let _slot = limit.admit(soon()).await.unwrap();
    let begin = Instant::now();
    let late = limit.admit(begin + Duration::from_secs(5)).await;
    assert_eq!(late.err(), Some(Held::OutOfTime));
    assert_eq!(begin.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn retries_are_earned_by_successes() {
    let limit = Limit::new(1, MAX_PAUSE);
    let left = || std::iter::from_fn(|| limit.may_retry().then_some(())).count();
    assert_eq!(left(), 10);
    for _ in 0..21 {
        take(&limit, 1).await[0].succeeded();
    }
    assert_eq!(left(), 2);
    for _ in 0..1000 {
        take(&limit, 1).await[0].succeeded();
    }
    assert_eq!(left(), 10, "no more than ten are saved up");
}
