use super::*;

fn unigram() -> TextTokenizer {
    let pieces = [
        ("<unk>", 0.0),
        ("▁", -4.0),
        ("▁sea", -2.0),
        ("gull", -3.0),
        ("s", -2.5),
        ("▁se", -3.0),
        ("agulls", -9.0),
        ("é", -3.0),
    ];
    let pieces = pieces
        .iter()
        .map(|(piece, score)| ((*piece).to_owned(), *score))
        .collect();
    let mut normalizer: Vec<(char, Box<str>)> = vec![
        ('\n', " ".into()),
        ('\u{1}', "".into()),
        ('Ｓ', "s".into()),
        ('…', " s".into()),
    ];
    normalizer.sort();
    TextTokenizer::Unigram {
        normalizer,
        model: Box::new(Unigram::from(pieces, Some(0), false).unwrap()),
    }
}

#[test]
fn the_most_likely_pieces_win() {
    assert_eq!(unigram().ids("seagulls").unwrap(), [2, 3, 4]);
}

#[test]
fn runs_of_spaces_are_collapsed() {
    assert_eq!(unigram().ids("  sea \n\u{1} sea ").unwrap(), [2, 2]);
    assert_eq!(unigram().ids(" \n ").unwrap(), [0_u32; 0]);
}

#[test]
fn characters_go_through_the_normaliser() {
    assert_eq!(unigram().ids("Ｓ…").unwrap(), [1, 4, 1, 4]);
    assert_eq!(unigram().ids("e\u{301}").unwrap(), [1, 7]);
}

#[test]
fn runs_of_unknown_characters_are_one_token() {
    assert_eq!(unigram().ids("sea龜鶴").unwrap(), [2, 0]);
}
