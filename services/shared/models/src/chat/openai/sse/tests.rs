use emend_fuzz::{damaged, fuzz};
use proptest::prelude::*;

use super::*;
use crate::chat::openai::wire;

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
}

/// A reply with its log-probabilities, one that calls a tool, and one that ends with an error, as servers stream them.
const STREAMS: [&str; 3] = [
    concat!(
        "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"small-2026\",\"choices\":[{\"index\":0,",
        "\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n",
        ": keep-alive\r\n\r\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Ye\"},\"logprobs\":{\"content\":[{\"token\":\"Ye\",",
        "\"logprob\":-0.01,\"bytes\":[89,101],\"top_logprobs\":[{\"token\":\"Ye\",\"logprob\":-0.01,\"bytes\":[89,101]},",
        "{\"token\":\"No\",\"logprob\":-4.6,\"bytes\":null}]}]},\"finish_reason\":null}]}\n\n",
        "event: message\nid: 3\nretry: 10\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"s \\u2713\"},\"finish_reason\":\"stop\"}],\n",
        "data: \"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2,\"total_tokens\":9}}\n\n",
        "data: [DONE]\n\n",
    ),
    concat!(
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",",
        "\"function\":{\"name\":\"search\",\"arguments\":\"\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"q\\\":\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"},\"finish_reason\":\"tool_calls\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}",
    ),
    concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n",
        "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"server_error\",\"code\":503}}\n\n",
    ),
];

/// The events of a stream that comes in pieces of this size.
fn events(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut events = Events::default();
    let mut found: Vec<_> = bytes
        .chunks(size)
        .flat_map(|chunk| events.push(chunk).unwrap())
        .collect();
    found.extend(events.finish());
    found
}

#[test]
fn streams_that_are_not_damaged_are_read() {
    let text = |stream: &str| -> String {
        let events = events(stream.as_bytes(), 5);
        let pieces = events.iter().filter(|event| event.as_slice() != b"[DONE]");
        pieces
            .filter_map(|event| wire::piece(event).ok())
            .map(|piece| piece.text)
            .collect()
    };
    assert_eq!(STREAMS.map(text), ["Yes ✓", "", "half"]);
    assert!(wire::piece(&events(STREAMS[2].as_bytes(), 1)[1]).is_err());
}

#[test]
fn fuzz_streams() {
    let words = [
        "\n",
        "\r\n",
        "\n\n",
        "data: ",
        "data:",
        ":",
        "[DONE]",
        "{",
        "[",
        "}",
        "]",
        "\"",
        "\\",
        "\\ud800",
        "null",
        "-1",
        "1e999",
        "true",
        "\"choices\":",
        "\"delta\":",
        "\"content\":",
        "\"logprobs\":",
        "\"top_logprobs\":",
        "\"finish_reason\":",
        "\"usage\":",
        "\"error\":",
        "\0",
        "\u{feff}",
    ];
    fuzz("streams", (damaged(STREAMS, words), 1_usize..80), |(bytes, size)| {
        let found = events(&bytes, size);
        prop_assert_eq!(&found, &events(&bytes, bytes.len().max(1)), "pieces of {}", size);
        prop_assert!(found.iter().map(Vec::len).sum::<usize>() <= bytes.len());
        for event in &found {
            // What is no piece of a reply is an error, and never a panic; a piece has what its event has and no more.
            let Ok(piece) = wire::piece(event) else { continue };
            prop_assert!(piece.text.len() <= event.len(), "{} bytes", piece.text.len());
            let places = piece.logprobs.iter().map(|place| 1 + place.top.len()).sum::<usize>();
            prop_assert!(places <= event.len(), "{} log-probabilities", places);
            let known = piece.logprobs.iter().all(|place| !place.logprob.is_nan());
            prop_assert!(known, "{:?}", piece.logprobs);
        }
        Ok(())
    });
}

#[test]
fn fuzz_text_of_an_event() {
    let parts = ("[ -~]{0,30}", r#"(data: )?[\{\}\[\]:",a-z0-9.]{0,40}"#);
    fuzz("text of an event", parts, |(content, around)| {
        drop(wire::piece(content.as_bytes()));
        drop(wire::piece(around.as_bytes()));
        let text = serde_json::json!({ "choices": [{ "delta": { "content": content } }] }).to_string();
        let piece = wire::piece(text.as_bytes()).unwrap();
        prop_assert_eq!(piece.text, content);
        Ok(())
    });
}
