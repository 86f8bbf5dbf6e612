//! The spans of a walk are its steps (R14).

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
    time::Duration,
};

use emend_core::Deadline;
use emend_proto::v1::{Passage, RetrieveResponse, WalkResult};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    instrument::WithSubscriber as _,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context, layer::SubscriberExt as _, registry::LookupSpan};

use super::{
    super::{
        Events, WalkMetrics, WalkRequest,
        scripted::{Scripted, passage, useful},
        walk,
    },
    QUESTION, walk_request,
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

/// A span's name, and its place among all.
struct Place(String, usize);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut recorded = Recorded::default();
        attributes.record(&mut recorded);
        let span = context.span(id).unwrap();
        let parent = span
            .parent()
            .and_then(|parent| Some(parent.extensions().get::<Place>()?.0.clone()));
        recorded.parent = parent.unwrap_or_default();
        let mut all = self.0.lock().unwrap();
        span.extensions_mut().insert(Place(recorded.name.clone(), all.len()));
        all.push(recorded);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let extensions = span.extensions();
        let Place(_, place) = extensions.get::<Place>().unwrap();
        values.record(&mut self.0.lock().unwrap()[*place]);
    }
}

async fn spans(services: Scripted, content: bool) -> (WalkResult, Vec<Recorded>) {
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    let asked = WalkRequest {
        content,
        ..walk_request("self-rag", &[])
    };
    let deadline = Deadline::after(Duration::from_secs(60));
    let result = walk(asked, &services, deadline, &Events::none(), &WalkMetrics::default())
        .with_subscriber(subscriber)
        .await
        .unwrap();
    let recorded = spans.0.lock().unwrap().clone();
    (result, recorded)
}

#[tokio::test(start_paused = true)]
async fn r14_the_spans_below_the_walk_are_its_steps() {
    let (result, spans) = spans(Scripted::default().grade_usefulness(|_| Ok(useful(false))), false).await;
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
    let (_, spans) = spans(Scripted::default(), false).await;
    for span in spans {
        assert!(!span.attributes.contains(QUESTION), "{}", span.attributes);
        assert!(!span.attributes.contains("harbour"), "{}", span.attributes);
        assert!(!span.attributes.contains("Answer 1."), "{}", span.attributes);
    }
}

#[tokio::test(start_paused = true)]
async fn r14_question_answer_and_passages_are_in_spans_where_that_is_switched_on_and_are_bounded() {
    let services = Scripted::default().retrieve(|request| {
        let long = |n: u32| Passage {
            text: format!("harbour {n} ").repeat(1000),
            ..passage(&n.to_string())
        };
        Ok(RetrieveResponse {
            passages: (1..=request.top_k.unwrap() * 10).map(long).collect(),
        })
    });
    let (_, spans) = spans(services, true).await;
    let walk = &spans[0].attributes;
    for said in ["gen_ai.input.messages", QUESTION, "gen_ai.output.messages", "Answer 1."] {
        assert!(walk.contains(said), "no {said} in {walk}");
    }
    let retrieval = &spans[1].attributes;
    assert!(
        retrieval.contains(&format!("gen_ai.retrieval.query.text={QUESTION:?}")),
        "{retrieval}"
    );
    assert!(
        retrieval.contains("harbour 20 ") && !retrieval.contains("harbour 21 "),
        "{}",
        retrieval.len()
    );
    assert!(retrieval.len() < 50_000, "{}", retrieval.len());
    assert!(!spans[2].attributes.contains("harbour"), "{}", spans[2].attributes);
}
