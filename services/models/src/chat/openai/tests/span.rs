//! What a call says about itself in its span.

use std::collections::HashMap;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use super::standin::{Answer, Standin};
use super::*;

type Fields = HashMap<&'static str, String>;

/// Keeps the fields of every span named `chat`.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<(Id, Fields)>>>);

struct Visitor<'a>(&'a mut Fields);

impl Visit for Visitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _context: Context<'_, S>) {
        if attributes.metadata().name() == "chat" {
            let mut fields = Fields::new();
            attributes.record(&mut Visitor(&mut fields));
            self.0.lock().unwrap().push((id.clone(), fields));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        // An id is used again when its span is over.
        if let Some((_, fields)) = self.0.lock().unwrap().iter_mut().rev().find(|(other, _)| other == id) {
            values.record(&mut Visitor(fields));
        }
    }
}

impl Spans {
    fn of(&self, name: &str) -> Vec<Option<String>> {
        let spans = self.0.lock().unwrap();
        spans.iter().map(|(_, fields)| fields.get(name).cloned()).collect()
    }
}

#[tokio::test]
async fn a_span_says_how_the_form_of_the_reply_was_asked_for_and_with_which_prompt() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));
    let no = |what: &str| response("400 Bad Request", "", &format!("{what} is not supported"));
    let answers = vec![
        reply_with("{}"),
        no("json_schema"),
        reply_with("{}"),
        no("json_object"),
        reply_with("{}"),
        response("401 Unauthorized", "", ""),
    ];
    let server = Server::start(answers).await;
    let client = server.client(&["--llm-seed", "7", "--llm-frequency-penalty", "0.5"]);
    for _ in 0..4 {
        let request = ChatRequest {
            prompt: Some("grade_documents.ko@1".to_owned()),
            ..with_schema()
        };
        let _ = client.complete(request).await;
    }
    let format = |name: &str| Some(name.to_owned());
    assert_eq!(
        spans.of("emend.llm.response_format"),
        [format("json_schema"), format("json_object"), format("text"), None]
    );
    assert_eq!(
        spans.of("emend.prompt.version"),
        vec![format("grade_documents.ko@1"); 4]
    );
    assert_eq!(spans.of("gen_ai.request.seed")[0].as_deref(), Some("7"));
    assert_eq!(spans.of("gen_ai.request.frequency_penalty")[0].as_deref(), Some("0.5"));
}

#[tokio::test]
async fn each_model_of_a_chain_has_a_span_of_its_own() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));
    let down = response("503 Service Unavailable", "retry-after-ms: 0\r\n", "");
    let first = Standin::start(move |_| Answer::Bytes(down.clone())).await;
    let second = Standin::start(|_| Answer::Bytes(reply_with("ok"))).await;
    let chat = Chain::new(
        Arc::new(first.client(&[])),
        vec![Arc::new(second.client(&["--llm-model", "other"]))],
    );
    chat.complete(ask()).await.unwrap();
    let said = |name: &str| {
        spans
            .of(name)
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect::<Vec<_>>()
    };
    assert_eq!(said("otel.name"), ["chat small", "chat other"]);
    assert_eq!(said("gen_ai.request.model"), ["small", "other"]);
    assert_eq!(said("gen_ai.response.model"), ["", "small-2026"]);
    assert_eq!(said("error.type"), ["rate_limited", ""]);
}
