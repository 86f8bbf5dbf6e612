use super::*;

fn strip(text: &str, size: usize) -> String {
    let mut reasoning = Reasoning::new();
    let chars: Vec<char> = text.chars().collect();
    let mut answer: String = chars
        .chunks(size)
        .map(|piece| reasoning.push(&piece.iter().collect::<String>()))
        .collect();
    answer.push_str(&reasoning.finish());
    answer
}

#[test]
fn only_reasoning_at_the_start_is_removed() {
    for (text, answer) in [
        ("<think>是否？ 1 < 2 </thin</think>Yes.", "Yes."),
        ("\n <think>\n\n</think>\nYes.", "\nYes."),
        ("Yes. <think>no</think>", "Yes. <think>no</think>"),
        ("<th", "<th"),
        ("<table>", "<table>"),
        ("", ""),
        ("<think>never ends", ""),
    ] {
        for size in 1..9 {
            assert_eq!(strip(text, size), answer, "{text:?} in pieces of {size}");
        }
    }
}

#[test]
fn white_space_before_the_text_is_looked_at_once() {
    let mut reasoning = Reasoning::new();
    for blanks in 1..=(256 << 10) {
        assert!(reasoning.push(" ").is_empty());
        // What is known to be white space is not looked at again.
        assert!(matches!(&reasoning, Reasoning::Start { held, blank } if (held.len(), *blank) == (blanks, blanks)));
    }
    assert_eq!(reasoning.push("<think>no</think>Yes."), "Yes.");
}
