//! The spans of a walk are its steps (R14).

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
    time::Duration,
};

use emend_proto::v1::WalkResult;
use tracing::{
    Subscriber,
    field::{Field, Visit},
    instrument::WithSubscriber as _,
    span::{Attributes, Id},
};
use tracing_subscriber::{Layer, layer::Context, layer::SubscriberExt as _, registry::LookupSpan};

use super::{
    super::scripted::{Scripted, useful},
    QUESTION, ask_with,
};

/// Every span's name, its parent's, and all its attributes, in order of creation.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Recorded>>>);

#[derive(Clone, Default)]
struct Recorded {
    name: String,
    parent: String,
    attributes: String,
}

impl Visit for Recorded {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.attributes.push_str(&format!("{}={value:?} ", field.name()));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "otel.name" {
            value.clone_into(&mut self.name);
        }
        self.record_debug(field, &value);
    }
}

struct Name(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut recorded = Recorded::default();
        attributes.record(&mut recorded);
        let span = context.span(id).unwrap();
        let parent = span
            .parent()
            .and_then(|parent| Some(parent.extensions().get::<Name>()?.0.clone()));
        recorded.parent = parent.unwrap_or_default();
        span.extensions_mut().insert(Name(recorded.name.clone()));
        self.0.lock().unwrap().push(recorded);
    }
}

async fn spans(services: Scripted) -> (WalkResult, Vec<Recorded>) {
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    let result = ask_with("self-rag", &[], &services, Duration::from_secs(60))
        .with_subscriber(subscriber)
        .await
        .unwrap();
    let recorded = spans.0.lock().unwrap().clone();
    (result, recorded)
}

#[tokio::test(start_paused = true)]
async fn r14_the_spans_below_the_walk_are_its_steps() {
    let (result, spans) = spans(Scripted::default().grade_usefulness(|_| Ok(useful(false)))).await;
    assert_eq!(
        (spans[0].name.as_str(), spans[0].parent.as_str()),
        ("invoke_workflow self-rag", "")
    );
    let steps: Vec<_> = spans[1..].iter().map(|span| span.name.as_str()).collect();
    let nodes: Vec<_> = result.steps.iter().map(|step| step.node.as_str()).collect();
    assert_eq!(steps, nodes);
    for (span, step) in spans[1..].iter().zip(&result.steps) {
        assert_eq!(span.parent, "invoke_workflow self-rag");
        assert!(
            span.attributes.contains(&format!("emend.step.number={} ", step.number)),
            "{}",
            span.attributes
        );
        assert!(
            span.attributes.contains(&format!("emend.action={:?} ", step.action)),
            "{}",
            span.attributes
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r14_neither_question_nor_passages_are_in_spans() {
    let (_, spans) = spans(Scripted::default()).await;
    for span in spans {
        assert!(!span.attributes.contains(QUESTION), "{}", span.attributes);
        assert!(!span.attributes.contains("harbour"), "{}", span.attributes);
    }
}
