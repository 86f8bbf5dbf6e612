use emend_proto::v1::WalkStatus;

use super::*;
use crate::{
    data::Expect,
    score::tests::{case, result},
};
use emend_proto::v1::{Passage, RetrieveRequest};

/// Answers `graph: question`, and finds nothing; the graph `broken` fails.
pub(crate) struct Scripted;

impl System for Scripted {
    async fn ask(&self, question: Question) -> Result<WalkResult, Status> {
        match question.graph.as_str() {
            "broken" => Err(Status::unavailable("gone")),
            graph => {
                let answer = format!("{graph}: {}", question.question);
                Ok(result(WalkStatus::Answered, &answer, 1))
            }
        }
    }
}

impl Searcher for Scripted {
    async fn retrieve(&self, request: RetrieveRequest) -> Result<Vec<Passage>, Status> {
        let passage = |id: &str| Passage {
            document_id: format!("{id} of {}", request.query),
            ..Passage::default()
        };
        Ok(vec![passage("first"), passage("second")])
    }
}

fn set() -> QuestionSet {
    let mut local = case("1", "en", Expect::Local, &["1?"]);
    local.gold_doc_ids = vec!["second of 1?".to_owned()];
    QuestionSet {
        name: "made-up".to_owned(),
        cases: vec![local, case("2", "en", Expect::None, &[])],
        local: "made-up.jsonl".into(),
        web: None,
    }
}

fn plan(graphs: &[&str]) -> Result<Plan> {
    let graphs = graphs.iter().map(|&graph| graph.to_owned()).collect();
    Plan::new(graphs, NonZeroUsize::MIN, CancellationToken::new())
}

async fn measured<'a>(plan: &'a Plan, set: &'a QuestionSet, out: &mut Vec<u8>) -> Measured<'a> {
    let mut measured = Measured::new(plan);
    let stored = stored(set, 2, 1, 1, Duration::ZERO);
    measured
        .add(&Scripted, set, stored, "eval-made-up", Some(out), &())
        .await
        .unwrap();
    measured
}

#[tokio::test]
async fn every_question_is_asked_of_every_graph() {
    let (plan, set) = (plan(&["plain", "broken"]).unwrap(), set());
    let mut out = Vec::new();
    let measured = measured(&plan, &set, &mut out).await;
    let walks: Vec<_> = measured
        .walks
        .iter()
        .map(|walk| (walk.graph, walk.case.id.as_str(), walk.correct))
        .collect();
    assert_eq!(
        walks,
        [
            ("plain", "1", true),
            ("plain", "2", false),
            ("broken", "1", false),
            ("broken", "2", false)
        ]
    );
    assert_eq!(measured.ranked.len(), 1, "questions whose answer is in the corpus");
    assert_eq!(measured.ranked[0].rank, Ok(Some(1)));
    let lines = String::from_utf8(out).unwrap();
    assert_eq!(lines.lines().count(), 4);
    assert!(
        lines.lines().all(|line| line.contains("\"set\":\"made-up\"")),
        "{lines}"
    );
    assert!(measured.has_graph_without_result());
}

#[tokio::test]
async fn a_stop_before_the_first_question_leaves_nothing() {
    let (plan, set) = (plan(&["plain"]).unwrap(), set());
    plan.stop.cancel();
    let measured = measured(&plan, &set, &mut Vec::new()).await;
    assert!(measured.is_empty() && measured.ranked.is_empty());
}

#[test]
fn a_graph_is_named_once() {
    let error = plan(&["plain", "self", "plain"]).unwrap_err().to_string();
    assert!(error.contains("`plain`"), "{error}");
}

#[test]
fn a_limit_says_what_was_there() {
    let mut sets = [set()];
    assert_eq!(limit(&mut sets, NonZeroUsize::new(1)), [2]);
    assert_eq!(sets[0].cases.len(), 1);
    assert_eq!(limit(&mut sets, None), [1]);
}
