use super::*;

/// Tokens with the given vectors of two values, each in its piece.
fn vectors(pieces: usize, tokens: &[(usize, [f32; 2])]) -> TokenVectors {
    let rows: Vec<f32> = tokens.iter().flat_map(|(_, row)| *row).collect();
    let named = |(piece, _): &(usize, [f32; 2])| Token {
        text: "▁x".into(),
        piece: *piece,
    };
    TokenVectors::new(
        2,
        tokens.iter().map(named).collect(),
        &rows,
        pieces,
        Embedding::from([0.0; 2]),
    )
}

fn close(left: f32, right: f32) -> bool {
    (left - right).abs() < 0.02
}

#[test]
fn a_piece_is_compared_as_a_whole_and_by_token() {
    let question = vectors(1, &[(0, [1.0, 0.0]), (0, [0.0, 3.0])]);
    // A piece with both of the question's tokens, one with one of them, one without tokens.
    let passage = vectors(3, &[(0, [5.0, 0.0]), (0, [0.0, 1.0]), (1, [1.0, 0.0])]);
    let similarities = question.answer_similarities(&passage);
    assert_eq!(similarities.len(), 3);
    assert!(close(similarities[0], 1.0), "{similarities:?}");
    // The cosine of (1, 1) with (1, 0) is √½; the best cosines of the tokens are 1 and 0.
    assert!(
        close(similarities[1], f32::midpoint(0.5_f32.sqrt(), 0.5)),
        "{similarities:?}"
    );
    assert!(close(similarities[2], -1.0), "{similarities:?}");
}

#[test]
fn a_question_s_tokens_count_by_their_weights() {
    let passage = vectors(2, &[(0, [1.0, 0.0]), (1, [0.0, 1.0])]);
    let question = || vectors(1, &[(0, [1.0, 0.0]), (0, [0.0, 1.0])]);
    let even = question().answer_similarities(&passage);
    assert!(close(even[0], even[1]), "{even:?}");
    // e² against 1: the second token has .88 of the weight.
    let second = question().weighted(&[0.0, 2.0]).answer_similarities(&passage);
    assert!(close(second[1], f32::midpoint(0.5_f32.sqrt(), 0.881)), "{second:?}");
    assert!(close(second[0], f32::midpoint(0.5_f32.sqrt(), 0.119)), "{second:?}");
}

#[test]
fn vectors_of_another_size_are_not_similar() {
    let question = TokenVectors::new(1, Vec::new(), &[], 1, Embedding::from([0.0]));
    let passage = vectors(1, &[(0, [1.0, 0.0])]);
    assert_eq!(question.answer_similarities(&passage), [-1.0]);
    // A piece that is out of range is left out.
    let beyond = vectors(1, &[(4, [1.0, 0.0])]);
    assert_eq!(passage.answer_similarities(&beyond), [-1.0]);
}
