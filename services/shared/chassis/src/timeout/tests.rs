use super::*;

#[test]
fn every_unit_of_the_header_is_read() {
    assert_eq!(parse_timeout("2H"), Some(Duration::from_secs(7200)));
    assert_eq!(parse_timeout("3M"), Some(Duration::from_secs(180)));
    assert_eq!(parse_timeout("4S"), Some(Duration::from_secs(4)));
    assert_eq!(parse_timeout("5m"), Some(Duration::from_millis(5)));
    assert_eq!(parse_timeout("6u"), Some(Duration::from_micros(6)));
    assert_eq!(parse_timeout("7n"), Some(Duration::from_nanos(7)));
    for bad in ["", "S", "1", "-1S", "1.5S", "123456789S", "1x", "1é"] {
        assert_eq!(parse_timeout(bad), None, "{bad:?}");
    }
}
