use super::*;

#[test]
fn a_short_page_is_one_window() {
    let text = "Fill it. Boil it.\n\nPour it.";
    assert_eq!(windows(text, 1500), vec![0..text.len()]);
    assert!(windows(" \n", 1500).is_empty());
}

#[test]
fn windows_end_with_sentences_and_overlap() {
    let text: String = (0..40).map(|n| format!("Sentence number {n} stands here. ")).collect();
    let found = windows(&text, 200);
    for window in &found {
        assert!(text[window.clone()].ends_with('.') && text[window.clone()].starts_with("Sentence"));
        assert!(text[window.clone()].chars().count() <= 200);
    }
    for pair in found.windows(2) {
        assert!(pair[1].start < pair[0].end && pair[1].start > pair[0].start);
    }
    assert_eq!(found.last().map(|window| window.end), Some(text.trim_end().len()));
}

#[test]
fn text_without_full_stops_is_split() {
    for text in ["word ".repeat(1000), "主".repeat(3000), "a".repeat(3000)] {
        let found = windows(&text, 500);
        assert!(found.len() > 3);
        assert!(found.iter().all(|window| text[window.clone()].chars().count() <= 500));
        assert_eq!(
            (found[0].start, found.last().map(|w| w.end)),
            (0, Some(text.trim_end().len()))
        );
    }
}
