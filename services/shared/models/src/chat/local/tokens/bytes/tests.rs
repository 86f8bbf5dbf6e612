use proptest::prelude::*;

use super::*;

#[test]
fn pieces_are_decoded_to_bytes() {
    assert_eq!(&*from_byte_level("Ġthe"), b" the");
    assert_eq!(&*from_byte_level("Ċ"), b"\n");
    assert_eq!(&*from_byte_level("ëĨĴ"), "높".as_bytes());
    assert_eq!(&*from_byte_level("łŃ"), [0xA0, 0xAD]);
    assert_eq!((&*from_hex("<0x0A>"), &*from_hex("<0x>")), (&b"\n"[..], &b""[..]));
}

#[test]
fn an_incomplete_character_is_held_back_and_invalid_bytes_are_not() {
    let mut text = Utf8Decoder::default();
    let sign = "높".as_bytes();
    assert_eq!(text.push(&sign[..1]), "");
    assert_eq!(text.push(&sign[1..2]), "");
    assert_eq!(text.push(&[sign[2], b'x']), "높x");
    assert_eq!(text.push(&[0xFF, b'y']), "\u{FFFD}y");
    assert_eq!(text.push(&sign[..2]), "");
    assert_eq!(text.finish(), "\u{FFFD}");
}

proptest! {
    #[test]
    fn chunk_size_does_not_change_the_text(bytes in prop::collection::vec(any::<u8>(), 0..40), cut in 1_usize..5) {
        let mut text = Utf8Decoder::default();
        let mut joined: String = bytes.chunks(cut).map(|piece| text.push(piece)).collect();
        joined += &text.finish();
        prop_assert_eq!(joined, String::from_utf8_lossy(&bytes).into_owned());
    }
}
