//! The largest requests: what they make others wait for, and what they take.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::ThreadId;
use std::time::Duration;

use emend_core::{Deadline, Scope, Turns};
use emend_proto::v1::{GradeGroundednessRequest, GradeUsefulnessRequest, RefineKnowledgeRequest, Sentence};
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic_types::StatusExt;
use tracing::Instrument;
use tracing::instrument::WithSubscriber;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::{Gated, documents, embedded, llm, options, passage, soon};
use crate::error::GradeError;
use crate::{backend, groundedness};

/// Evidence at its largest: a hundred passages of 64 KiB, in sentences.
fn evidence() -> Vec<emend_proto::v1::Passage> {
    let sentence = "The keeper of the lighthouse counts ninety steps, and the gulls count him. ";
    let text = sentence.repeat((64 << 10) / sentence.len());
    (0..100).map(|place| passage(&format!("p{place}"), &text)).collect()
}

#[tokio::test]
async fn a_small_call_is_not_behind_the_largest() {
    let grader = embedded().await;
    let largest = GradeGroundednessRequest {
        question: "How many steps?".to_owned(),
        passages: evidence(),
        answer: "He counts ninety steps. The gulls count ninety keepers. ".repeat(500),
        sentences: Vec::new(),
    };
    let mut client = grader.client.clone();
    let held = tokio::spawn(async move { client.grade_groundedness(largest).await });
    // Each of these has a few pieces, and the largest has thousands; a piece of each is computed in turn.
    for _ in 0..20 {
        let small = GradeUsefulnessRequest {
            question: "How many steps?".to_owned(),
            answer: "Ninety steps.".to_owned(),
            ..GradeUsefulnessRequest::default()
        };
        soon(grader.client.clone().grade_usefulness(small)).await.unwrap();
        soon(
            grader
                .client
                .clone()
                .grade_documents(documents("How many steps?", &["Ninety."])),
        )
        .await
        .unwrap();
    }
    assert!(
        !held.is_finished(),
        "the largest call was not held long enough to show anything"
    );
    held.abort();
    // What it has admitted is given back: the work stopped with its caller.
    let refine = RefineKnowledgeRequest {
        question: "How many steps?".to_owned(),
        passages: vec![passage("a", "Ninety steps. A door.")],
        ..RefineKnowledgeRequest::default()
    };
    soon(grader.client.clone().refine_knowledge(refine)).await.unwrap();
}

/// Counts the pieces that are computed for a call: on which other thread its span is entered.
#[derive(Clone)]
struct Pieces {
    begun: Arc<AtomicUsize>,
    caller: ThreadId,
}

impl<S: tracing::Subscriber> Layer<S> for Pieces {
    fn on_enter(&self, _: &tracing::span::Id, _: Context<'_, S>) {
        if std::thread::current().id() != self.caller {
            self.begun.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// So many bytes that a piece of them is not a short one: it waits for those of the largest call.
const LONG_PIECE: usize = 16 << 20;

/// Runs a piece at each place for long ones at once. By then every long piece that had begun before has ended.
async fn take_all_places() {
    let places = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let barrier = Arc::new(Barrier::new(places));
    let waiting = (0..places).map(|_| {
        let barrier = Arc::clone(&barrier);
        Turns::shared().piece(LONG_PIECE, move || barrier.wait().is_leader())
    });
    soon(futures::future::try_join_all(waiting)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_largest_call_computes_no_further_piece_once_its_deadline_has_passed() {
    let begun = Arc::new(AtomicUsize::new(0));
    let pieces = Pieces {
        begun: Arc::clone(&begun),
        caller: std::thread::current().id(),
    };
    let subscriber = tracing::Dispatch::new(tracing_subscriber::registry().with(pieces));
    let span = tracing::dispatcher::with_default(&subscriber, || tracing::error_span!("the largest call"));
    let backend = backend::load(&options(&[])).await.unwrap();
    let largest = GradeGroundednessRequest {
        question: "How many steps?".to_owned(),
        passages: evidence(),
        answer: "He counts ninety steps. The gulls count ninety keepers. ".repeat(500),
        sentences: Vec::new(),
    };
    let scope = Scope {
        deadline: Deadline::after(Duration::from_secs(3600)),
        cancel: CancellationToken::new(),
    };
    let call = async move { groundedness::grade(&*backend, largest, &scope).await };
    let call = tokio::spawn(call.instrument(span).with_subscriber(subscriber));
    // It is in the middle of thousands of pieces.
    while begun.load(Ordering::SeqCst) < 20 {
        assert!(!call.is_finished());
        tokio::task::yield_now().await;
    }
    tokio::time::advance(Duration::from_secs(3600)).await;
    let error = soon(call).await.unwrap().unwrap_err();
    assert!(matches!(error, GradeError::OutOfTime { .. }), "{error:?}");
    // The threads of long pieces are not this runtime's: with its clock paused, it would not wait for them.
    tokio::time::resume();
    let before = begun.load(Ordering::SeqCst);
    take_all_places().await;
    let after = begun.load(Ordering::SeqCst);
    assert!(
        after - before <= 1,
        "{} pieces began after the deadline",
        after - before
    );
    for _ in 0..200 {
        Turns::shared().piece(LONG_PIECE, || ()).await.unwrap();
    }
    take_all_places().await;
    assert_eq!(begun.load(Ordering::SeqCst), after, "it goes on");
}

#[tokio::test]
async fn sentences_beyond_number_are_refused_by_their_number() {
    let mut grader = embedded().await;
    let mut request = GradeGroundednessRequest {
        question: "q".to_owned(),
        passages: vec![passage("a", "A door.")],
        answer: "a".to_owned(),
        sentences: vec![Sentence::default(); 3_000],
    };
    let status = grader.client.grade_groundedness(request.clone()).await.unwrap_err();
    let details = status.get_error_details();
    let violations = &details.bad_request().unwrap().field_violations;
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(violations[0].field, "sentences");
    assert!(
        violations[0].description.contains("at most 2000 sentences, are 3000"),
        "{violations:?}"
    );
    // Not each of them is named.
    assert!(violations.len() < 50, "{}", violations.len());

    request.sentences = Vec::new();
    request.answer = "Yes it is.\n\n".repeat(2001);
    let status = grader.client.grade_groundedness(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(
        status.message().contains("at most 2000 sentences, has 2001"),
        "{status:?}"
    );
}

#[tokio::test]
async fn a_model_is_asked_about_few_sentences_at_once_when_each_takes_much_evidence_along() {
    let chat = Gated::shut();
    let grader = llm(chat.clone(), &["--grade-cache-entries", "0"]).await;
    let request = GradeGroundednessRequest {
        question: "How many steps?".to_owned(),
        passages: evidence(),
        answer: (0..12).map(|number| format!("He counts {number} steps. ")).collect(),
        sentences: Vec::new(),
    };
    let mut client = grader.client.clone();
    let call = tokio::spawn(async move { client.grade_groundedness(request).await });
    // 32 MiB of prompts hold the evidence five times.
    chat.wait_for(5).await;
    // Whatever else was to be rendered is before these in the queue.
    for _ in 0..50 {
        Turns::shared().piece(LONG_PIECE, || ()).await.unwrap();
    }
    chat.wait_for(5).await;
    chat.open();
    let response = soon(call).await.unwrap().unwrap().into_inner();
    assert_eq!(
        (response.sentences.len(), response.usage.unwrap().model_calls),
        (12, 12)
    );
    assert_eq!(*chat.most.borrow(), 5);
}
