use super::*;

const fn span(start: u32, end: u32) -> Span {
    Span { start, end }
}

fn piece(in_text: Span, in_document: Span) -> TextPiece {
    TextPiece {
        in_text: Some(in_text),
        in_document: Some(in_document),
    }
}

/// `Ab…` at 100–110 of its document, and `…yz` at 150–160, with two characters between them.
fn refined() -> Passage {
    Passage {
        span: Some(span(100, 160)),
        pieces: vec![piece(span(0, 10), span(100, 110)), piece(span(12, 22), span(150, 160))],
        ..Passage::default()
    }
}

#[test]
fn a_passage_of_one_piece_is_placed_by_its_span() {
    let passage = Passage {
        span: Some(span(100, 130)),
        ..Passage::default()
    };
    assert_eq!(document_span(&passage, span(2, 9)), Some(span(102, 109)));
    assert_eq!(document_span(&passage, span(0, 30)), Some(span(100, 130)));
    assert_eq!(document_span(&passage, span(20, 31)), None, "beyond the text");
    assert_eq!(document_span(&passage, span(9, 2)), None, "upside down");
}

#[test]
fn a_place_in_a_refined_passage_is_that_of_its_piece() {
    assert_eq!(document_span(&refined(), span(2, 9)), Some(span(102, 109)));
    assert_eq!(document_span(&refined(), span(12, 15)), Some(span(150, 153)));
    assert_eq!(document_span(&refined(), span(8, 14)), None, "over what was left out");
    assert_eq!(
        document_span(&refined(), span(10, 12)),
        None,
        "what stands in no document"
    );
}

#[test]
fn the_web_has_no_places() {
    assert_eq!(document_span(&Passage::default(), span(0, 1)), None);
    assert_eq!(pieces_within(&Passage::default(), span(0, 1)).count(), 0);
}

#[test]
fn a_range_over_several_pieces_is_cut_into_them() {
    let pieces: Vec<TextPiece> = pieces_within(&refined(), span(8, 14)).collect();
    assert_eq!(
        pieces,
        [piece(span(8, 10), span(108, 110)), piece(span(12, 14), span(150, 152))]
    );
}

#[test]
fn pieces_that_contradict_themselves_place_nothing() {
    for odd in [
        piece(span(0, 10), span(100, 105)),
        piece(span(10, 0), span(110, 100)),
        piece(span(0, u32::MAX), span(u32::MAX, u32::MAX)),
        TextPiece::default(),
    ] {
        let passage = Passage {
            pieces: vec![odd],
            ..Passage::default()
        };
        assert_eq!(document_span(&passage, span(0, 3)), None, "{odd:?}");
    }
}
