use super::*;
use crate::v1::TextPiece;

fn passage(title: &str, headings: &[&str], text: &str) -> Passage {
    Passage {
        title: title.to_owned(),
        headings: headings.iter().map(|&heading| heading.to_owned()).collect(),
        text: text.to_owned(),
        ..Passage::default()
    }
}

/// The place of words in a text.
fn at(text: &str, words: &str) -> Option<Span> {
    let start = text[..text.find(words).unwrap()].chars().count() as u32;
    let end = start + words.chars().count() as u32;
    Some(Span { start, end })
}

#[test]
fn a_title_and_headings_are_one_line_without_empty_parts() {
    for (title, headings, line) in [
        ("", &[][..], ""),
        ("Handbook", &[], "Handbook"),
        (
            "Handbook",
            &["Leave", "Parental leave"],
            "Handbook › Leave › Parental leave",
        ),
        ("", &["Leave"], "Leave"),
        ("Handbook", &["", "Leave"], "Handbook › Leave"),
    ] {
        assert_eq!(passage(title, headings, "text").title_line(), line);
    }
}

#[test]
fn the_page_is_that_of_the_last_line_before_what_is_quoted() {
    let text = "# Page 1\n\n휴가는 25일. 🦀\n\n# Page 2\n\nTrains are booked.\n\n## Page 7\n\nPage 8\n\n# Page 12 of 20\n\nBuses.";
    let found = passage("", &[], text);
    for (words, page) in [("휴가는", 1), ("🦀", 1), ("# Page 2", 2), ("Trains", 2), ("Buses", 2)] {
        assert_eq!(found.page(at(text, words)), Some(page), "{words}");
    }
    assert_eq!(found.page(None), Some(1));
    // Where the first page begins only later, what stands before it has none.
    let text = "Continued.\n\n# Page 2\n\nTrains.";
    let found = passage("", &[], text);
    assert_eq!((found.page(None), found.page(at(text, "Continued"))), (None, None));
    assert_eq!(found.page(at(text, "Trains")), Some(2));
    assert_eq!(passage("", &["Page 1"], text).page(at(text, "Continued")), Some(1));
}

#[test]
fn the_page_is_that_of_the_headings_where_the_text_has_none() {
    let found = passage("Handbook", &["Page 3", "Leave"], "See Page 9.");
    assert_eq!(
        (found.page(None), found.page(at("See Page 9.", "9"))),
        (Some(3), Some(3))
    );
    assert_eq!(found.place_line(None), "page 3 › Leave");
    let none = passage(
        "Handbook",
        &["Pages", "Page 3a", "Page +3", "Page"],
        "# Page\n\n# Page x\n\ntext",
    );
    assert_eq!(none.page(at(&none.text, "text")), None);
    assert_eq!(none.place_line(None), "Pages › Page 3a › Page +3 › Page");
    assert_eq!(passage("Handbook", &[], "text").place_line(None), "");
    // The text knows better.
    let text = "# Page 4\n\nTrains.";
    assert_eq!(
        passage("", &["Page 3", "Leave"], text).place_line(at(text, "Trains")),
        "page 4 › Leave"
    );
}

#[test]
fn a_span_beyond_the_text_is_on_its_last_page() {
    let span = Some(Span {
        start: u32::MAX,
        end: u32::MAX,
    });
    assert_eq!(passage("", &[], "# Page 1\n\na\n\n# Page 2\n\nb").page(span), Some(2));
}

#[test]
fn a_gap_of_a_refined_passage_may_have_held_the_next_page() {
    let text = "# Page 1\n\nLeave.\n\nTrains.";
    let piece = |start: u32, end: u32, place: u32| TextPiece {
        in_text: Some(Span { start, end }),
        in_document: Some(Span {
            start: place,
            end: place + end - start,
        }),
    };
    let mut refined = passage("", &[], text);
    refined.pieces = vec![piece(0, 16, 0), piece(18, 25, 90)];
    assert_eq!(refined.page(at(text, "Leave")), Some(1));
    assert_eq!(refined.page(at(text, "Trains")), None);
    refined.headings = vec!["Page 5".to_owned()];
    assert_eq!(refined.page(at(text, "Trains")), Some(5));
}
