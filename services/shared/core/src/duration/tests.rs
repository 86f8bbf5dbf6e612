use super::*;

#[test]
fn durations_have_units() {
    for (text, millis) in [
        ("60s", 60_000),
        ("1500ms", 1500),
        ("2m", 120_000),
        ("1h", 3_600_000),
        ("1h 30m", 5_400_000),
        ("0.5", 500),
        (" 7 ", 7000),
    ] {
        assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
    }
    for wrong in ["soon", "3 apples", "-1", "inf", "nan", ""] {
        assert!(duration(wrong).is_err_and(|error| error.contains("1h")), "{wrong}");
    }
}
