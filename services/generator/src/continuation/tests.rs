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
