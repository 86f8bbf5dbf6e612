use super::*;

const MS: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn each_model_has_an_equal_share_of_what_is_left() {
    let mut clock = ChainClock::new(300 * MS, 3);
    let began = Instant::now();
    let later = began + Duration::from_secs(3600);
    let end = began + 300 * MS;
    let first = began + 100 * MS;
    assert_eq!(clock.begin(Duration::ZERO, later), Until { first, end });
    // One that fails early leaves its time to the others.
    tokio::time::advance(20 * MS).await;
    clock.next_model();
    let first = began + 160 * MS;
    assert_eq!(clock.begin(Duration::ZERO, later), Until { first, end });
    tokio::time::advance(140 * MS).await;
    clock.next_model();
    assert_eq!(clock.begin(Duration::ZERO, later), Until { first: end, end });
    // Nobody comes after the last.
    clock.next_model();
    assert_eq!(clock.begin(Duration::ZERO, later), Until { first: end, end });
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_not_counted_and_nothing_is_later_than_the_latest() {
    let clock = ChainClock::new(300 * MS, 2);
    let began = Instant::now();
    let later = began + Duration::from_secs(3600);
    tokio::time::advance(Duration::from_secs(60)).await;
    let now = Instant::now();
    let until = clock.begin(Duration::from_secs(60), later);
    assert_eq!(
        until,
        Until {
            first: now + 150 * MS,
            end: now + 300 * MS
        }
    );
    let end = now + 310 * MS;
    assert_eq!(clock.begin(10 * MS, later).end, end);
    let latest = now + MS;
    assert_eq!(
        clock.begin(Duration::ZERO, latest),
        Until {
            first: latest,
            end: latest
        }
    );
}
