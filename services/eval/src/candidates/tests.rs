use super::*;
use crate::data::Expect;

fn case(answers: &[&str]) -> Case {
    Case {
        question: "When was the boiler installed?".to_owned(),
        answers: answers.iter().map(|&answer| answer.to_owned()).collect(),
        gold_doc_ids: vec!["boiler".to_owned()],
        expect: Expect::Local,
        ..Case::default()
    }
}

fn passage(document: &str, text: &str) -> Passage {
    Passage {
        document_id: document.to_owned(),
        title: format!("the {document}"),
        text: text.to_owned(),
        ..Passage::default()
    }
}

#[test]
fn only_the_passage_of_a_right_document_with_the_answer_is_relevant() {
    let found = [
        passage("garden", "The garden is open."),
        passage("cellar", "The cellar was dug in 2019."),
        passage("boiler", "The boiler is loud."),
        passage("boiler", "It was installed in 2019."),
    ];
    let labels: Vec<(usize, bool)> = labelled(&case(&["2019"]), &found)
        .iter()
        .map(|candidate| (candidate.rank, candidate.relevant))
        .collect();
    // Whether the cellar answers, nobody knows.
    assert_eq!(labels, [(1, false), (3, false), (4, true)]);
}

#[test]
fn wrong_passages_have_no_right_sentence() {
    let found = [
        passage("garden", "The garden is open."),
        passage("boiler", "Since 2019."),
    ];
    let answers: Vec<Option<Vec<String>>> = labelled(&case(&["2019"]), &found)
        .into_iter()
        .map(|candidate| candidate.answers)
        .collect();
    assert_eq!(answers, [Some(Vec::new()), Some(vec!["2019".to_owned()])]);
}

#[test]
fn the_sentence_that_decides_yes_or_no_is_unknown() {
    let mut case = case(&["yes"]);
    case.answer_type = AnswerType::YesNo;
    let [candidate] = &labelled(&case, &[passage("boiler", "The boiler is loud.")])[..] else {
        panic!("one candidate");
    };
    assert!(candidate.relevant);
    assert_eq!(candidate.answers, None);
}

#[test]
fn pairs_of_a_question_belong_to_the_article_that_it_is_about() {
    let found = [
        passage("garden", "The garden is open."),
        passage("boiler", "Since 2019."),
    ];
    let article = |case: &Case| labelled(case, &found)[0].article.clone();
    assert_eq!(article(&case(&["2019"])), "the boiler");
    let mut unanswered = case(&[]);
    unanswered.gold_doc_ids.clear();
    assert_eq!(article(&unanswered), "the garden");
    unanswered.near_doc_ids = vec!["boiler".to_owned()];
    assert_eq!(article(&unanswered), "the boiler");
}

#[test]
fn a_title_has_the_headings_and_an_article_is_a_document() {
    let mut found = passage("boiler", "Since 2019.");
    found.headings = vec!["Page 3".to_owned(), "Repairs".to_owned()];
    let [candidate] = &labelled(&case(&["2019"]), &[found])[..] else {
        panic!("one candidate");
    };
    assert_eq!(candidate.title, "the boiler › Page 3 › Repairs");
    assert_eq!(candidate.article, "the boiler");
}

#[test]
fn no_passage_answers_a_foreign_question() {
    let found = [passage("boiler", "It was installed in 2019.")];
    let [candidate] = &wrong(&case(&["2019"]), &found)[..] else {
        panic!("one candidate");
    };
    assert!(!candidate.relevant);
    assert_eq!(candidate.answers, Some(Vec::new()));
}

#[test]
fn sentences_stand_behind_their_heading_and_say_whether_they_answer() {
    let found = [passage("boiler", "## Heating\n\nIt is loud. It was installed in 2019.")];
    let candidates = labelled(&case(&["2019"]), &found);
    let [section] = &candidates[0].sections[..] else {
        panic!("one section");
    };
    assert_eq!(section.heading.as_deref(), Some("Heating:"));
    let sentences = section.sentences.iter();
    let sentences: Vec<(&str, bool)> = sentences.map(|own| (own.text.as_str(), own.right)).collect();
    assert_eq!(sentences, [("It is loud.", false), ("It was installed in 2019.", true)]);
}
