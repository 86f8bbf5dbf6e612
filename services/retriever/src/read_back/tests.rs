use super::*;

#[test]
fn a_token_is_read_as_it_was_written_and_nothing_else_is() {
    let token = PageToken::new(&[7; 32], 12);
    assert_eq!(PageToken::parse(&token.to_string()), Some(token));
    for odd in ["12", "-", "x-1", "0707-", "0707--1", "0707-4294967296", "ünï-1"] {
        assert_eq!(PageToken::parse(odd), None, "{odd}");
    }
}
