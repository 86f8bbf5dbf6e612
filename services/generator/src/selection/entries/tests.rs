use super::super::candidates;
use super::super::tests::{passage, score};
use super::*;

#[test]
fn a_sentence_that_introduces_a_list_is_quoted_with_its_entries() {
    let text = "Before you send it:\n\n1. Ask for a number.\n2. Rinse **the electrode**.\n\nThen wait.";
    let scores = [score(text, "Before you send it:", 0, 0.9)];
    let chosen = candidates("How is a meter returned?", &[passage(text)], &scores, 0.5, 0.5);
    let quoted = |most: usize| -> Vec<String> {
        let all = with_entries("", chosen.clone(), &[passage(text)], most);
        all.into_iter().map(|candidate| candidate.text).collect()
    };
    assert_eq!(
        quoted(10),
        ["Before you send it:", "1. Ask for a number.", "2. Rinse the electrode."]
    );
    assert_eq!(quoted(1), ["Before you send it:", "1. Ask for a number."]);
    let scores = [
        score(text, "Before you send it:", 0, 0.9),
        score(text, "1. Ask for a number.", 0, 0.8),
    ];
    let both = candidates("How is a meter returned?", &[passage(text)], &scores, 0.5, 0.5);
    assert_eq!(
        with_entries("", both, &[passage(text)], 10).len(),
        3,
        "an entry that was chosen too is quoted once"
    );
    let several =
        "These are kept:\n\n* 1.51 until March. (Rust 1.71)\n* 1.53 until May. Ask\n  us. (Rust 1.75)\n\nThe end.";
    let scores = [score(several, "These are kept:", 0, 0.9)];
    let chosen = candidates("Which ones are supported?", &[passage(several)], &scores, 0.5, 0.5);
    let all = with_entries("", chosen, &[passage(several)], 10);
    let all: Vec<&str> = all.iter().map(|candidate| candidate.text.as_str()).collect();
    assert_eq!(
        all.join(" "),
        "These are kept: 1.51 until March. (Rust 1.71) 1.53 until May. Ask us. (Rust 1.75)",
        "entries of several sentences are quoted whole"
    );
    let plain = "Send it. The return costs nothing:\n\nThen wait.";
    let scores = [score(plain, "The return costs nothing:", 0, 0.9)];
    let chosen = candidates("What does a repair cost?", &[passage(plain)], &scores, 0.5, 0.5);
    assert_eq!(chosen.len(), 1);
    assert_eq!(with_entries("", chosen, &[passage(plain)], 10).len(), 1);
}

#[test]
fn a_sentence_that_introduces_code_is_quoted_with_its_lines_as_they_are() {
    let quoted = |code: &str| -> Vec<String> {
        let text = format!("Fill the tank first. Empty it with:\n\n{code}\nThe pump *hums* then.");
        let scores = [score(&text, "Empty it with:", 0, 0.9)];
        let chosen = candidates("What does a sailor do?", &[passage(&text)], &scores, 0.5, 0.5);
        let all = with_entries("", chosen, &[passage(&text)], 10);
        assert!(
            all.iter()
                .skip(1)
                .all(|line| line.is_code && text[line.places[0].1.clone()] == line.text)
        );
        all.into_iter().map(|candidate| candidate.text).collect()
    };
    let lines = ["Empty it with:", "pump --drain tank_one", "# wait", "pump --stop *"];
    assert_eq!(
        quoted("```sh\npump --drain tank_one\n\n# wait\npump --stop *\n```\n"),
        lines
    );
    assert_eq!(
        quoted("    pump --drain tank_one\n    # wait\n\n    pump --stop *\n"),
        lines
    );
    let text = "Empty it with:\n\n```\npump --drain\npump --stop\n```";
    let scores = [
        score(text, "Empty it with:", 0, 0.9),
        score(text, "```\npump --drain\npump --stop\n```", 0, 0.8),
    ];
    let both = candidates("What does a sailor do?", &[passage(text)], &scores, 0.5, 0.5);
    assert_eq!(both.len(), 2);
    assert_eq!(
        with_entries("", both, &[passage(text)], 10).len(),
        3,
        "code that was chosen too is quoted once"
    );
    assert!(
        quoted("pump --drain tank_one\n").is_empty(),
        "a label that introduces nothing"
    );
}

#[test]
fn a_label_in_bold_is_quoted_with_what_stands_after_it() {
    let quoted = |text: &str| -> Vec<String> {
        let scores = [score(text, "**Error E7: no water.**", 0, 0.9)];
        let chosen = candidates("What to do about E7?", &[passage(text)], &scores, 0.5, 0.5);
        let all = with_entries("", chosen, &[passage(text)], 10);
        all.into_iter().map(|candidate| candidate.text).collect()
    };
    let all = ["Error E7: no water.", "Open the tap.", "Wait.", "Call us."];
    assert_eq!(quoted("**Error E7: no water.** Open the tap. Wait. Call us."), all[..3]);
    assert_eq!(
        quoted("- **Error E7: no water.**\n\n1. Open the tap.\n\nCall us.")[1..],
        ["1. Open the tap."]
    );
    assert_eq!(quoted("**Error E7: no water.**\n\nThe next page has others."), all[..1]);
    assert_eq!(quoted("**Error E7: no water.**\n**Error E8: no power.**"), all[..1]);
}

#[test]
fn the_steps_of_a_numbered_list_are_quoted_together_where_the_question_asks_how() {
    let text = "Two ways.\n\n1. Open the tap. Wait.\n\n2. Press start.\n3. Close the tap.\n\nThen call us.";
    let quoted = |question: &str, most: usize| -> Vec<String> {
        let scores = [score(text, "2. Press start.", 0, 0.9)];
        let chosen = candidates(question, &[passage(text)], &scores, 0.5, 0.5);
        let all = with_entries(question, chosen, &[passage(text)], most);
        all.into_iter().map(|candidate| candidate.text).collect()
    };
    assert_eq!(
        quoted("How is the still filled?", 10),
        ["1. Open the tap.", "Wait.", "2. Press start.", "3. Close the tap."]
    );
    assert_eq!(quoted("How is the still filled?", 3), ["2. Press start."]);
    assert_eq!(quoted("What starts the still?", 10), ["2. Press start."]);
}

#[test]
fn an_entry_of_a_list_comes_with_what_introduces_the_list() {
    let text = "# Costs\n\nWe pay for trains. What we do not pay:\n\n- Fines.\n- Parking\n  fees.\n\nAsk first.";
    let quoted = |sentence: &str| -> Vec<String> {
        let chosen = candidates(
            "Are fines paid?",
            &[passage(text)],
            &[score(text, sentence, 0, 0.9)],
            0.5,
            0.5,
        );
        let all = with_entries("Are fines paid?", chosen, &[passage(text)], 10);
        all.into_iter().map(|candidate| candidate.text).collect()
    };
    assert_eq!(quoted("- Fines."), ["What we do not pay:", "Fines."]);
    assert_eq!(quoted("- Parking\n  fees."), ["What we do not pay:", "Parking fees."]);
    assert_eq!(quoted("Ask first."), ["Ask first."]);
}
