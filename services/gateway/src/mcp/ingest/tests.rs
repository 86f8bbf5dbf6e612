use super::*;

fn given(value: Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

#[test]
fn texts_become_documents() {
    let read = read(&given(
        json!({"collection": "c", "documents": [{"id": "a", "text": "Hi", "metadata": {"k": "v"}}]}),
    ));
    let read = read.unwrap().remove(0);
    assert_eq!(read.collection, "c");
    let document = read.document.unwrap();
    assert_eq!((document.id.as_str(), document.content.as_slice()), ("a", &b"Hi"[..]));
    assert_eq!(document.metadata["k"], "v");
}

#[test]
fn wrong_documents_are_named() {
    for (wrong, said) in [
        (json!({}), "is missing"),
        (json!({"documents": []}), "has 0"),
        (
            json!({"documents": vec![json!({"id": "a", "text": "x"}); MAX_DOCUMENTS + 1]}),
            "has 101",
        ),
        (json!({"documents": [{"id": "a"}]}), "documents[0]"),
        (
            json!({"documents": [{"id": "a", "text": "x", "titel": "T"}]}),
            "did you mean `title`",
        ),
        (
            json!({"documents": [{"id": "a", "text": "x", "metadata": {"k": 1}}]}),
            "metadata",
        ),
        (json!({"docs": []}), "unknown argument `docs`"),
    ] {
        let error = read(&given(wrong)).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
