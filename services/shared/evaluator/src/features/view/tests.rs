use super::*;

fn headed(title: &str, text: &str) -> Vec<String> {
    let view = View::of_passage(PassageText { title, text, rank: 0 });
    (0..view.sentences.len()).map(|index| view.headed(index)).collect()
}

#[test]
fn a_sentence_stands_behind_its_heading_or_else_the_title() {
    let below = headed("handbook.md", "## Leave\n\nEvery employee has 25 days. Ask early.");
    assert_eq!(below[1..], ["Leave: Every employee has 25 days.", "Leave: Ask early."]);
    assert_eq!(headed("handbook.md", "Ask early."), ["handbook.md: Ask early."]);
    assert_eq!(headed("", "Ask early."), ["Ask early."]);
}

#[test]
fn a_row_says_its_columns_and_a_long_heading_is_cut() {
    let rows = headed("", "# Fees\n\n| Who | Fee |\n| --- | --- |\n| Adults | 9 |\n");
    assert!(
        rows.iter()
            .any(|row| row.starts_with("Fees: ") && row.contains("Fee: 9")),
        "{rows:?}"
    );
    let long = headed(&"휴가".repeat(100), "팀장이 승인합니다.");
    assert_eq!(
        long,
        [format!("{}: 팀장이 승인합니다.", "휴가".repeat(MAX_HEADING_CHARS / 2))]
    );
}
