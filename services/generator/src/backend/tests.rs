use super::*;

#[test]
fn places_are_code_points() {
    let text = "É 높이 x";
    let range = text.find('높').unwrap()..text.find(" x").unwrap();
    assert_eq!(code_points(text, range), Span { start: 2, end: 4 });
}
