use super::*;

#[test]
fn a_question_is_divided_where_it_asks_for_another_thing() {
    for (question, expected) in [
        ("Who approves leave?", &["Who approves leave?"][..]),
        (
            "Who approves leave, and how many days of leave are there?",
            &["Who approves leave", "how many days of leave are there?"],
        ),
        (
            "Which release brought the list, and from when does the discount apply?",
            &["Which release brought the list", "from when does the discount apply?"],
        ),
        (
            "Where is the key kept? When does the office open?",
            &["Where is the key kept", "When does the office open?"],
        ),
        (
            "Wann öffnet das Büro und wer verwahrt den Schlüssel?",
            &["Wann öffnet das Büro", "wer verwahrt den Schlüssel?"],
        ),
        (
            "월급날은 언제고, 이전 날짜는 며칠로 바뀌었나요?",
            &["월급날은 언제고", "이전 날짜는 며칠로 바뀌었나요?"],
        ),
        (
            "办公室几点开门，午餐补贴是多少？",
            &["办公室几点开门", "午餐补贴是多少？"],
        ),
        (
            "minimum rustc for regex and for walkdir",
            &["minimum rustc for regex", "minimum rustc for walkdir"],
        ),
        (
            "Release dates of tower 0.5.3 and of axum 0.8.9?",
            &["Release dates of tower 0.5.3", "Release dates of axum 0.8.9"],
        ),
        (
            "How much is the dog fee in Bern and Thun?",
            &["How much is the dog fee in Bern", "How much is the dog fee in Thun"],
        ),
        (
            "Was kostet ein Zimmer für Gäste und für Mitglieder?",
            &[
                "Was kostet ein Zimmer für Gäste",
                "Was kostet ein Zimmer für Mitglieder",
            ],
        ),
        (
            "Combien coûte la livraison en Suisse et en France ?",
            &[
                "Combien coûte la livraison en Suisse",
                "Combien coûte la livraison en France",
            ],
        ),
        (
            "Où sont vendus les billets pour Paris en Mars 2024 ?",
            &["Où sont vendus les billets pour Paris en Mars 2024 ?"],
        ),
        // The same thing, or one compared with the other.
        (
            "terms for research and development",
            &["terms for research and development"],
        ),
        ("Who wrote Pride and Prejudice?", &["Who wrote Pride and Prejudice?"]),
        (
            "What is the difference between Rc and Arc?",
            &["What is the difference between Rc and Arc?"],
        ),
        // The second speaks of what the first names.
        (
            "What is a walk and how does it end?",
            &["What is a walk and how does it end?"],
        ),
        (
            "How and why did the office move?",
            &["How and why did the office move?"],
        ),
        (
            "Who wrote the handbook, which describes leave and travel?",
            &["Who wrote the handbook, which describes leave and travel?"],
        ),
        ("leave and travel costs", &["leave and travel costs"]),
        ("東京、大阪の支店はどこですか", &["東京、大阪の支店はどこですか"]),
        ("", &[""]),
    ] {
        assert_eq!(parts(question), expected, "{question}");
    }
}

#[test]
fn parts_are_few_and_of_short_questions() {
    let one = "Where is the red key of office four? ";
    assert_eq!(parts(&one.repeat(9)).len(), MAX_PARTS);
    assert_eq!(parts(&one.repeat(90)).len(), 1);
}
