use super::*;

#[test]
fn what_a_terminal_would_obey_is_left_out() {
    assert_eq!(printable("a\u{1b}[31mb\u{7}\nc"), "a[31mb\nc");
    assert_eq!(excerpt("  one\n two\t three", 9), "one two t…");
    assert_eq!(excerpt("one  two", 7), "one two");
}
