use super::*;

fn condensed(history: &[&str], question: &str) -> String {
    let roles = [Role::User, Role::Assistant].into_iter().cycle();
    let history: Vec<ChatMessage> = history
        .iter()
        .zip(roles)
        .map(|(content, role)| ChatMessage {
            role: role.into(),
            content: (*content).to_owned(),
        })
        .collect();
    super::condensed(question, &history)
}

#[test]
fn a_standalone_question_is_unchanged() {
    let history = ["Where is the old mill?", "By the river Enz."];
    assert_eq!(
        condensed(&history, " How tall is Mount Kenya? "),
        " How tall is Mount Kenya? "
    );
    assert_eq!(condensed(&[], " How tall is it?"), " How tall is it?");
    assert_eq!(condensed(&["Why?", "Because."], "How tall is it?"), "How tall is it?");
}

#[test]
fn the_topic_is_appended_to_a_follow_up() {
    for (history, question, expected) in [
        (
            vec!["Where is the lighthouse of Cape Orna?", "It is in Velland."],
            "When was it built?",
            "When was it built? (Cape Orna, lighthouse, Velland)",
        ),
        (
            vec!["When did \"The Lighthouse of Arran\" come out?", "In 1961."],
            "and who wrote it?",
            "and who wrote it? (The Lighthouse of Arran)",
        ),
        (
            vec!["What heats the old mill?", "A boiler.", "Why?", "It was cheap."],
            "Who installed it?",
            "Who installed it? (heats, old, mill)",
        ),
        (
            vec!["Where is the old mill?", "By the river."],
            "Opening hours?",
            "Opening hours? (old, mill)",
        ),
        (
            vec!["Where is the old mill?", "By the river.", "Thanks!", "You are welcome."],
            "Opening hours?",
            "Opening hours? (old, mill)",
        ),
        (
            vec!["Hello!", "Ask me about Cape Orna."],
            "What is it?",
            "What is it? (Cape Orna)",
        ),
        (
            vec!["한라산의 높이는 얼마인가요?", "1947m입니다."],
            "그것은 어디에 있나요?",
            "그것은 어디에 있나요? (한라산, 높이)",
        ),
        (
            vec!["한라산은 어디에 있나요?", "제주도에 있습니다."],
            "높이가 얼마인가요?",
            "높이가 얼마인가요? (한라산)",
        ),
        (
            vec!["東京タワーはどこにありますか", "港区です。"],
            "それはいつ建てられましたか",
            "それはいつ建てられましたか（東京タワー）",
        ),
        (
            vec!["埃菲尔铁塔在哪里？", "在巴黎。"],
            "它是什么时候建成的？",
            "它是什么时候建成的？（埃菲尔铁塔）",
        ),
        (
            vec!["臺北101在哪裡？", "在信義區。"],
            "誰設計的？",
            "誰設計的？（101、臺北）",
        ),
    ] {
        assert_eq!(condensed(&history, question), expected);
    }
}

#[test]
fn the_topic_lasts_until_the_user_changes_it() {
    let mut history = vec![
        "What is the population of Seoul?",
        "About 9 million.",
        "And Busan?",
        "About 3 million.",
    ];
    assert_eq!(
        condensed(&history, "Who is its mayor?"),
        "Who is its mayor? (Busan, population)"
    );
    history.extend(["Who wrote Blue Rain?", "Nobody knows."]);
    assert_eq!(
        condensed(&history, "When was it written?"),
        "When was it written? (Blue Rain)"
    );
}

#[test]
fn a_condensed_question_has_the_length_limit_of_a_question() {
    let long = format!("{} it?", "why ".repeat(2045));
    assert!(long.len() > MAX_QUESTION_BYTES - 40);
    assert_eq!(
        condensed(&["Where is the lighthouse of Cape Orna?", "There."], &long),
        long
    );
    let wall = "燈".repeat(2700);
    assert_eq!(condensed(&[&wall, "好。"], "它在哪裡？"), "它在哪裡？");
}

#[test]
fn a_pronoun_is_replaced_by_the_only_person_named() {
    let history = ["Who wrote Blue Rain?", "Blue Rain was written by Nina Holt in 1984."];
    let two_names = condensed(&history, "Where was she born?");
    assert!(
        two_names.contains("Blue Rain") && two_names.contains("Nina Holt"),
        "{two_names}"
    );
    let history = ["Who wrote Dustland?", "It was written by Nina Holt in 1984."];
    assert_eq!(condensed(&history, "Where was she born?"), "Where was Nina Holt born?");
    assert_eq!(
        condensed(&history, "What is her best novel?"),
        "What is Nina Holt's best novel?"
    );
    assert_eq!(condensed(&history, "Who met her?"), "Who met Nina Holt?");
}

#[test]
fn one_name_replaces_another() {
    let history = ["What is the population of Seoul?", "About 9 million."];
    assert_eq!(condensed(&history, "And Busan?"), "What is the population of Busan?");
    assert_eq!(
        condensed(&history, "What about Busan?"),
        "What is the population of Busan?"
    );
}
