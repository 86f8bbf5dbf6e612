use super::*;

#[test]
fn colours_of_this_program_pass_and_nothing_else_that_a_terminal_obeys() {
    let dim = anstyle::Style::new().dimmed();
    let red = anstyle::AnsiColor::Red.on_default().bold();
    let own = format!("{dim}a{dim:#} {red}b{red:#}\n\tc");
    assert_eq!(shown(&own), own);
    assert_eq!(
        shown("\u{1b}[2J\u{1b}[1;1Ha\u{1b}[8mb\u{1b}[?25l"),
        "␛[2J␛[1;1Ha␛[8mb␛[?25l"
    );
    assert_eq!(
        shown("\u{1b}]52;c;aGk=\u{7}\u{9b}31m\u{202e}"),
        "␛]52;c;aGk=␇\\u{9b}31m\\u{202e}"
    );
    assert_eq!(shown("a\u{1b}"), "a␛");
    assert_eq!(shown("a\u{1b}[1"), "a␛[1");
}

#[test]
fn json_keeps_its_values_and_moves_no_terminal() {
    let value = serde_json::json!({ "text": "a\u{1b}\u{7f}\u{9b}31m\u{202e}\n灯台" });
    for pretty in [false, true] {
        let json = escaped(&if pretty {
            format!("{value:#}")
        } else {
            value.to_string()
        });
        assert!(!json.chars().any(|c| is_obeyed(c) && c != '\n'), "{json:?}");
        assert!(json.contains("灯台"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
    }
}
