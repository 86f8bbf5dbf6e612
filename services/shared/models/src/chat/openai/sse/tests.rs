use super::*;
use proptest::prelude::*;

#[test]
fn events_end_at_blank_lines() {
    let mut events = Events::default();
    assert_eq!(
        events.push(b": hello\r\ndata: a\r\n\r\nevent: x\ndata:b\ndata: c\n\ndata: d"),
        Ok(vec![b"a".to_vec(), b"b\nc".to_vec()])
    );
    assert_eq!(events.finish(), Some(b"d".to_vec()));
    assert_eq!(events.finish(), None);
}

#[test]
fn an_endless_line_is_refused() {
    let mut events = Events::default();
    assert_eq!(events.push(&vec![b'x'; MAX_EVENT + 1]), Err(TooLong));
}

proptest! {
    #[test]
    fn where_chunks_are_cut_does_not_matter(words in prop::collection::vec("[a-z가-힣漢字é]{1,6}", 1..6), cut in 1usize..7) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| format!("data: {word}\n\n").into_bytes()).collect();
        let mut events = Events::default();
        let mut found = Vec::new();
        for chunk in bytes.chunks(cut) {
            found.extend(events.push(chunk).unwrap());
        }
        let found: Vec<String> = found.into_iter().map(|data| String::from_utf8(data).unwrap()).collect();
        prop_assert_eq!(found, words);
    }

    #[test]
    fn any_bytes_are_read_in_bounds(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 1usize..50) {
        let mut events = Events::default();
        let mut found = Vec::new();
        for chunk in bytes.chunks(cut) {
            found.extend(events.push(chunk).unwrap());
        }
        found.extend(events.finish());
        prop_assert!(found.iter().map(Vec::len).sum::<usize>() <= bytes.len());
    }

    #[test]
    fn lines_of_a_stream_are_an_event_or_an_error(
        content in r#"[ -~]{0,30}"#,
        around in r#"(data: )?[\{\}\[\]:",a-z0-9.]{0,40}"#,
    ) {
        // What is no piece of a reply is an error, and never a panic.
        drop(crate::chat::openai::wire::piece(content.as_bytes()));
        drop(crate::chat::openai::wire::piece(around.as_bytes()));
        let text = serde_json::json!({ "choices": [{ "delta": { "content": content } }] }).to_string();
        let piece = crate::chat::openai::wire::piece(text.as_bytes()).unwrap();
        prop_assert_eq!(piece.text, content);
    }
}
