use emend_core::Deadline;

use super::*;

fn scope(time: Duration) -> Scope {
    Scope {
        deadline: Deadline::after(time),
        ..emend_testkit::scope()
    }
}

#[test]
fn a_rate_is_read_and_written() {
    for text in ["1/s", "30/m", "100/h"] {
        assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
    }
    for wrong in ["", "1", "0/s", "-1/s", "1/d", "1/", "/s", "9999999999/s"] {
        assert!(wrong.parse::<Rate>().unwrap_err().contains("30/m"), "{wrong}");
    }
}

#[test]
fn each_engine_has_a_rate_of_its_own_or_that_of_all() {
    use ProviderKind::{Brave, Searxng, Tavily};

    for (text, rates) in [
        ("2/s", ["2/s", "2/s", "2/s"]),
        ("2/s,tavily=5/s", ["5/s", "2/s", "2/s"]),
        ("tavily=5/s, 2/m ,brave = 100/h", ["5/s", "100/h", "2/m"]),
        ("searxng=30/m", ["1/s", "1/s", "30/m"]),
    ] {
        let read: Rates = text.parse().unwrap();
        let of = [Tavily, Brave, Searxng].map(|engine| read.of(engine).to_string());
        assert_eq!(of, rates, "{text}");
        assert_eq!(read.to_string().parse::<Rates>().unwrap(), read, "{text}");
    }
    assert_eq!(Rates::default().to_string(), "1/s");
    for (wrong, says) in [
        ("", "30/m"),
        ("1/s,", "30/m"),
        ("tavily=", "30/m"),
        ("tavily=0/s", "`0/s`"),
        ("1/s,2/s", "two rates without a name"),
        ("brave=1/s,brave=2/s", "names brave twice"),
        ("altavista=1/s", "`altavista` is no search engine"),
        ("altavista=1/s", "searxng"),
        ("folder=1/s", "`folder` is no search engine"),
        ("=1/s", "no search engine"),
    ] {
        let error = wrong.parse::<Rates>().unwrap_err();
        assert!(error.contains(says), "{wrong}: {error}");
    }
    let long = "x".repeat(10_000).parse::<Rates>().unwrap_err();
    assert!(long.len() < 500, "{}", long.len());
}

#[tokio::test]
async fn a_search_that_would_wait_too_long_goes_elsewhere() {
    let limit = RateLimit::new("2/h".parse().unwrap());
    limit.admit(&scope(Duration::from_secs(10))).await.unwrap();
    let wait = limit.admit(&scope(Duration::from_secs(10))).await.unwrap_err();
    assert!(
        wait > Duration::from_secs(1700) && wait <= Duration::from_secs(1800),
        "{wait:?}"
    );
}

#[tokio::test]
async fn a_burst_is_a_second_of_searches() {
    let limit = RateLimit::new("3/s".parse().unwrap());
    for _ in 0..3 {
        // No time to wait: it is admitted at once.
        limit.admit(&scope(Duration::from_millis(1))).await.unwrap();
    }
    // The next one waits a third of a second, and then is.
    limit.admit(&scope(Duration::from_secs(60))).await.unwrap();
}

#[tokio::test]
async fn a_pause_holds_back_everything() {
    let limit = RateLimit::new("100/s".parse().unwrap());
    limit.pause_for(Duration::from_secs(100_000));
    let wait = limit.admit(&scope(Duration::from_secs(10))).await.unwrap_err();
    assert!(wait > Duration::from_secs(10) && wait <= LONGEST_PAUSE, "{wait:?}");
}
