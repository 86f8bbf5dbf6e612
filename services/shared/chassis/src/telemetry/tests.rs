use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::*;

/// A log that is kept.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Kept {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn read(variables: &[(&str, &str)]) -> Result<TelemetryOptions, TelemetryError> {
    let options = ServiceOptions::default();
    TelemetryOptions::from_variables("emend-test", &options, |name| {
        variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn nothing_is_exported_unless_an_endpoint_is_named() {
    let options = read(&[]).unwrap();
    assert_eq!((options.traces, options.metrics, options.logs), (None, None, None));
    assert_eq!(options.service_name, "emend-test");
}

#[test]
fn one_endpoint_serves_all_signals_and_each_can_have_its_own() {
    let options = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4317"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:4317"),
        ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
        ("OTEL_SERVICE_NAME", "grader-eu"),
    ])
    .unwrap();
    assert_eq!(options.traces.as_deref(), Some("http://traces:4317"));
    assert_eq!(options.metrics.as_deref(), Some("http://all:4317"));
    assert!((options.sample_ratio - 0.25).abs() < f64::EPSILON);
    assert_eq!(options.service_name, "grader-eu");
    let only_traces = read(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:4317")]).unwrap();
    assert_eq!((only_traces.metrics, only_traces.logs), (None, None));
    let disabled = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4317"),
        ("OTEL_SDK_DISABLED", "true"),
    ]);
    assert_eq!(disabled.unwrap().traces, None);
}

#[test]
fn a_ratio_that_is_none_is_refused_by_name() {
    let error = read(&[("OTEL_TRACES_SAMPLER_ARG", "lots")]).unwrap_err();
    assert!(error.to_string().contains("OTEL_TRACES_SAMPLER_ARG is \"lots\""));
    assert!(read(&[("OTEL_TRACES_SAMPLER_ARG", "1.5")]).is_err());
}

/// Writes the clipboard, sets the title in either form of the sequence, forges a line and turns the direction of writing.
const HOSTILE: &str = "\u{1b}]52;c;aGk=\u{7}\u{1b}]0;owned\u{1b}\\\u{9d}52;c;aGk=\u{9c}\u{202e}\r\nINFO forged";

#[test]
fn what_a_terminal_would_obey_is_visible_in_the_text_log() {
    for coloured in [false, true] {
        let log = Kept::default();
        let layer = log_layer(
            LogFormat::Text,
            Targets::new().with_default(LevelFilter::INFO),
            log.clone(),
            coloured,
        );
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let error = io::Error::other(HOSTILE);
            let span = tracing::info_span!("call", caller = HOSTILE);
            span.in_scope(|| {
                tracing::warn!(shown = %HOSTILE, quoted = HOSTILE, debug = ?HOSTILE, %error, "message {HOSTILE}");
                tracing::warn!(error = &error as &dyn std::error::Error, "source");
            });
        });
        let written = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert_eq!(written.lines().count(), 2, "a field forges no line: {written:?}");
        assert!(written.contains("shown=␛]52;c;aGk=␇␛]0;owned␛"), "{written:?}");
        assert!(written.contains("message ␛]52;c;aGk=␇"), "{written:?}");
        let mut left = written.replace('\n', "");
        if coloured {
            assert!(left.contains("\u{1b}["), "{written:?}");
            // The log's own colours.
            while let Some((before, after)) = left.split_once("\u{1b}[") {
                let (_, after) = after.split_once('m').unwrap();
                left = format!("{before}{after}");
            }
        }
        let obeyed: Vec<char> = left.chars().filter(|c| emend_core::is_obeyed(*c)).collect();
        assert!(obeyed.is_empty(), "{obeyed:?} in {written:?}");
    }
}
