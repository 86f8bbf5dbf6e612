use super::*;

fn read(text: &str) -> String {
    entries(text, Bounds::new(&|| false)).unwrap()
}

#[test]
fn entries_stand_apart_and_keep_what_they_say() {
    let entry = |number: usize| {
        format!(
            r#"{{"id":{number},"name":"a \"quoted\", {{braced}} name","tags":["x","y"],"place":{{"city":"Seoul","note":"{}"}}}}"#,
            "far ".repeat(30)
        )
    };
    let text = format!(r#"{{"version":1,"items":[{},{}]}}"#, entry(1), entry(2));
    let read = read(&text);
    let lines: Vec<&str> = read.lines().collect();
    assert_eq!(
        lines[..5],
        ["{", "  \"version\": 1,", "  \"items\": [", "    {", "      \"id\": 1,"]
    );
    assert_eq!(lines[5], "      \"name\": \"a \\\"quoted\\\", {braced} name\",");
    assert_eq!(lines[6], "      \"tags\": [\"x\", \"y\"],");
    // A blank line between the two entries.
    assert_eq!(lines.iter().filter(|line| line.is_empty()).count(), 1);
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(dense(&read), dense(&text));
}

#[test]
fn a_short_text_stays_as_it_is() {
    let text = "{\n  \"listen\": {\n    \"port\": 8443\n  }\n}\n";
    assert_eq!(read(text), text);
}

#[test]
fn lines_of_json_stay_lines_and_what_is_broken_is_kept() {
    let text = "{\"a\":1}\n".repeat(100);
    assert!(read(&text).starts_with("{\"a\": 1}\n{\"a\": 1}\n"));
    let broken = format!("{{\"a\": \"never closed {}", "word ".repeat(200));
    assert!(read(&broken).contains("never closed word"));
}
