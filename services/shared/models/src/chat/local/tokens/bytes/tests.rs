use proptest::prelude::*;

use super::*;

#[test]
fn pieces_become_the_bytes_that_they_stand_for() {
    assert_eq!(&*of_byte_level("Ġthe"), b" the");
    assert_eq!(&*of_byte_level("Ċ"), b"\n");
    assert_eq!(&*of_byte_level("ëĨĴ"), "높".as_bytes());
    assert_eq!(&*of_byte_level("łŃ"), [0xA0, 0xAD]);
    assert_eq!((&*of_hex("<0x0A>"), &*of_hex("<0x>")), (&b"\n"[..], &b""[..]));
}

#[test]
fn a_character_waits_for_its_last_byte_and_what_is_none_does_not() {
    let mut text = Text::default();
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
    fn however_it_is_cut_the_text_is_the_same(bytes in prop::collection::vec(any::<u8>(), 0..40), cut in 1_usize..5) {
        let mut text = Text::default();
        let mut joined: String = bytes.chunks(cut).map(|piece| text.push(piece)).collect();
        joined += &text.finish();
        prop_assert_eq!(joined, String::from_utf8_lossy(&bytes).into_owned());
    }
}
