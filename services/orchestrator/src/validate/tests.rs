use emend_proto::v1::ChatMessage;

use super::*;

fn wrong(check: impl FnOnce(&mut Violations)) -> String {
    let mut violations = Violations::new();
    check(&mut violations);
    violations
        .finish()
        .err()
        .map_or(String::new(), |error| error.to_string())
}

fn asked(text: &str) -> v1::Question {
    v1::Question {
        question: text.to_owned(),
        ..v1::Question::default()
    }
}

#[test]
fn a_question_at_its_limits_is_fine_and_one_beyond_is_not() {
    let longest = "q".repeat(MAX_QUESTION_BYTES);
    let message = ChatMessage {
        role: chat_message::Role::User.into(),
        content: longest.clone(),
    };
    let mut at_limit = asked(&longest);
    at_limit.history = vec![message.clone(); MAX_HISTORY];
    at_limit.filter = (0..MAX_FILTERS).map(|at| (at.to_string(), String::new())).collect();
    assert_eq!(wrong(|violations| question(&at_limit, violations)), "");

    let mut beyond = at_limit;
    beyond.question.push('q');
    beyond.history.push(message);
    beyond.history[0].content.push('q');
    beyond.history[1].role = 0;
    beyond.filter.insert("more".to_owned(), String::new());
    beyond.conditions = vec![v1::FieldCondition::default()];
    let problems = wrong(|violations| question(&beyond, violations));
    for field in [
        "question",
        "filter",
        "conditions[0].field",
        "history",
        "history[0].content",
        "history[1].role",
    ] {
        assert!(problems.contains(&format!("question.{field}: ")), "{field}: {problems}");
    }
}

#[test]
fn a_budget_needs_a_step_and_some_time() {
    let none = v1::Budget {
        steps: Some(0),
        time: Some(Duration::ZERO.try_into().unwrap()),
        ..v1::Budget::default()
    };
    let problems = wrong(|violations| {
        budget(Some(&none), violations);
    });
    assert!(
        problems.contains("question.budget.steps: ") && problems.contains("question.budget.time: "),
        "{problems}"
    );
    assert_eq!(
        wrong(|violations| {
            budget(None, violations);
        }),
        ""
    );
}

#[test]
fn a_negative_time_is_refused_down_to_the_least() {
    for (seconds, nanos) in [(-1, 0), (i64::MIN, 0), (1, -1), (0, i32::MIN)] {
        let mut given = v1::Budget {
            time: Some(Duration::ZERO.try_into().unwrap()),
            ..v1::Budget::default()
        };
        let asked = given.time.as_mut().unwrap();
        (asked.seconds, asked.nanos) = (seconds, nanos);
        let problems = wrong(|violations| assert_eq!(budget(Some(&given), violations).time, None));
        assert!(
            problems.contains("question.budget.time: "),
            "{seconds} {nanos}: {problems}"
        );
    }
}

#[test]
fn a_graph_file_is_as_long_as_the_limit_at_most() {
    for (length, fits) in [(MAX_GRAPH_BYTES, true), (MAX_GRAPH_BYTES + 1, false)] {
        let mut violations = Violations::new();
        assert_eq!(graph_yaml("yaml", &"#".repeat(length), &mut violations), fits);
        assert_eq!(violations.is_empty(), fits);
    }
}

#[test]
fn every_bad_field_of_feedback_is_named_at_once() {
    let passage = |text: &str| v1::FeedbackPassage {
        text: text.to_owned(),
        ..v1::FeedbackPassage::default()
    };
    let fine = v1::Feedback {
        question: "How many?".to_owned(),
        answer: "25".to_owned(),
        verdict: FeedbackVerdict::Wrong.into(),
        passages: vec![passage("words")],
        ..v1::Feedback::default()
    };
    assert!(feedback(Some(fine.clone())).is_ok());
    assert!(
        feedback(None)
            .unwrap_err()
            .to_string()
            .contains("feedback: must be set")
    );
    let abstained = v1::Feedback {
        answer: String::new(),
        verdict: FeedbackVerdict::WronglyAbstained.into(),
        ..fine.clone()
    };
    assert!(feedback(Some(abstained)).is_ok());

    let large = "x".repeat(MAX_PASSAGE_BYTES);
    let mut bad = v1::Feedback {
        question: " ".to_owned(),
        answer: " ".to_owned(),
        verdict: FeedbackVerdict::Right.into(),
        status: 77,
        walk_id: "a\nb".to_owned(),
        comment: "x".repeat(MAX_COMMENT_BYTES + 1),
        passages: vec![passage(&large); 17],
    };
    bad.passages[3].text.push('x');
    bad.passages[4].text.clear();
    bad.passages[5].id = "x".repeat(MAX_PASSAGE_ID_BYTES + 1);
    let problems = feedback(Some(bad)).unwrap_err().to_string();
    for field in [
        "question",
        "answer",
        "status",
        "walk_id",
        "comment",
        "passages[3].text",
        "passages[4].text",
        "passages[5].id",
        "passages",
    ] {
        assert!(problems.contains(&format!("feedback.{field}: ")), "{field}: {problems}");
    }
    let unsaid = v1::Feedback { verdict: 9, ..fine };
    assert!(
        feedback(Some(unsaid))
            .unwrap_err()
            .to_string()
            .contains("feedback.verdict: ")
    );
}
