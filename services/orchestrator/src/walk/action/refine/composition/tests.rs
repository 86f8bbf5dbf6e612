use super::*;

/// A document, and where in it the passage stands.
const DOCUMENT: &str = "Föhr Über uns. Fog is common. Das Licht ist weiß. Gulls.";
const PASSAGE: Span = Span { start: 5, end: 49 };

fn cut(text: &str, place: Span) -> String {
    let characters = text.chars().skip(place.start as usize);
    characters.take((place.end - place.start) as usize).collect()
}

fn passage() -> Passage {
    Passage {
        text: cut(DOCUMENT, PASSAGE),
        span: Some(PASSAGE),
        ..Passage::default()
    }
}

/// The strip of these words, where they stand in the passage's text.
fn strip(passage: &Passage, words: &str) -> Strip {
    let before = passage.text.split(words).next().unwrap();
    let start = code_points(before);
    Strip {
        text: words.to_owned(),
        span: Some(Span {
            start,
            end: start + code_points(words),
        }),
        kept: true,
        ..Strip::default()
    }
}

fn composed(mut passage: Passage, kept: &[&str]) -> Passage {
    let strips: Vec<Strip> = kept.iter().map(|words| strip(&passage, words)).collect();
    compose(&mut passage, &strips.iter().collect::<Vec<_>>());
    passage
}

/// Each piece is the same characters in the text and in the document, and all characters are in a piece but the breaks.
fn check(passage: &Passage) {
    let whole = Span {
        start: 0,
        end: code_points(&passage.text),
    };
    let pieces: Vec<TextPiece> = place::pieces_within(passage, whole).collect();
    let mut again = Vec::new();
    for piece in &pieces {
        let words = cut(&passage.text, piece.in_text.unwrap());
        assert_eq!(words, cut(DOCUMENT, piece.in_document.unwrap()), "{piece:?}");
        again.push(words);
    }
    assert_eq!(again.join(BREAK), passage.text);
    let span = passage.span.unwrap();
    assert_eq!(span.start, pieces[0].in_document.unwrap().start);
    assert_eq!(span.end, pieces.last().unwrap().in_document.unwrap().end);
}

#[test]
fn strips_that_touch_are_one_piece_with_the_white_space_between_them() {
    let kept = composed(passage(), &["Fog is common.", "Das Licht ist weiß."]);
    assert_eq!(kept.text, "Fog is common. Das Licht ist weiß.");
    assert!(kept.pieces.is_empty(), "{:?}", kept.pieces);
    check(&kept);
}

#[test]
fn strips_that_do_not_touch_keep_their_own_places() {
    let kept = composed(passage(), &["Über uns.", "Das Licht ist weiß."]);
    assert_eq!(kept.text, "Über uns.\n\nDas Licht ist weiß.");
    assert_eq!(kept.pieces.len(), 2);
    check(&kept);
}

#[test]
fn a_passage_that_is_refined_again_still_knows_its_places() {
    let once = composed(passage(), &["Über uns.", "Das Licht ist weiß."]);
    // A strip over the break is two pieces, another within one of them is one.
    let twice = composed(once.clone(), &["uns.\n\nDas", "ist weiß."]);
    assert_eq!(twice.text, "uns.\n\nDas\n\nist weiß.");
    assert_eq!(twice.pieces.len(), 3);
    check(&twice);
    let within = composed(once, &["Licht ist weiß."]);
    assert!(within.pieces.is_empty());
    check(&within);
}

#[test]
fn white_space_at_the_ends_of_a_strip_is_left_out() {
    let padded = Passage {
        text: "  Fog is common. ".to_owned(),
        span: Some(Span { start: 13, end: 30 }),
        ..Passage::default()
    };
    let whole = Strip {
        text: padded.text.clone(),
        span: Some(Span { start: 0, end: 17 }),
        ..Strip::default()
    };
    let mut kept = padded;
    compose(&mut kept, &[&whole]);
    assert_eq!(kept.text, "Fog is common.");
    assert_eq!(kept.span, Some(Span { start: 15, end: 29 }));
}

#[test]
fn a_web_passage_has_no_place_before_or_after() {
    let web = Passage {
        span: None,
        ..passage()
    };
    let kept = composed(web, &["Über uns.", "Das Licht ist weiß."]);
    assert_eq!(kept.text, "Über uns.\n\nDas Licht ist weiß.");
    assert_eq!((kept.span, kept.pieces), (None, Vec::new()));
}

#[test]
fn strips_that_are_not_where_they_say_are_joined_without_a_place() {
    let first = strip(&passage(), "Über uns.");
    let last = strip(&passage(), "Das Licht ist weiß.");
    let nowhere = Strip {
        span: None,
        ..first.clone()
    };
    let beyond = Strip {
        span: Some(Span { start: 40, end: 400 }),
        ..last.clone()
    };
    let other = Strip {
        text: "Something else.".to_owned(),
        ..first.clone()
    };
    for kept in [[&nowhere, &last], [&first, &beyond], [&other, &last], [&last, &first]] {
        let mut passage = passage();
        compose(&mut passage, &kept);
        let texts: Vec<&str> = kept.iter().map(|strip| strip.text.as_str()).collect();
        assert_eq!(passage.text, texts.join("\n\n"));
        assert_eq!((passage.span, passage.pieces), (None, Vec::new()));
    }
}
