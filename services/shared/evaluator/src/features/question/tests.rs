use super::*;

#[test]
fn expected_kinds_of_answers_are_detected() {
    for (question, text, expected) in [
        ("When did the mill open in 1850 close?", "The mill of 1850 closed.", 0.0),
        ("When did the mill close?", "It closed in 1902.", 1.0),
        ("When did the mill close?", "It closed in May or June.", 1.0),
        ("How many mills are there?", "There are three mills.", 1.0),
        ("How many mills are there?", "There are mills.", 0.0),
        ("Who built the Rhine mill?", "The Rhine mill was built long ago.", 0.0),
        ("Who built the mill?", "It was built by Ada Miller.", 1.0),
        ("Who approves leave?", "Leave is approved by the team's manager.", 1.0),
        ("Who does the manager ask?", "The manager asks nobody.", 0.0),
        ("Where is the press?", "The press is in the cellar.", 1.0),
        ("Where is the press?", "The press is old.", 0.0),
        ("방앗간은 언제 닫았나요?", "방앗간은 1902년에 닫았다.", 1.0),
        ("水车何时关闭？", "水车关闭了。", 0.0),
        ("방앗간은 어디에 있나요?", "방앗간은 강가에 있습니다.", 1.0),
        ("방앗간은 어디에 있나요?", "방앗간은 1902년에 세워졌습니다.", 0.0),
        ("水車はどこですか？", "水車は1902年に建てられた。", 0.0),
        ("水車はどこですか？", "川辺", 1.0),
        ("What is it?", "It is a mill.", 0.5),
    ] {
        assert_eq!(Question::new(question).expects(text), expected, "{question} / {text}");
    }
}
