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
