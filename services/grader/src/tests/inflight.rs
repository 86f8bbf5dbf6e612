//! The same grade asked for by several at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use emend_core::{Deadline, Scope};
use emend_models::chat::{Chat, ChatDelta, ChatError, ChatReply, ChatRequest};
use emend_models::prompt::{PromptOptions, Prompts};
use emend_proto::v1::{Passage, Relevance};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio::sync::Notify;

use super::{Gated, documents, llm, options, passage, relevances, reply_of};
use crate::backend::{Backend, Grade, LlmBackend, LlmSettings, Strips, Ungraded};

/// A model whose first call waits to be let, and then says this; every other says "yes" at once.
#[derive(Clone)]
struct Hesitant {
    first: Result<&'static str, &'static str>,
    calls: Arc<AtomicUsize>,
    go: Arc<Notify>,
}

impl Hesitant {
    fn saying(first: Result<&'static str, &'static str>) -> Self {
        Self {
            first,
            calls: Arc::default(),
            go: Arc::default(),
        }
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn grader(&self, flags: &[&str]) -> LlmBackend {
        let settings = LlmSettings::from_options(&options(flags).llm).unwrap();
        let prompts = Prompts::load(&PromptOptions::default()).unwrap();
        LlmBackend::new(Arc::new(self.clone()), prompts, settings)
    }
}

impl Chat for Hesitant {
    fn model(&self) -> &str {
        "hesitant"
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>> {
        async move {
            request.receipt.called();
            let mut said = Ok("yes");
            if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
                self.go.notified().await;
                said = self.first;
            }
            let text = said.map_err(|reason| ChatError::Unavailable {
                model: "hesitant".to_owned(),
                reason: reason.to_owned(),
            })?;
            Ok(reply_of("hesitant", text))
        }
        .boxed()
    }

    fn stream(&self, _request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>> {
        unreachable!("grades are not streamed")
    }
}

/// A scope that ends before the one of tests does.
fn short() -> Scope {
    Scope {
        deadline: Deadline::after(Duration::from_secs(5)),
        ..emend_testkit::scope()
    }
}

fn passages(texts: &[&str]) -> Vec<Passage> {
    texts.iter().map(|text| passage(text, text)).collect()
}

#[tokio::test]
async fn two_callers_pay_for_one_grade_once() {
    let chat = Gated::shut();
    let mut grader = llm(chat.clone(), &[]).await;
    let ask = |texts: &'static [&str]| {
        let mut client = grader.client.clone();
        tokio::spawn(async move {
            let response = client
                .grade_documents(documents("Which?", texts))
                .await
                .unwrap()
                .into_inner();
            (response.grades.len(), response.usage.unwrap())
        })
    };
    let first = ask(&["alpha", "alpha"]);
    chat.wait_for(1).await;
    // The model is asked about the last passage after the first is known to be waited for.
    let second = ask(&["alpha", "beta"]);
    chat.wait_for(2).await;
    chat.open();
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!((first.0, first.1.model_calls, first.1.input_tokens), (2, 1, 10));
    assert_eq!((second.0, second.1.model_calls, second.1.input_tokens), (2, 1, 10));
    let kept = relevances(&mut grader, documents("Which?", &["alpha", "beta"])).await;
    assert_eq!(kept, (vec![Relevance::Relevant; 2], 0));
}

#[tokio::test]
async fn a_caller_that_leaves_takes_no_grade_from_another() {
    let chat = Hesitant::saying(Ok("never"));
    let grader = chat.grader(&[]);
    let (scope, passages) = (emend_testkit::scope(), passages(&["alpha"]));
    let mut first = grader.relevance("Which?", &passages, &scope);
    let mut second = grader.relevance("Which?", &passages, &scope);
    assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
    assert_eq!(chat.calls(), 1);
    drop(first);
    let graded = second.await;
    assert_eq!((graded.grades, graded.usage.model_calls), (vec![Grade::Graded(1.0)], 1));
    assert_eq!(chat.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_has_more_time_asks_when_who_asked_has_none_left() {
    let chat = Hesitant::saying(Ok("never"));
    let grader = chat.grader(&[]);
    let (little, much, passages) = (short(), emend_testkit::scope(), passages(&["alpha"]));
    let (first, second) = tokio::join!(
        grader.relevance("Which?", &passages, &little),
        grader.relevance("Which?", &passages, &much)
    );
    assert_eq!(first.grades, [Grade::Ungraded(Ungraded::OutOfTime)]);
    assert_eq!(second.grades, [Grade::Graded(1.0)]);
    assert_eq!(
        (first.usage.model_calls, second.usage.model_calls, chat.calls()),
        (1, 1, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn who_has_less_time_stops_waiting_and_disturbs_nobody() {
    let chat = Hesitant::saying(Ok("no"));
    let grader = chat.grader(&[]);
    let (little, much, passages) = (short(), emend_testkit::scope(), passages(&["alpha"]));
    let mut first = grader.relevance("Which?", &passages, &much);
    assert!((&mut first).now_or_never().is_none());
    let second = grader.relevance("Which?", &passages, &little).await;
    assert_eq!(second.grades, [Grade::Ungraded(Ungraded::OutOfTime)]);
    chat.go.notify_one();
    let first = first.await;
    assert_eq!(first.grades, [Grade::Graded(0.0)]);
    assert_eq!(
        (first.usage.model_calls, second.usage.model_calls, chat.calls()),
        (1, 0, 1)
    );
}

#[tokio::test]
async fn a_failure_is_shared_and_not_kept() {
    for first in [Err("down"), Ok("perhaps")] {
        let chat = Hesitant::saying(first);
        let grader = chat.grader(&[]);
        let (scope, passages) = (emend_testkit::scope(), passages(&["alpha"]));
        let mut one = grader.relevance("Which?", &passages, &scope);
        let mut other = grader.relevance("Which?", &passages, &scope);
        assert!((&mut one).now_or_never().is_none() && (&mut other).now_or_never().is_none());
        chat.go.notify_one();
        let (one, other) = (one.await, other.await);
        assert_eq!(one.grades, other.grades);
        assert!(matches!(one.grades[..], [Grade::Ungraded(_)]), "{one:?}");
        assert_eq!((one.usage.model_calls, other.usage.model_calls), (1, 0));
        let again = grader.relevance("Which?", &passages, &scope).await;
        assert_eq!((again.grades, again.usage.model_calls), (vec![Grade::Graded(1.0)], 1));
    }
}

#[tokio::test]
async fn lists_are_shared_as_a_whole() {
    let chat = Hesitant::saying(Ok("1. yes\n2. no"));
    let grader = chat.grader(&["--llm-batch-grading", "5"]);
    let (scope, passages) = (emend_testkit::scope(), passages(&["alpha", "beta"]));
    let mut one = grader.relevance("Which?", &passages, &scope);
    let mut other = grader.relevance("Which?", &passages, &scope);
    assert!((&mut one).now_or_never().is_none() && (&mut other).now_or_never().is_none());
    chat.go.notify_one();
    let (one, other) = (one.await, other.await);
    assert_eq!(one.grades, [Grade::Graded(1.0), Grade::Graded(0.0)]);
    assert_eq!(other.grades, one.grades);
    assert_eq!((one.usage.model_calls, other.usage.model_calls), (1, 0));

    let chat = Hesitant::saying(Ok("1. yes\n2. no"));
    let grader = chat.grader(&[]);
    let strips = [Strips {
        title: "",
        texts: vec!["alpha", "beta"],
    }];
    let mut one = grader.strips("Which?", &strips, &scope);
    let mut other = grader.strips("Which?", &strips, &scope);
    assert!((&mut one).now_or_never().is_none() && (&mut other).now_or_never().is_none());
    chat.go.notify_one();
    let (one, other) = (one.await, other.await);
    assert_eq!(other.grades, one.grades);
    assert_eq!(
        (one.usage.model_calls, other.usage.model_calls, chat.calls()),
        (1, 0, 1)
    );
}

#[tokio::test]
async fn everybody_asks_where_nothing_is_kept() {
    let chat = Hesitant::saying(Ok("yes"));
    let grader = chat.grader(&["--grade-cache-entries", "0"]);
    let (scope, passages) = (emend_testkit::scope(), passages(&["alpha"]));
    let mut first = grader.relevance("Which?", &passages, &scope);
    assert!((&mut first).now_or_never().is_none());
    let second = grader.relevance("Which?", &passages, &scope).await;
    assert_eq!((second.usage.model_calls, chat.calls()), (1, 2));
}
