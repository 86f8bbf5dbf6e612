use super::*;

/// The emitted text. It must not depend on how the text is chunked.
fn limited(text: &str, most: usize) -> String {
    let cut = |size: usize| {
        let chars: Vec<char> = text.chars().collect();
        let mut limit = SentenceLimit::new(Some(most));
        let mut out = String::new();
        for piece in chars.chunks(size) {
            out.push_str(&limit.push(&piece.iter().collect::<String>()));
        }
        out + &limit.finish()
    };
    let whole = cut(usize::MAX);
    for size in 1..9 {
        assert_eq!(cut(size), whole, "{text:?} in pieces of {size}");
    }
    whole
}

#[test]
fn sentences_up_to_the_limit_pass() {
    for (text, most, expected) in [
        ("It is red. It was built in 1871. It is old.", 1, "It is red."),
        (
            "It is red. It was built in 1871. It is old.",
            2,
            "It is red. It was built in 1871.",
        ),
        (
            "It is red. It was built in 1871.",
            2,
            "It is red. It was built in 1871.",
        ),
        ("It is 3.5 m high. It fell.", 1, "It is 3.5 m high."),
        (
            "Dr. Marsh left the U.S. Army in May. He won.",
            1,
            "Dr. Marsh left the U.S. Army in May.",
        ),
        ("She said \"no.\" Then she left for good.", 1, "She said \"no.\""),
        ("탑은 붉다. 1871년에 지어졌다.", 1, "탑은 붉다."),
        ("塔は赤い。1871年に建てられた。", 1, "塔は赤い。"),
        (
            "彼は「行く。」と言った。雨だった、朝から。",
            1,
            "彼は「行く。」と言った。",
        ),
        ("- Call first\n- Then pay\n- Then go", 2, "- Call first\n- Then pay"),
        ("No end", 1, "No end"),
        ("", 1, ""),
    ] {
        assert_eq!(limited(text, most).trim_end(), expected, "{text}");
    }
}

#[test]
fn the_last_allowed_sentence_is_emitted_at_once() {
    let mut limit = SentenceLimit::new(Some(1));
    assert_eq!(limit.push("It is red."), "It is red.");
    assert_eq!(limit.push(" It w"), "");
    assert!(!limit.is_full());
    limit.push("as");
    assert!(limit.push(" built").is_empty() && limit.is_full());
    assert_eq!(
        (limit.push(" in 1871."), limit.finish()),
        (String::new(), String::new())
    );
}

#[test]
fn without_a_limit_everything_passes() {
    let mut limit = SentenceLimit::new(None);
    assert_eq!(limit.push("A bee. A cat. A dog."), "A bee. A cat. A dog.");
    assert!(!limit.is_full() && limit.finish().is_empty());
}

/// As long as the longest reply: 8192 tokens of 32 bytes.
const LONGEST: usize = 256 << 10;

#[test]
fn a_long_text_in_small_pieces_is_looked_at_a_few_times() {
    for unit in [
        "a. ",
        "a.\n",
        "a. \n\n",
        "A. B c. ",
        "No. ",
        ". ",
        "! ",
        "...",
        "The lamp is lit. ",
        "```\na. b\n",
        "`a. ",
        "- a\n",
        "塔。",
        "\u{301}.",
    ] {
        let text = unit.repeat(LONGEST / unit.len());
        for most in [2, 100] {
            let mut limit = SentenceLimit::new(Some(most));
            let mut passed = 0;
            for (at, c) in text.char_indices() {
                let piece = &text[at..at + c.len_utf8()];
                passed += limit.push(piece).len();
            }
            passed += limit.finish().len();
            assert!(limit.is_full() || passed == text.len(), "{unit:?} {most}: {passed}");
            let times = limit.looked_at / text.len();
            assert!(times <= 64, "{unit:?} {most}: each byte is looked at {times} times");
        }
    }
}

#[test]
fn a_long_paragraph_is_cut_where_it_is_cut_as_a_whole() {
    let long = "a. ".repeat(1000) + "So it was. And the rest is left out. ";
    let paragraphs =
        "First it rained, e.g. in May.\n\n```\nlet a = 1.\n\nlet b = 2.\n```\n\n- One.\n- Two.\n\n---\n\n".repeat(8);
    for (text, most) in [
        (long, 1),
        (paragraphs.clone(), 7),
        (paragraphs.clone(), 33),
        (paragraphs, 39),
    ] {
        let cut = emend_text::sentences(&text)[most - 1].end;
        let mut limit = SentenceLimit::new(Some(most));
        let mut out = String::new();
        for c in text.chars() {
            out.push_str(&limit.push(c.encode_utf8(&mut [0; 4])));
        }
        out.push_str(&limit.finish());
        assert_eq!(out.trim_end(), &text[..cut], "{most}");
        assert!(
            limit.text.len() < 2 * AT_ONCE || most == 1,
            "blocks that are settled are forgotten"
        );
    }
}
