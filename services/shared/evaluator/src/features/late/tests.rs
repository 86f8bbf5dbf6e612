use super::*;
use emend_models::embed::Embedding;

/// Each token is a distinct unit vector.
fn vectors(tokens: &[(&str, usize)], places: &[usize]) -> TokenVectors {
    let own: Vec<Token> = tokens
        .iter()
        .map(|(text, piece)| Token {
            text: (*text).into(),
            piece: *piece,
        })
        .collect();
    let mut rows = vec![0.0; places.len() * 8];
    for (row, place) in places.iter().enumerate() {
        rows[row * 8 + place] = 1.0;
    }
    TokenVectors::new(8, own, &rows, 2, Embedding::from([0.0; 8]))
}

#[test]
fn two_sentences_together_can_match_what_neither_does() {
    let question = vectors(&[("▁boiler", 0), ("▁spring", 0)], &[1, 2]);
    let passage = vectors(&[("▁boiler", 0), ("▁hums", 0), ("▁spring", 1)], &[1, 5, 2]);
    let late = Late::new(&question, &passage, 2).unwrap();
    assert!((late.pair - 1.0).abs() < 0.01, "{late:?}");
    // The first sentence has none before it; the second, together with the first, matches the whole question.
    let [first, second] = late.with_before[..] else {
        panic!("{late:?}");
    };
    assert!(first < 0.01 && (second - 1.0).abs() < 0.01, "{late:?}");
    assert!(
        late.sentences
            .iter()
            .all(|near| (near.even - 0.5).abs() < 0.01 && near.tail < 0.01)
    );
    // Longer words weigh more, so the sentences get different scores.
    assert!(late.lead() < 0.5);
    let alone = Late::new(&question, &vectors(&[("▁boiler", 0)], &[1]), 1).unwrap();
    assert_eq!(alone.lead(), 0.0);
    assert!((alone.pair - 0.5).abs() < 0.01, "{alone:?}");
}

#[test]
fn each_token_matches_its_most_similar_one() {
    let question = vectors(&[("▁boiler", 0), ("▁spring", 0)], &[1, 2]);
    let passage = vectors(&[("▁spring", 0), ("▁hums", 0), ("▁boiler", 1)], &[2, 5, 1]);
    let late = Late::new(&question, &passage, 2).unwrap();
    assert!((late.passage.mean - 1.0).abs() < 0.01 && (late.passage.least - 1.0).abs() < 0.01);
    let first = late.sentences[0];
    assert!(
        (0.3..0.7).contains(&first.mean) && first.least.abs() < 0.01,
        "{first:?}"
    );
    // The rarer word weighs more.
    assert_eq!(late.best(), late.sentences[1]);
    assert_eq!(Late::new(&question, &vectors(&[], &[]), 1), None);
}

#[test]
fn parts_of_a_text_are_joined_by_the_indices_of_their_sentences() {
    let question = vectors(&[("▁boiler", 0), ("▁spring", 0)], &[1, 2]);
    let of = |places: &[usize]| {
        let tokens: Vec<(&str, usize)> = (0..places.len()).map(|piece| ("▁word", piece)).collect();
        Late::new(&question, &vectors(&tokens, places), places.len()).unwrap()
    };
    // Both parts begin with the heading, which matches and is no sentence.
    let parts = [
        (of(&[1, 5, 2]), vec![None, Some(3), Some(1)]),
        (of(&[1, 1]), vec![None, Some(0)]),
    ];
    let joined = Late::joined(&parts, 5).unwrap();
    let even: Vec<f64> = joined
        .sentences
        .iter()
        .map(|near| (near.even * 10.0).round() / 10.0)
        .collect();
    assert_eq!(even, [0.5, 0.5, 0.0, 0.0, 0.0]);
    // As a whole it is as near as the nearest part.
    assert!((joined.passage.even - 1.0).abs() < 0.01, "{joined:?}");
    assert_eq!(Late::joined(&[], 5), None);
}

#[test]
fn tokens_weigh_by_the_rarity_of_their_word() {
    let token = |text: &str| Token {
        text: text.into(),
        piece: 0,
    };
    let pieces = weights(&["▁the", "▁photo", "synth", "esis", "▁?"].map(token));
    assert!(
        pieces[0] < MIN_CONTENT_WEIGHT && pieces[4] < MIN_CONTENT_WEIGHT,
        "{pieces:?}"
    );
    assert!(pieces[1] == pieces[3] && pieces[1] > 0.5, "{pieces:?}");
    let wordpiece = weights(&["the", "photo", "##synth"].map(token));
    assert!(
        wordpiece[0] < MIN_CONTENT_WEIGHT && wordpiece[1] == wordpiece[2],
        "{wordpiece:?}"
    );
    assert_eq!(weights(&["▁", "京都", "は"].map(token)), [0.15, 1.0, 0.15]);
}
