use super::*;

const BACKOFF: Backoff = Backoff::new(Duration::from_millis(25), Duration::from_secs(1));

#[test]
fn waits_double_up_to_the_longest() {
    let waits: Vec<u128> = (1..=8).map(|tries| BACKOFF.after(tries).as_millis()).collect();
    assert_eq!(waits, [25, 50, 100, 200, 400, 800, 1000, 1000]);
    assert_eq!(BACKOFF.after(0), BACKOFF.after(1));
    assert_eq!(BACKOFF.after(u32::MAX), BACKOFF.longest);
}

#[test]
fn a_jittered_wait_is_never_shorter_than_what_is_asked_for() {
    let asked = Duration::from_millis(300);
    for _ in 0..100 {
        let wait = BACKOFF.jittered(1, asked);
        assert!(wait >= asked && wait <= asked.mul_f64(1.5), "{wait:?}");
    }
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    assert_eq!(retry_after(" 120 "), Some(Duration::from_secs(120)));
    assert_eq!(retry_after("0.5"), Some(Duration::from_millis(500)));
    assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
    let later = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3600));
    assert!(retry_after(&later).is_some_and(|wait| wait > Duration::from_secs(3000)));
    for wrong in ["soon", "-1", "", "1e40"] {
        assert_eq!(retry_after(wrong), None, "{wrong}");
    }
}
