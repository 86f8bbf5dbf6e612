use super::*;

#[test]
fn the_query_is_extracted_in_every_format() {
    for (reply, expected) in [
        ("{\"query\": \"boiler age\"}", Some("boiler age")),
        ("```json\n{\"query\": \" boiler\\nage \"}\n```", Some("boiler age")),
        ("Rewritten query: \"boiler age\"", Some("boiler age")),
        ("<think>hm</think>\nboiler age\nbecause", Some("boiler age")),
        ("검색어: 보일러 나이", Some("보일러 나이")),
        (
            "What does ISO 9001: 2015 ask for?",
            Some("What does ISO 9001: 2015 ask for?"),
        ),
        ("\"\"", None),
        ("", None),
        ("?", None),
    ] {
        assert_eq!(query(reply).as_deref(), expected, "{reply}");
    }
}
