use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use emend_chassis::Identity;
use emend_core::{Code, Deadline, Scope, limits::MAX_RESULT_BYTES};
use emend_proto::v1::{self, Relevance, ReplayWalkRequest, ReplayWalkResponse, WalkResult, walk_event::Event};
use tokio_util::sync::CancellationToken;

use super::{Collected, check, replay};
use crate::{
    catalog::{Catalog, builtin},
    checks::GraphChecks,
    graph::{Graph, Options},
    walk::{
        Budget, Dependency, Events, Failure, Question, Services, WalkMetrics, WalkRequest,
        scripted::{Scripted, abstained, answer, documents_graded, down, passage, refined, useful},
        walk,
    },
    walk_request::Graphs,
};

const GRAPHS: [&str; 8] = [
    "plain-rag",
    "self-rag",
    "self-rag-final-grade",
    "self-rag-tutorial",
    "corrective-rag",
    "corrective-rag-binary",
    "self-corrective-rag",
    "self-reflective-rag",
];

/// The result of a walk with its record.
async fn recorded(graph: &str, services: &dyn Services) -> WalkResult {
    recorded_on(builtin(graph), services).await
}

async fn recorded_on(graph: Arc<Graph>, services: &dyn Services) -> WalkResult {
    let question = v1::Question {
        question: "Since when does the lighthouse stand?".to_owned(),
        graph: graph.name().to_owned(),
        record: true,
        ..v1::Question::default()
    };
    let walk_request = WalkRequest {
        options: Options::defaults(graph.options()),
        graph,
        is_own_graph: false,
        question: Question::new(question.clone()),
        budget: Budget::default(),
        caller: Identity::default(),
        record: Some(question),
        content: false,
    };
    let deadline = Deadline::after(Duration::from_secs(60));
    walk(
        walk_request,
        services,
        deadline,
        &Events::none(),
        &WalkMetrics::default(),
    )
    .await
    .unwrap()
}

fn scope() -> Scope {
    Scope {
        deadline: Deadline::after(Duration::from_secs(60)),
        cancel: CancellationToken::new(),
    }
}

async fn replayed(request: ReplayWalkRequest) -> Result<ReplayWalkResponse, tonic::Status> {
    replay(&Catalog::load(None).unwrap(), request, &scope()).await
}

async fn with_options(walk: &WalkResult, options: &[(&str, f64)]) -> ReplayWalkResponse {
    let options: HashMap<String, f64> = options
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    let request = ReplayWalkRequest {
        walk: Some(walk.clone()),
        options,
        ..ReplayWalkRequest::default()
    };
    replayed(request).await.unwrap()
}

async fn with_thresholds(walk: &WalkResult, thresholds: v1::GradeThresholds) -> ReplayWalkResponse {
    let request = ReplayWalkRequest {
        walk: Some(walk.clone()),
        thresholds: Some(thresholds),
        ..ReplayWalkRequest::default()
    };
    replayed(request).await.unwrap()
}

fn finished(response: &ReplayWalkResponse) -> Option<&WalkResult> {
    match response.events.last()?.event.as_ref()? {
        Event::Finished(result) => Some(result),
        _ => None,
    }
}

fn path(walk: &WalkResult) -> Vec<(&str, &str, &str)> {
    let steps = walk.steps.iter();
    steps
        .map(|step| (step.node.as_str(), step.outcome.as_str(), step.summary.as_str()))
        .collect()
}

/// Worlds in which walks take different ways.
fn worlds() -> Vec<Scripted> {
    vec![
        Scripted::default(),
        Scripted::default().grade_documents(|request| Ok(documents_graded(request, |_| Relevance::Irrelevant))),
        Scripted::default().grade_usefulness(|_| Ok(useful(false))),
        Scripted::default()
            .generate_nth(|nth| if nth < 3 { abstained() } else { answer("It stands.") })
            .search(|_| down(Dependency::WebSearch)),
        Scripted::default()
            .grade_documents(|_| down(Dependency::Grader))
            .rewrite(|_| down(Dependency::Rewriter)),
        Scripted::default().retrieve(first_fails()),
        Scripted::default().refine_knowledge(|request| Ok(refined(request, |id| id.ends_with('2')))),
    ]
}

/// Finds nothing the first time, fails the second, and finds a passage from then on.
fn first_fails() -> impl Fn(&v1::RetrieveRequest) -> Result<v1::RetrieveResponse, Failure> + Send + Sync {
    let calls = AtomicU32::new(0);
    move |_| match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Ok(v1::RetrieveResponse::default()),
        1 => down(Dependency::Retriever),
        _ => Ok(v1::RetrieveResponse {
            passages: vec![passage("late")],
        }),
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_walked_again_unchanged_is_the_same_walk() {
    for graph in GRAPHS {
        for (world, services) in worlds().iter().enumerate() {
            let walk = recorded(graph, services).await;
            let again = with_options(&walk, &[]).await;
            assert!(again.end.is_none(), "{graph} {world}: {:?}", again.end);
            assert!(again.turn.is_none(), "{graph} {world}: {:?}", again.turn);
            let result = finished(&again).unwrap();
            assert_eq!(path(result), path(&walk), "{graph} {world}");
            assert_eq!(
                (result.status, &result.answer, &result.documents, &result.usage),
                (walk.status, &walk.answer, &walk.documents, &walk.usage),
                "{graph} {world}"
            );
            assert!(result.record.is_none());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn fewer_retries_turn_the_path_where_they_are_used_up() {
    let services = Scripted::default().grade_usefulness(|_| Ok(useful(false)));
    let walk = recorded("self-rag", &services).await;
    let again = with_options(&walk, &[("max_retries", 0.0)]).await;
    let turn = again.turn.clone().unwrap();
    assert_eq!((turn.step, turn.node.as_str()), (4, "grade_generation"));
    assert_eq!(turn.outcome, turn.recorded_outcome);
    assert_ne!(turn.next, turn.recorded_next, "{turn:?}");
    assert!(again.end.is_none() && finished(&again).unwrap().steps.len() < walk.steps.len());
    let before = services.calls().len();
    assert_eq!(
        before,
        walk.record.unwrap().calls.len(),
        "no call but those of the recorded walk"
    );
}

#[tokio::test(start_paused = true)]
async fn a_threshold_turns_the_path_and_the_record_ends_where_a_new_query_is_needed() {
    let walk = recorded("self-corrective-rag", &Scripted::default()).await;
    let thresholds = v1::GradeThresholds {
        relevant: Some(0.6),
        ..v1::GradeThresholds::default()
    };
    let again = with_thresholds(&walk, thresholds).await;
    let turn = again.turn.clone().unwrap();
    assert_eq!(
        (turn.step, turn.recorded_outcome.as_str(), turn.outcome.as_str()),
        (2, "all_relevant", "none_relevant")
    );
    assert_eq!(
        (turn.recorded_next.as_str(), turn.next.as_str()),
        ("generate", "rewrite")
    );
    let end = again.end.clone().unwrap();
    assert_eq!(
        (end.step, end.node.as_str(), end.method.as_str()),
        (3, "rewrite", "Rewrite")
    );
    assert!(end.missing.starts_with("the record has no query"), "{}", end.missing);
    assert!(finished(&again).is_none());
}

#[tokio::test(start_paused = true)]
async fn the_thresholds_of_an_evaluation_turn_it() {
    let graded = |request: &v1::GradeDocumentsRequest| {
        let mut graded = documents_graded(request, |_| Relevance::Relevant);
        graded.set_evaluation(v1::Evaluation::Correct);
        Ok(graded)
    };
    let walk = recorded("corrective-rag", &Scripted::default().grade_documents(graded)).await;
    for (option, value, outcome) in [
        ("upper_threshold", 0.9, "ambiguous"),
        ("lower_threshold", 0.7, "incorrect"),
    ] {
        let again = with_options(&walk, &[(option, value)]).await;
        let turn = again.turn.unwrap();
        assert_eq!(
            (turn.recorded_outcome.as_str(), turn.outcome.as_str()),
            ("correct", outcome)
        );
        assert!(again.end.is_some(), "nothing was searched on the web");
    }
    let end = with_options(&walk, &[("top_k", 5.0)]).await.end.unwrap();
    assert_eq!(
        (end.step, end.missing.as_str()),
        (1, "asks for 5 passages, and the record has those of a call for 4")
    );
    let end = with_options(&walk, &[("top_k", 2.0)]).await.end.unwrap();
    assert!(end.missing.contains("not evaluated together"), "{}", end.missing);
}

#[tokio::test(start_paused = true)]
async fn fewer_strips_are_kept_by_their_scores() {
    let services = Scripted::default().grade_documents(|request| {
        let mut graded = documents_graded(request, |_| Relevance::Relevant);
        graded.set_evaluation(v1::Evaluation::Correct);
        Ok(graded)
    });
    let walk = recorded("corrective-rag", &services).await;
    let again = with_options(&walk, &[("max_strips", 2.0)]).await;
    let strips: Vec<_> = again
        .events
        .iter()
        .find_map(|event| match &event.event {
            Some(Event::StepFinished(finished)) => finished.step.as_ref().filter(|step| step.node == "refine"),
            _ => None,
        })
        .unwrap()
        .strips
        .iter()
        .map(|strip| (strip.kept, !strip.text.is_empty()))
        .collect();
    assert_eq!(strips, [(true, true), (true, true), (false, true), (false, true)]);
    assert_eq!(
        again.end.unwrap().method,
        "Generate",
        "no answer was written from these passages"
    );
    let thresholds = v1::GradeThresholds {
        strip: Some(0.95),
        ..v1::GradeThresholds::default()
    };
    assert_eq!(
        with_thresholds(&walk, thresholds).await.turn.unwrap().outcome,
        "nothing_kept"
    );
}

#[tokio::test(start_paused = true)]
async fn grades_of_answers_are_held_against_thresholds() {
    let walk = recorded("self-rag", &Scripted::default()).await;
    for thresholds in [
        v1::GradeThresholds {
            useful: Some(0.95),
            ..v1::GradeThresholds::default()
        },
        v1::GradeThresholds {
            fully: Some(0.95),
            partially: Some(0.95),
            ..v1::GradeThresholds::default()
        },
    ] {
        let turn = with_thresholds(&walk, thresholds).await.turn;
        // Scripted sentences have no probability of their own, so that their verdict stands.
        let expected = thresholds.useful.map(|_| "not_useful");
        assert_eq!(turn.as_ref().map(|turn| turn.outcome.as_str()), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn another_graph_is_walked_from_the_same_record() {
    let walk = recorded("self-rag", &Scripted::default()).await;
    let on = |graph: &str| ReplayWalkRequest {
        walk: Some(walk.clone()),
        graph: graph.to_owned(),
        ..ReplayWalkRequest::default()
    };
    let plain = replayed(on("plain-rag")).await.unwrap();
    assert_eq!((plain.turn.as_ref().unwrap().step, &plain.end), (1, &None));
    assert_eq!(finished(&plain).unwrap().graph, "plain-rag");
    let unknown = replayed(on("plain-rga")).await.unwrap_err();
    assert!(unknown.message().contains("plain-rag"), "{unknown}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_replayed_is_refused_by_field() {
    let walk = recorded("self-rag", &Scripted::default()).await;
    let refused = async |change: fn(&mut ReplayWalkRequest)| {
        let mut request = ReplayWalkRequest {
            walk: Some(walk.clone()),
            ..ReplayWalkRequest::default()
        };
        change(&mut request);
        let status = replayed(request).await.unwrap_err();
        assert_eq!(
            emend_chassis::code_of_grpc(status.code()),
            Code::InvalidArgument,
            "{status}"
        );
        status.message().to_owned()
    };
    for (message, says) in [
        (refused(|request| request.walk = None).await, "walk: is missing"),
        (
            refused(|request| request.walk.as_mut().unwrap().record = None).await,
            "walk.record: is missing",
        ),
        (
            refused(|request| request.walk.as_mut().unwrap().record.as_mut().unwrap().version = 2).await,
            "walk.record.version: is 2, and this service replays version 1",
        ),
        (
            refused(|request| {
                request.thresholds = Some(v1::GradeThresholds {
                    relevant: Some(1.5),
                    lower: Some(0.6),
                    upper: Some(0.5),
                    ..v1::GradeThresholds::default()
                });
            })
            .await,
            "thresholds.relevant: must be 0 to 1, is 1.5; thresholds.lower: must be at most `upper`",
        ),
        (
            refused(|request| request.options = HashMap::from([("max_retreis".to_owned(), 1.0)])).await,
            "max_retreis",
        ),
    ] {
        assert!(message.contains(says), "`{says}` is not in: {message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_is_cut_at_its_largest_size_and_says_so() {
    let services = Scripted::default().retrieve(|_| {
        let large = |n: u32| v1::Passage {
            text: format!("{n}").repeat(1 << 20),
            ..passage(&n.to_string())
        };
        Ok(v1::RetrieveResponse {
            passages: (1..=3).map(large).collect(),
        })
    });
    let walk = recorded("plain-rag", &services).await;
    let record = walk.record.as_ref().unwrap();
    assert!(record.cut && record.calls.is_empty());
    let end = with_options(&walk, &[]).await.end.unwrap();
    assert!(end.missing.ends_with("cut at its largest size"), "{}", end.missing);
}

/// Searches again and again.
const AGAIN: &str = "
name: again
description: Searches again and again.
options:
  rounds: {default: 3, min: 1, max: 2000, description: Searches.}
limits: {recursion: none}
start: retrieve
nodes:
  retrieve: {action: retrieve, top_k: 16}
  grade: {action: grade_documents}
edges:
  retrieve:
    passages: grade
    no_passages: finish(abstained)
    unavailable: finish(abstained)
  grade:
    all_relevant: &again [{to: retrieve, while: visits(retrieve) < rounds}, {else: finish(abstained)}]
    some_relevant: *again
    none_relevant: *again
    stalled: *again
    unavailable: *again
";

#[tokio::test(start_paused = true)]
async fn a_replay_of_many_large_steps_keeps_no_more_than_a_message_and_reads_each_call_once_a_step() {
    const ROUNDS: u16 = 1000;
    const PASSAGES: usize = 16;
    // Two texts by turns under the same ids, so that each step carries all of them.
    let turn = AtomicU32::new(0);
    let services = Scripted::default().retrieve(move |_| {
        let text = ["tide ", "ebb "][turn.fetch_add(1, Ordering::Relaxed) as usize % 2];
        let large = |n: usize| v1::Passage {
            text: text.repeat(3200),
            ..passage(&n.to_string())
        };
        Ok(v1::RetrieveResponse {
            passages: (0..PASSAGES).map(large).collect(),
        })
    });
    let graph = Arc::new(Graph::parse("again.yaml", AGAIN).unwrap());
    let mut walk = recorded_on(graph, &services).await;
    let record = walk.record.as_mut().unwrap();
    let calls = record.calls.clone();
    let (mut searches, mut grades): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| call.method == "Retrieve");
    searches.truncate(2);
    grades.truncate(2);
    record.calls = (0..ROUNDS / 2)
        .flat_map(|_| searches.iter().chain(&grades))
        .cloned()
        .collect();
    let request = ReplayWalkRequest {
        walk: Some(walk),
        graph_yaml: AGAIN.to_owned(),
        options: HashMap::from([("rounds".to_owned(), f64::from(ROUNDS))]),
        ..ReplayWalkRequest::default()
    };
    let graphs = Graphs {
        catalog: &Catalog::load(None).unwrap(),
        default: "",
        checks: &GraphChecks::default(),
    };
    let replay = check(request).unwrap().resolve(graphs, &scope()).await.unwrap();
    let (collected, missing) = replay.collect().await.unwrap();
    assert!(missing.is_none(), "{missing:?}");
    let Some(Event::Finished(result)) = &collected.events.last().unwrap().event else {
        panic!("the replay did not end");
    };
    let steps = collected
        .events
        .iter()
        .filter(|event| matches!(event.event, Some(Event::StepFinished(_))));
    assert_eq!(
        (steps.count(), result.steps.len()),
        (2 * usize::from(ROUNDS), 2 * usize::from(ROUNDS))
    );
    let step = 16 * 16_000 + 4096;
    assert!(
        collected.most <= MAX_RESULT_BYTES + step,
        "{} bytes were kept",
        collected.most
    );
    let looked_at = replay.services.looked_at();
    let a_round = 2 + PASSAGES;
    assert!(
        looked_at <= a_round * usize::from(ROUNDS),
        "{looked_at} calls were looked at"
    );
}

#[test]
fn events_of_text_are_left_out_of_what_is_too_large() {
    let delta = |text: String| v1::WalkEvent {
        event: Some(Event::TextDelta(v1::TextDelta { text, attempt: 1 })),
        ..v1::WalkEvent::default()
    };
    let mut collected = Collected::default();
    for _ in 0..100 {
        collected.push(delta("a".repeat(1 << 20)));
    }
    assert!(
        collected.most <= MAX_RESULT_BYTES + (1 << 20) + 100,
        "{}",
        collected.most
    );
    assert!(collected.events.is_empty() && collected.bytes == 0);
}
