//! The spans of calls, kept for tests to read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

type Fields = HashMap<&'static str, String>;

/// The fields of every span named `chat`.
#[derive(Clone, Default)]
pub(super) struct Spans(Arc<Mutex<Vec<(Id, Fields)>>>);

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
    /// Keeps the spans of this thread for as long as the guard lives.
    pub(super) fn keep() -> (Self, DefaultGuard) {
        let spans = Self::default();
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));
        (spans, guard)
    }

    /// A field of every span, oldest first; empty where it was not recorded.
    pub(super) fn of(&self, name: &str) -> Vec<String> {
        let spans = self.0.lock().unwrap();
        let field = |(_, fields): &(Id, Fields)| fields.get(name).cloned().unwrap_or_default();
        spans.iter().map(field).collect()
    }
}
