use super::*;

#[test]
fn by_default_the_usual_names_are_taken_and_the_rest_is_metadata() {
    let record = [
        ("id", "7"),
        ("doc_id", "a"),
        ("title", "T"),
        ("text", "words \n"),
        ("url", "https://a.example"),
        ("year", "1999"),
    ];
    let record = record.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let document = Fields::default().document(record, "f.jsonl").unwrap();
    assert_eq!((document.id.as_str(), document.title.as_str()), ("a", "T"));
    assert_eq!(document.content, b"words \n", "the text as it is");
    assert_eq!(
        (document.source.as_str(), document.owner.as_str()),
        ("https://a.example", "f.jsonl")
    );
    assert_eq!(document.metadata, [("year".to_owned(), "1999".to_owned())].into());
}
