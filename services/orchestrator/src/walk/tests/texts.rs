//! A result carries every text once, and a reader finds it where the result says.

use std::collections::HashMap;

use emend_proto::v1::{GradedPassage, Passage, PassageContent, Relevance, Step, WalkResult, walk_event::Event};
use prost::Message as _;

use super::{
    super::scripted::{Call, Scripted, documents_graded, passage, useful},
    ask,
    events::{events, result},
};
use crate::catalog::Catalog;

/// The steps with every passage whole, read as the contract says.
pub(super) fn whole(steps: &[Step], documents: &[GradedPassage]) -> Vec<Step> {
    let documents: HashMap<&str, &Passage> = documents
        .iter()
        .filter_map(|graded| graded.passage.as_ref())
        .map(|passage| (passage.id.as_str(), passage))
        .collect();
    let mut seen: HashMap<String, Passage> = HashMap::new();
    let mut steps = steps.to_vec();
    for graded in steps.iter_mut().flat_map(|step| &mut step.passages) {
        let content = graded.content();
        let passage = graded.passage.as_mut().unwrap();
        let found = match content {
            PassageContent::EarlierStep => seen[&passage.id].clone(),
            PassageContent::Documents => documents[passage.id.as_str()].clone(),
            _ => passage.clone(),
        };
        *passage = Passage {
            score: passage.score,
            ..found
        };
        seen.insert(passage.id.clone(), passage.clone());
        graded.set_content(PassageContent::Whole);
    }
    steps
}

/// Services that make a walk correct itself as often as allowed: first no passage is relevant, then
/// no answer is useful.
fn stubborn() -> Scripted {
    Scripted::default()
        .grade_documents(|request| {
            Ok(documents_graded(request, |id| {
                match id.contains("query") || id.contains("web") {
                    true => Relevance::Relevant,
                    false => Relevance::Irrelevant,
                }
            }))
        })
        .grade_usefulness(|_| Ok(useful(false)))
}

fn times(result: &WalkResult, text: &str) -> usize {
    let bytes = result.encode_to_vec();
    bytes
        .windows(text.len())
        .filter(|window| *window == text.as_bytes())
        .count()
}

#[tokio::test(start_paused = true)]
async fn every_text_stands_once_in_a_result() {
    for graph in Catalog::load(None).unwrap().iter() {
        for services in [Scripted::default(), stubborn()] {
            let result = ask(graph.name(), &services).await;
            let shown = whole(&result.steps, &result.documents);
            let mut texts: Vec<String> = shown
                .iter()
                .flat_map(|step| &step.passages)
                .chain(&result.documents)
                .map(|graded| graded.passage.as_ref().unwrap().text.clone())
                .collect();
            texts.sort_unstable();
            texts.dedup();
            assert!(
                texts.len() >= 4 || graph.name() == "self-rag-final-grade",
                "{}",
                graph.name()
            );
            for text in texts {
                assert_eq!(times(&result, &text), 1, "{}: {text}", graph.name());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_the_result_sees_what_each_step_saw() {
    let services = stubborn();
    let result = ask("self-rag", &services).await;
    let graded: Vec<Vec<Passage>> = services
        .calls()
        .into_iter()
        .filter_map(|call| match call {
            Call::GradeDocuments(request) => Some(request.passages),
            _ => None,
        })
        .collect();
    let shown: Vec<Vec<Passage>> = whole(&result.steps, &result.documents)
        .into_iter()
        .filter(|step| step.node == "grade_documents")
        .map(|step| {
            step.passages
                .into_iter()
                .map(|graded| graded.passage.unwrap())
                .collect()
        })
        .collect();
    assert!(shown.len() > 2);
    assert_eq!(shown, graded);
}

#[tokio::test(start_paused = true)]
async fn the_events_carry_each_text_when_it_is_new() {
    let told = events("corrective-rag", &Scripted::default()).await;
    let steps: Vec<&Step> = told
        .iter()
        .filter_map(|event| match event {
            Event::StepFinished(finished) => finished.step.as_ref(),
            _ => None,
        })
        .collect();
    let text = |step: &Step| step.passages[0].passage.as_ref().unwrap().text.clone();
    let expected = passage(&format!("{}/1", super::QUESTION)).text;
    assert_eq!((steps[0].node.as_str(), text(steps[0])), ("retrieve", expected.clone()));
    assert_eq!((steps[1].node.as_str(), text(steps[1])), ("evaluate", String::new()));
    // A refinement shows its strips.
    let refine = steps.iter().find(|step| step.node.starts_with("refine")).unwrap();
    assert_eq!(refine.strips[0].text, expected);
    assert!(
        result(&told)
            .steps
            .iter()
            .flat_map(|step| &step.strips)
            .all(|strip| strip.text.is_empty())
    );
}
