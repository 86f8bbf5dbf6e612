//! The spans of a name, kept for tests to read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

type Fields = HashMap<&'static str, String>;

/// The fields of every span of one name.
#[derive(Clone)]
pub struct Spans {
    name: &'static str,
    kept: Arc<Mutex<Vec<(Id, Fields)>>>,
}

thread_local! {
    static KEPT: RefCell<Option<Spans>> = const { RefCell::new(None) };
}

/// Hands a span to the [`Spans`] of its thread. It is the one subscriber of all threads: with one a thread, a span that a
/// thread without any opens first is switched off everywhere.
struct ByThread;

/// Ends the keeping of spans.
pub struct Keeping;

impl Drop for Keeping {
    fn drop(&mut self) {
        KEPT.set(None);
    }
}

struct Visitor<'a>(&'a mut Fields);

impl Visit for Visitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ByThread {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _context: Context<'_, S>) {
        KEPT.with_borrow(|kept| {
            let wanted = |spans: &&Spans| spans.name == attributes.metadata().name();
            if let Some(spans) = kept.as_ref().filter(wanted) {
                let mut fields = Fields::new();
                attributes.record(&mut Visitor(&mut fields));
                spans.kept.lock().unwrap().push((id.clone(), fields));
            }
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        KEPT.with_borrow(|kept| {
            let of = context.metadata(id).map(tracing::Metadata::name);
            let Some(spans) = kept.as_ref().filter(|spans| of == Some(spans.name)) else {
                return;
            };
            // An id is used again when its span is over.
            if let Some((_, fields)) = spans
                .kept
                .lock()
                .unwrap()
                .iter_mut()
                .rev()
                .find(|(other, _)| other == id)
            {
                values.record(&mut Visitor(fields));
            }
        });
    }
}

impl Spans {
    /// Keeps the spans named `chat` of this thread for as long as the guard lives.
    pub fn keep() -> (Self, Keeping) {
        Self::keep_named("chat")
    }

    /// Keeps the spans of this name and thread for as long as the guard lives.
    pub fn keep_named(name: &'static str) -> (Self, Keeping) {
        static SUBSCRIBED: Once = Once::new();
        SUBSCRIBED.call_once(|| {
            tracing::subscriber::set_global_default(tracing_subscriber::registry().with(ByThread)).unwrap();
        });
        let spans = Self {
            name,
            kept: Arc::default(),
        };
        KEPT.set(Some(spans.clone()));
        (spans, Keeping)
    }

    /// A field of every span, oldest first; empty where it was not recorded.
    pub fn of(&self, name: &str) -> Vec<String> {
        let spans = self.kept.lock().unwrap();
        let field = |(_, fields): &(Id, Fields)| fields.get(name).cloned().unwrap_or_default();
        spans.iter().map(field).collect()
    }

    /// Everything that was recorded in the spans, as text, to look for what must not be.
    pub fn text(&self) -> String {
        let spans = self.kept.lock().unwrap();
        let fields = spans.iter().flat_map(|(_, fields)| fields);
        fields.map(|(name, value)| format!("{name}={value}\n")).collect()
    }
}
