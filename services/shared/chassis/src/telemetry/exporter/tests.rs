use std::sync::{Arc, Mutex};

use emend_testkit::otlp::Collector;
use opentelemetry_otlp::{SpanExporter as OtlpSpans, WithExportConfig};
use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::*;

/// The lines of the log: level, signal and message.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Fields(String);
        impl Visit for Fields {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                if ["message", "signal"].contains(&field.name()) {
                    self.0.push_str(&format!(" {value:?}"));
                }
            }
        }
        if event.metadata().target().starts_with("emend") {
            let mut fields = Fields(event.metadata().level().to_string());
            event.record(&mut fields);
            self.0.lock().unwrap().push(fields.0);
        }
    }
}

#[tokio::test]
async fn a_collector_that_goes_and_comes_is_told_of_once_each_time() {
    let (first, endpoint) = Collector::start().await;
    let address = endpoint.trim_start_matches("http://").parse().unwrap();
    let exporter = OtlpSpans::builder()
        .with_tonic()
        .with_endpoint(&endpoint)
        .build()
        .unwrap();
    let exporter = Reporting::new(exporter, "traces", &endpoint);
    let lines = Lines::default();
    let sent = async {
        let send = || SpanExporter::export(&exporter, Vec::new());
        assert!(send().await.is_ok());
        first.stop().await;
        for _ in 0..3 {
            assert!(send().await.is_err());
        }
        let (second, _) = Collector::start_at(address).await;
        for _ in 0..2 {
            assert!(send().await.is_ok());
        }
        second.stop().await;
        assert!(send().await.is_err());
    };
    sent.with_subscriber(tracing_subscriber::registry().with(lines.clone()))
        .await;
    let gone = "WARN \"traces\" the collector takes nothing; what is sent is lost until it does";
    let back = "INFO \"traces\" the collector is back";
    let told: Vec<String> = lines.0.lock().unwrap().clone();
    let told: Vec<&str> = told.iter().map(|line| line.trim()).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    for (line, expected) in told.iter().zip([gone, back, gone]) {
        for word in expected.split(' ') {
            assert!(line.contains(word), "{line}: no {word}");
        }
    }
}
