//! What a reader of the events is told.

use std::time::Duration;

use emend_chassis::EventSender;
use emend_core::Deadline;
use emend_proto::v1::{AskStreamResponse, Support, WalkResult, walk_event::Event};
use futures::StreamExt as _;

use super::{
    super::{
        Events, WalkError, WalkMetrics,
        scripted::{Scripted, abstained, supported, useful},
        walk,
    },
    texts::whole,
    walk_request,
};

/// Walks and returns the events, without their times.
pub(super) async fn events(graph: &str, services: &Scripted) -> Vec<Event> {
    let (sender, events) = EventSender::<AskStreamResponse>::channel(1);
    let telling = Events::to(sender);
    let deadline = Deadline::after(Duration::from_secs(60));
    let metrics = WalkMetrics::default();
    let walking = async {
        let ended = walk(walk_request(graph, &[]), services, deadline, &telling, &metrics).await;
        drop(telling);
        ended
    };
    let (ended, events) = tokio::join!(walking, events.collect::<Vec<_>>());
    ended.unwrap();
    events
        .into_iter()
        .map(|response| response.event.unwrap().event.unwrap())
        .collect()
}

/// Events as one word each.
fn words(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .map(|event| match event {
            Event::StepStarted(started) => format!("> {}", started.node),
            Event::StepFinished(finished) => format!("= {}", finished.step.as_ref().unwrap().outcome),
            Event::EdgeTaken(edge) => format!("-> {}", edge.to),
            Event::TextDelta(delta) => format!("text {}", delta.attempt),
            Event::SentenceCommitted(committed) => format!("commit {}", committed.attempt),
            Event::SentenceRetracted(retracted) => format!("retract {}", retracted.attempt),
            Event::Finished(result) => format!("finished {}", result.status().as_str_name()),
        })
        .collect()
}

pub(super) fn result(events: &[Event]) -> &WalkResult {
    match events.last() {
        Some(Event::Finished(result)) => result,
        other => panic!("the last event is {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_walk_is_told_step_by_step_and_ends_with_the_result() {
    let events = events("self-corrective-rag", &Scripted::default()).await;
    assert_eq!(
        words(&events),
        [
            "> retrieve",
            "= passages",
            "-> grade_documents",
            "> grade_documents",
            "= all_relevant",
            "-> generate",
            "> generate",
            "text 1",
            "text 1",
            "= generated",
            "-> grade_generation",
            "> grade_generation",
            "commit 1",
            "= useful",
            "-> finalize_response",
            "> finalize_response",
            "= verified",
            "-> finish",
            "finished WALK_STATUS_ANSWERED",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_steps_of_the_events_are_the_steps_of_the_result() {
    let services = Scripted::default().grade_usefulness(|_| Ok(useful(false)));
    let events = events("self-rag", &services).await;
    let steps: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::StepFinished(finished) => finished.step.clone(),
            _ => None,
        })
        .collect();
    let result = result(&events);
    assert_eq!(whole(&steps, &[]), whole(&result.steps, &result.documents));
}

#[tokio::test(start_paused = true)]
async fn an_unsupported_sentence_is_retracted_once_and_before_the_next_text() {
    let services = Scripted::default().grade_groundedness(|request| {
        let support = if request.answer == "Answer 1." {
            Support::NotSupported
        } else {
            Support::FullySupported
        };
        Ok(supported(request, support))
    });
    let told: Vec<_> = words(&events("self-corrective-rag", &services).await)
        .into_iter()
        .filter(|word| word.starts_with(['t', 'c']) || word.starts_with("retract"))
        .collect();
    assert_eq!(told, ["text 1", "text 1", "retract 1", "text 2", "text 2", "commit 2"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_replaced_is_retracted_although_it_was_supported() {
    let services = Scripted::default().grade_usefulness(|request| Ok(useful(request.answer != "Answer 1.")));
    let told: Vec<_> = words(&events("self-corrective-rag", &services).await)
        .into_iter()
        .filter(|word| word.starts_with(['t', 'c']) || word.starts_with("retract"))
        .collect();
    assert_eq!(
        told,
        [
            "text 1",
            "text 1",
            "commit 1",
            "retract 1",
            "text 2",
            "text 2",
            "commit 2"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_the_result_is_retracted_at_the_end() {
    let services = Scripted::default()
        .grade_usefulness(|_| Ok(useful(false)))
        .generate_nth(|number| match number {
            1 => super::super::scripted::answer("It was built in 1790."),
            _ => abstained(),
        });
    let events = events("self-rag", &services).await;
    assert_eq!(words(&events).last().unwrap(), "finished WALK_STATUS_ABSTAINED");
    let retracted = words(&events).iter().filter(|word| *word == "retract 1").count();
    assert_eq!(retracted, 1);
}

#[tokio::test(start_paused = true)]
async fn the_condition_of_an_edge_is_told_as_the_graph_words_it() {
    let services = Scripted::default().grade_groundedness(|request| {
        let support = if request.answer == "Answer 1." {
            Support::NotSupported
        } else {
            Support::FullySupported
        };
        Ok(supported(request, support))
    });
    let conditions: Vec<_> = events("self-rag", &services)
        .await
        .into_iter()
        .filter_map(|event| match event {
            Event::EdgeTaken(edge) if !edge.condition.is_empty() => Some((edge.from, edge.outcome, edge.condition)),
            _ => None,
        })
        .collect();
    assert_eq!(
        conditions,
        [(
            "grade_generation".to_owned(),
            "not_supported".to_owned(),
            "visits(generate) <= max_retries".to_owned()
        )]
    );
}

#[tokio::test(start_paused = true)]
async fn r12_a_reader_that_is_gone_ends_the_walk() {
    let (sender, reader) = EventSender::<AskStreamResponse>::channel(1);
    drop(reader);
    let services = Scripted::default();
    let ended = walk(
        walk_request("self-rag", &[]),
        &services,
        Deadline::after(Duration::from_secs(60)),
        &Events::to(sender),
        &WalkMetrics::default(),
    )
    .await;
    assert_eq!(ended, Err(WalkError::CallerGone));
    assert!(services.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn r12_dropping_the_walk_stops_the_calls_it_waits_for() {
    use super::super::services::Dependency;
    let services = Scripted::default().takes(Dependency::Retriever, Duration::from_secs(3600));
    let walking = super::ask_with("self-rag", &[], &services, Duration::from_secs(7200));
    let stopped = tokio::time::timeout(Duration::from_secs(1), walking).await;
    assert!(stopped.is_err());
    tokio::time::sleep(Duration::from_secs(7200)).await;
    assert_eq!(
        services.calls().len(),
        1,
        "nothing was called after the walk was dropped"
    );
}
