use emend_eval::pairs::{self, Task};
use emend_orchestrator::feedback::KeptPassage;

use super::*;

fn kept(verdict: Verdict, answer: &str, passages: &[(&str, bool, Option<bool>)]) -> Kept {
    let passages = passages.iter().map(|(text, cited, relevant)| KeptPassage {
        id: String::new(),
        title: "Leave".to_owned(),
        text: (*text).to_owned(),
        cited: *cited,
        relevant: *relevant,
    });
    Kept {
        id: String::new(),
        recorded_at: String::new(),
        walk_id: String::new(),
        question: "How many days?".to_owned(),
        answer: answer.to_owned(),
        status: String::new(),
        verdict,
        comment: String::new(),
        passages: passages.collect(),
    }
}

#[test]
fn pairs_are_those_that_calibrate_reads() {
    let mut pairs = Pairs::default();
    pairs.add(kept(
        Verdict::Wrong,
        "24",
        &[("a", true, None), ("b", false, Some(false))],
    ));
    pairs.add(kept(
        Verdict::Right,
        "25",
        &[("c", true, None), ("d", false, None), ("b", true, None)],
    ));
    pairs.add(kept(
        Verdict::WronglyAbstained,
        "I do not know",
        &[("e", false, Some(true))],
    ));
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(write(folder.path(), "relevance", pairs.relevance.values()).unwrap(), 3);
    assert_eq!(
        write(folder.path(), "usefulness", pairs.usefulness.values()).unwrap(),
        2
    );

    let read = pairs::read(&folder.path().join("relevance/feedback.jsonl"), Task::Relevance).unwrap();
    let told: Vec<_> = read
        .iter()
        .map(|pair| (pair.judged.as_str(), pair.labels[0], pair.constructed))
        .collect();
    assert_eq!(told, [("b", false, false), ("c", true, true), ("e", true, false)]);
    assert_eq!(read[0].title, "Leave");
    let read = pairs::read(&folder.path().join("usefulness/feedback.jsonl"), Task::Usefulness).unwrap();
    let told: Vec<_> = read.iter().map(|pair| (pair.judged.as_str(), pair.labels[0])).collect();
    assert_eq!(told, [("24", false), ("25", true)]);
}

#[test]
fn what_is_said_last_holds() {
    let mut pairs = Pairs::default();
    pairs.add(kept(Verdict::Right, "25", &[("a", false, Some(true))]));
    pairs.add(kept(Verdict::Wrong, "25", &[("a", false, Some(false))]));
    assert_eq!((pairs.relevance.len(), pairs.usefulness.len()), (1, 1));
    assert!(pairs.relevance.values().all(|pair| !pair.relevant) && pairs.usefulness.values().all(|pair| !pair.useful));
}
