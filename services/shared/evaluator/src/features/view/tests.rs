use super::*;

fn lead(title: &str, text: &str) -> Option<String> {
    View::of_passage(PassageText {
        title,
        ..PassageText::from(text)
    })
    .lead()
}

#[test]
fn sentences_stand_behind_their_heading_or_else_the_title() {
    let below = lead("handbook.md", "## Leave\n\nEvery employee has 25 days. Ask early.");
    assert_eq!(below.as_deref(), Some("Leave:"));
    assert_eq!(lead("handbook.md", "Ask early.").as_deref(), Some("handbook.md:"));
    assert_eq!(lead("", "Ask early."), None);
}

#[test]
fn a_long_heading_is_cut() {
    let long = lead(&"휴가".repeat(100), "팀장이 승인합니다.");
    assert_eq!(long, Some(format!("{}:", "휴가".repeat(MAX_HEADING_CHARS / 2))));
}
