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
}
