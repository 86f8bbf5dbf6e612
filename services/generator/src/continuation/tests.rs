use super::*;

fn new(answer_so_far: &str, reply: &str) -> String {
    let cut = |size: usize| {
        let chars: Vec<char> = reply.chars().collect();
        let mut continuation = Continuation::new(answer_so_far);
        let mut out = String::new();
        for piece in chars.chunks(size) {
            out.push_str(&continuation.push(&piece.iter().collect::<String>()));
        }
        out + &continuation.finish()
    };
    let whole = cut(usize::MAX);
    for size in 1..9 {
        assert_eq!(cut(size), whole, "{reply:?} in pieces of {size}");
    }
    whole
}

const SO_FAR: &str = "The tower is red. It is \"old.\"";

#[test]
fn a_repetition_at_the_beginning_is_removed() {
    for (reply, expected) in [
        ("It fell in 1912.", "It fell in 1912."),
        ("The tower is red. It is \"old.\" It fell in 1912.", "It fell in 1912."),
        ("the tower is red.\n\nIt is old. It fell in 1912.", "It fell in 1912."),
        ("It is old. It fell in 1912.", "It fell in 1912."),
        ("It is old and it fell in 1912.", "It is old and it fell in 1912."),
        ("It is old", ""),
        ("The tower is red.", ""),
        ("The tower is", "The tower is"),
        ("The tower is not blue. It is old.", "The tower is not blue. It is old."),
        ("", ""),
    ] {
        assert_eq!(new(SO_FAR, reply), expected, "{reply}");
    }
    assert_eq!(
        new("塔は赤い。古い。", "塔は赤い。古い。1912年に倒れた。"),
        "1912年に倒れた。"
    );
    assert_eq!(new("", "The tower is red. [complete]"), "The tower is red. [complete]");
}

#[test]
fn the_completion_marker_is_removed() {
    for (reply, expected) in [
        ("[complete]", ""),
        (" [Complete].\n", ""),
        ("It fell in 1912. [complete]", "It fell in 1912."),
        ("It is old. [complete]", ""),
        ("It [the tower] fell [complete", "It [the tower] fell [complete"),
        ("It [comes] fell.", "It [comes] fell."),
    ] {
        assert_eq!(new(SO_FAR, reply), expected, "{reply}");
    }
}

#[test]
fn a_long_text_in_small_pieces_is_looked_at_a_few_times() {
    for (so_far, begin, unit) in [
        ("a. ", "", "a. "),
        ("Aaaa. ", "", "Aaaa. "),
        ("The tower is red. ", "", "The tower is red. "),
        ("The tower is red. ", "", "."),
        ("The tower is red. ", "", " "),
        ("The tower is red. ", "It fell.", " "),
        ("The tower is red. ", "It fell.", "["),
        ("The tower is red. ", "It fell.", "[complete]"),
        ("The tower is red. ", "It fell. [complete]", "."),
    ] {
        let mut continuation = Continuation::new(&so_far.repeat((64 << 10) / so_far.len()));
        // As long as the longest reply.
        let longest = if unit == "a. " { 256 << 10 } else { 64 << 10 };
        let text = begin.to_owned() + &unit.repeat(longest / unit.len());
        let mut passed = 0;
        for (at, c) in text.char_indices() {
            passed += continuation.push(&text[at..at + c.len_utf8()]).len();
            let most = if continuation.begins {
                continuation.most
            } else {
                MAX_PENDING
            };
            assert!(continuation.held.len() <= most, "{so_far:?} {begin:?} {unit:?}");
        }
        let held = continuation.held.len();
        passed += continuation.finish().len();
        assert!(
            passed + continuation.dropped() + held >= text.len(),
            "{so_far:?} {begin:?} {unit:?}: {passed}"
        );
        let times = continuation.looked_at / text.len();
        assert!(
            times <= 2 * MAX_STARTS.max(MAX_PENDING),
            "{so_far:?} {begin:?} {unit:?}: each byte is looked at {times} times"
        );
    }
}
