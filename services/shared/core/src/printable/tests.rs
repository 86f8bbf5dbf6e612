use super::*;

#[test]
fn what_a_terminal_obeys_is_made_visible() {
    assert_eq!(printable("a\u{1b}]52;c;aGk=\u{7}b"), "a␛]52;c;aGk=␇b");
    assert_eq!(printable("\u{9b}31m \u{7f} \0"), "\\u{9b}31m ␡ ␀");
    assert_eq!(
        printable("x\u{202e}y\u{2066}z\u{2028}"),
        "x\\u{202e}y\\u{2066}z\\u{2028}"
    );
}

#[test]
fn lines_and_tabs_stay_where_there_is_room_for_them() {
    assert_eq!(printable("a\r\nb\tc\rd"), "a\nb\tc␍d");
    assert_eq!(printable_line("a\r\nb\tc"), "a␍␊b␉c");
}

#[test]
fn what_scripts_need_stays() {
    let text = "👨‍👩‍👧 می‌خواهم 灯台 a\u{200f}b\u{feff}";
    assert_eq!(printable(text), text);
}

#[test]
fn no_character_that_is_obeyed_is_left() {
    let all: String = ('\0'..=char::MAX).collect();
    assert!(!printable_line(&all).chars().any(is_obeyed));
    assert!(
        !printable(&all)
            .chars()
            .any(|c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
    );
}
