use super::*;

/// The cleaned text and the marks. They must not depend on how the text is chunked.
fn clean(text: &str, passages: usize) -> (String, Vec<(usize, usize)>) {
    let cut = |size: usize| {
        let chars: Vec<char> = text.chars().collect();
        let mut citations = Citations::new(passages);
        let mut out = String::new();
        for piece in chars.chunks(size) {
            out.push_str(&citations.push(&piece.iter().collect::<String>()));
        }
        let (rest, marks) = citations.finish();
        (
            out + &rest,
            marks.into_iter().map(|mark| (mark.at, mark.number)).collect::<Vec<_>>(),
        )
    };
    let whole = cut(usize::MAX);
    for size in 1..8 {
        assert_eq!(cut(size), whole, "{text:?} in pieces of {size}");
    }
    whole
}

#[test]
fn marks_are_removed_with_the_white_space_before_them() {
    for (text, cleaned, marks) in [
        ("It is red [1].", "It is red.", vec![(9, 1)]),
        (
            "It is red. [1] It is big.[2]",
            "It is red. It is big.",
            vec![(10, 1), (21, 2)],
        ),
        (
            "Red [1][3] and big [2, 3].",
            "Red and big.",
            vec![(3, 1), (3, 3), (11, 2), (11, 3)],
        ),
        (
            "탑은 높다 [2]。高い【1】。",
            "탑은 높다。高い。",
            vec![(13, 2), (22, 1)],
        ),
        (
            "All [1-3] of them [^2].",
            "All of them.",
            vec![(3, 1), (3, 2), (3, 3), (11, 2)],
        ),
        ("  lead [1]  ", "lead", vec![(4, 1)]),
        ("[2] Red.", "Red.", vec![(0, 2)]),
    ] {
        assert_eq!(clean(text, 3), (cleaned.to_owned(), marks), "{text}");
    }
}

#[test]
fn brackets_of_the_text_stay_and_invalid_numbers_are_removed() {
    for (text, cleaned) in [
        ("It [the tower] fell [1984].", "It [the tower] fell [1984]."),
        ("See [", "See ["),
        ("a [1, b] c", "a [1, b] c"),
        ("x [] y [0] z", "x [] y [0] z"),
        ("Open [12", "Open [12"),
        ("Invented [7].", "Invented."),
        ("[[1] odd", "[ odd"),
    ] {
        assert_eq!(clean(text, 1).0, cleaned, "{text}");
    }
    assert_eq!(clean("Invented [7] and [1].", 1).1, [(12, 1)]);
}
