use super::*;

fn by_letters(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}

#[test]
fn a_part_has_the_tokens_of_its_words() {
    let text = "  one two\n\nthree 4 ";
    let tokens = Tokens::new(text, &by_letters, 1000, &|| false).unwrap();
    assert_eq!((&tokens).size(text), 12);
    assert_eq!((&tokens).size(&text[2..9]), 6);
    assert_eq!((&tokens).size(&text[9..11]), 0);
    assert_eq!((&tokens).size(&text[6..16]), 8);
    assert_eq!((&tokens).size(""), 0);
    // A word split in two counts on both sides, so the count is never too low.
    assert_eq!((&tokens).size(&text[3..9]), 6);
}

#[test]
fn a_slice_of_another_text_is_counted() {
    let tokens = Tokens::new("one", &by_letters, 1000, &|| false).unwrap();
    let elsewhere = String::from("four");
    assert_eq!((&tokens).size(&elsewhere), 4);
}

#[test]
fn text_without_spaces_is_counted_in_parts() {
    let text = "字".repeat(40);
    let tokens = Tokens::new(&text, &by_letters, 1000, &|| false).unwrap();
    assert_eq!((&tokens).size(&text), 40);
    assert_eq!((&tokens).size(&text[..3 * MAX_WORD]), MAX_WORD);
    assert!((&tokens).size(&text[..3]) <= MAX_WORD);
}

#[test]
fn too_many_bytes_never_fit() {
    let text = format!("a{}b", " ".repeat(100));
    let tokens = Tokens::new(&text, &by_letters, 50, &|| false).unwrap();
    assert_eq!((&tokens).size(&text), usize::MAX);
}

#[test]
fn each_word_is_counted_once() {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let count = |text: &str| {
        calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        by_letters(text)
    };
    let text = "again and again ".repeat(1000);
    let tokens = Tokens::new(&text, &count, usize::MAX, &|| false).unwrap();
    assert_eq!(tokens.between(0, text.len()), 13_000);
    assert_eq!(calls.into_inner(), 2);
}
