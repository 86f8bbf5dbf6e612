use super::*;

#[test]
fn a_text_stands_on_one_line_and_moves_no_terminal() {
    assert_eq!(excerpt("  one\n two\t three", 13), "one two three");
    assert_eq!(excerpt("a\u{1b}[31mb\u{7}\nc", 20), "a␛[31mb␇ c");
}

#[test]
fn a_text_is_cut_after_a_whole_word() {
    assert_eq!(excerpt("one two three", 12), "one two…");
    assert_eq!(excerpt("one two three", 9), "one two…");
    assert_eq!(excerpt("one two three", 7), "one…");
    assert_eq!(excerpt("incomprehensible", 6), "incom…");
}

#[test]
fn a_text_is_measured_in_columns() {
    // Each of these characters is two columns wide.
    assert_eq!(excerpt("灯台はいつ", 10), "灯台はいつ");
    let cut = excerpt("灯台はいつ建てられましたか", 10);
    assert!(cut.width() <= 10 && cut.ends_with('…'), "{cut}");
    assert_eq!(excerpt("등대는 언제 지어졌나요", 12), "등대는 언제…");
    assert_eq!(excerpt("👨‍👩‍👧👨‍👩‍👧", 3), "👨‍👩‍👧…");
    assert_eq!(excerpt("word", 0), "…");
}

#[test]
fn a_name_is_one_line_without_controls_and_bounded() {
    assert_eq!(one_line(" a\u{1b}[31m\n b\tc\u{0} ", 100), "a[31m b c");
    assert_eq!(one_line("dé fg", 2), "d");
    assert_eq!(one_line("ab cd", 3), "ab");
    assert_eq!(one_line(&"word ".repeat(1000), 9), "word word");
}
