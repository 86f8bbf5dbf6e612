use super::*;

#[test]
fn a_text_is_cut_at_a_whole_character() {
    let mut room = Room::of(Some(1));
    let mut first = "x".repeat(MAX_TOKEN_BYTES - 2);
    assert!(room.take(&mut first));
    let mut second = "灯台".to_owned();
    assert!(!room.take(&mut second));
    assert_eq!((first.len(), second.as_str()), (MAX_TOKEN_BYTES - 2, ""));
    assert!(room.take(&mut String::from("ab")));
    assert!(!room.take(&mut String::from("c")));
}

#[test]
fn without_a_limit_there_is_room_for_everything() {
    assert!(Room::of(None).take(&mut "x".repeat(1 << 20)));
}
