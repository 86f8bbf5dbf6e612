//! Logs on standard error, traces, metrics and logs to an OpenTelemetry collector where one is configured, and metrics for
//! Prometheus where an address is given.

mod exporter;
mod scrape;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry::{KeyValue, global};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_otlp::{ExporterBuildError, LogExporter, MetricExporter, SpanExporter, WithExportConfig};
use opentelemetry_prometheus::PrometheusExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use prometheus::Registry as Metrics;
use tracing::field::Field;
use tracing::{Level, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::{FilterExt, LevelFilter, Targets, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::config::{LogFormat, ServiceOptions};
use emend_core::{printable_line, semconv};
use exporter::Reporting;
use scrape::Scrape;

/// How long the last telemetry may take to leave.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The transport below the exporter: were its spans exported, exporting would make more of them, without end.
const TRANSPORT: [&str; 9] = [
    "hyper",
    "hyper_util",
    "h2",
    "tonic",
    "tower",
    "tower_http",
    "opentelemetry",
    "opentelemetry_sdk",
    "opentelemetry_otlp",
];

/// What telemetry is to do.
#[derive(Clone, Debug)]
pub struct TelemetryOptions {
    /// `service.name` of everything exported.
    pub service_name: String,
    /// Filter of the log on standard error, for example `info,emend_grader=debug`.
    pub log: String,
    /// Form of the log on standard error.
    pub log_format: LogFormat,
    /// Where traces go, as OTLP over gRPC; `None` exports none.
    pub traces: Option<String>,
    /// Where metrics go.
    pub metrics: Option<String>,
    /// Where logs go, besides standard error.
    pub logs: Option<String>,
    /// Share of traces that are sampled where the caller has not decided; 0 to 1.
    pub sample_ratio: f64,
    /// Where Prometheus may ask for metrics, and probes for health; `None` listens nowhere.
    pub metrics_listen: Option<SocketAddr>,
}

impl TelemetryOptions {
    /// Logs at `info`, nothing exported.
    pub fn new(service_name: impl Into<String>) -> Self {
        Self {
            service_name: service_name.into(),
            log: "info".to_owned(),
            log_format: LogFormat::Text,
            traces: None,
            metrics: None,
            logs: None,
            sample_ratio: 1.0,
            metrics_listen: None,
        }
    }

    /// Everything to the collector at `endpoint`, for example `http://127.0.0.1:4317`.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        let endpoint = Some(endpoint.into());
        self.traces.clone_from(&endpoint);
        self.metrics.clone_from(&endpoint);
        self.logs = endpoint;
        self
    }

    /// Reads OpenTelemetry's own variables: `OTEL_EXPORTER_OTLP_ENDPOINT` and its `_TRACES_`, `_METRICS_` and `_LOGS_`
    /// forms, `OTEL_TRACES_SAMPLER_ARG`, `OTEL_SERVICE_NAME`, `OTEL_SDK_DISABLED`.
    ///
    /// # Errors
    /// [`TelemetryError::SampleRatio`] for a ratio that is none.
    pub fn from_environment(service_name: &str, options: &ServiceOptions) -> Result<Self, TelemetryError> {
        Self::from_variables(service_name, options, |name| {
            std::env::var(name).ok().filter(|value| !value.is_empty())
        })
    }

    fn from_variables(
        service_name: &str,
        options: &ServiceOptions,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, TelemetryError> {
        let disabled = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let endpoint = |name: &str| if disabled { None } else { variable(name) };
        let all = endpoint("OTEL_EXPORTER_OTLP_ENDPOINT");
        let ratio = variable("OTEL_TRACES_SAMPLER_ARG");
        let sample_ratio = match &ratio {
            None => 1.0,
            Some(text) => text
                .parse()
                .ok()
                .filter(|ratio| (0.0..=1.0).contains(ratio))
                .ok_or_else(|| TelemetryError::SampleRatio(text.clone()))?,
        };
        Ok(Self {
            service_name: variable("OTEL_SERVICE_NAME").unwrap_or_else(|| service_name.to_owned()),
            log: options.log.clone(),
            log_format: options.log_format,
            traces: endpoint("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(|| all.clone()),
            metrics: endpoint("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT").or_else(|| all.clone()),
            logs: endpoint("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT").or(all),
            sample_ratio,
            metrics_listen: options.metrics_listen,
        })
    }
}

/// Why telemetry could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The log filter cannot be read.
    #[error(
        "--log \"{filter}\" is not a log filter: use a level like info, or directives like info,emend_grader=debug"
    )]
    Filter {
        /// The value of `--log`.
        filter: String,
        /// What was wrong with it.
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// The sampling ratio cannot be read.
    #[error("OTEL_TRACES_SAMPLER_ARG is \"{0}\": it must be a number from 0 to 1")]
    SampleRatio(String),
    /// An exporter could not be built.
    #[error("cannot export to the collector: check OTEL_EXPORTER_OTLP_ENDPOINT")]
    Exporter(#[from] ExporterBuildError),
    /// The registry of metrics could not be made.
    #[error("cannot collect metrics for Prometheus")]
    Prometheus(#[source] OTelSdkError),
    /// The address of the metrics is taken or not ours.
    #[error("cannot listen for Prometheus on {address}: set another address with --metrics-listen")]
    Listen {
        /// The address of `--metrics-listen`.
        address: SocketAddr,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The process has a subscriber already.
    #[error("telemetry is already started in this process")]
    Started(#[from] tracing_subscriber::util::TryInitError),
}

/// The process's telemetry. One a process.
#[derive(Debug)]
pub struct Telemetry {
    tracer: Option<SdkTracerProvider>,
    meter: Option<SdkMeterProvider>,
    logger: Option<SdkLoggerProvider>,
    scrape: Option<Scrape>,
}

impl Telemetry {
    /// Installs the subscriber, the W3C propagator and, for each endpoint, an exporter, and listens for Prometheus. Call it
    /// inside a tokio runtime: the exporters' connections live there.
    ///
    /// # Errors
    /// [`TelemetryError`].
    pub fn start(options: TelemetryOptions) -> Result<Self, TelemetryError> {
        let filter = options
            .log
            .parse::<Targets>()
            .map_err(|source| TelemetryError::Filter {
                filter: options.log.clone(),
                source,
            })?;
        let resource = resource(&options);
        global::set_text_map_propagator(TraceContextPropagator::new());

        let mut layers: Vec<Box<dyn Layer<Registry> + Send + Sync>> = vec![log_layer(
            options.log_format,
            filter,
            std::io::stderr,
            std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        )];
        let mut telemetry = Self {
            tracer: None,
            meter: None,
            logger: None,
            scrape: None,
        };
        if let Some(endpoint) = options.traces {
            let exporter = SpanExporter::builder().with_tonic().with_endpoint(&endpoint).build()?;
            let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(options.sample_ratio)));
            let provider = SdkTracerProvider::builder()
                .with_batch_exporter(Reporting::new(exporter, "traces", &endpoint))
                .with_sampler(sampler)
                .with_resource(resource.clone())
                .build();
            // Log lines are exported as logs; in spans only those that tell of trouble.
            let wanted = filter_fn(|metadata| metadata.is_span() || *metadata.level() <= Level::WARN);
            let layer = tracing_opentelemetry::layer()
                .with_tracer(provider.tracer("emend"))
                .with_location(false)
                .with_threads(false)
                .with_target(false)
                .with_tracked_inactivity(false)
                .with_filter(exported().and(wanted));
            layers.push(layer.boxed());
            global::set_tracer_provider(provider.clone());
            telemetry.tracer = Some(provider);
        }
        if options.metrics.is_some() || options.metrics_listen.is_some() {
            let mut builder = SdkMeterProvider::builder().with_resource(resource.clone());
            if let Some(endpoint) = options.metrics {
                let exporter = MetricExporter::builder()
                    .with_tonic()
                    .with_endpoint(&endpoint)
                    .build()?;
                builder = builder.with_periodic_exporter(Reporting::new(exporter, "metrics", &endpoint));
            }
            if let Some(address) = options.metrics_listen {
                let metrics = Metrics::new();
                builder = builder.with_reader(prometheus_reader(&metrics)?);
                let listening = Scrape::start(address, metrics);
                telemetry.scrape = Some(listening.map_err(|source| TelemetryError::Listen { address, source })?);
            }
            let provider = builder.build();
            global::set_meter_provider(provider.clone());
            telemetry.meter = Some(provider);
        }
        if let Some(endpoint) = options.logs {
            let exporter = LogExporter::builder().with_tonic().with_endpoint(&endpoint).build()?;
            let provider = SdkLoggerProvider::builder()
                .with_batch_exporter(Reporting::new(exporter, "logs", &endpoint))
                .with_resource(resource)
                .build();
            layers.push(
                OpenTelemetryTracingBridge::new(&provider)
                    .with_filter(exported())
                    .boxed(),
            );
            telemetry.logger = Some(provider);
        }
        tracing_subscriber::registry().with(layers).try_init()?;
        if let Some(scrape) = &telemetry.scrape {
            tracing::info!(metrics = %scrape.address(), "serving metrics");
        }
        Ok(telemetry)
    }

    /// Where Prometheus may ask for metrics.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.scrape.as_ref().map(Scrape::address)
    }

    /// Sends what has been collected so far; for tests that read it at the other end.
    pub async fn flush(&self) {
        let (tracer, meter, logger) = (self.tracer.clone(), self.meter.clone(), self.logger.clone());
        Self::blocking("flush", move || {
            [
                tracer.map(|provider| provider.force_flush()),
                meter.map(|provider| provider.force_flush()),
                logger.map(|provider| provider.force_flush()),
            ]
        })
        .await;
    }

    /// Sends what is left, for at most a few seconds, and ends the exporters. Runs on a blocking thread: the exporters wait
    /// for the runtime, which must not be what waits for them.
    pub async fn shutdown(self) {
        Self::blocking("shutdown", move || {
            [
                self.tracer
                    .map(|provider| provider.shutdown_with_timeout(FLUSH_TIMEOUT)),
                self.meter.map(|provider| provider.shutdown_with_timeout(FLUSH_TIMEOUT)),
                self.logger
                    .map(|provider| provider.shutdown_with_timeout(FLUSH_TIMEOUT)),
            ]
        })
        .await;
    }

    async fn blocking(
        what: &'static str,
        work: impl FnOnce() -> [Option<opentelemetry_sdk::error::OTelSdkResult>; 3] + Send + 'static,
    ) {
        match tokio::task::spawn_blocking(work).await {
            Ok(results) => {
                for error in results.into_iter().flatten().filter_map(Result::err) {
                    tracing::warn!(%error, "telemetry {what} lost something: is the collector reachable");
                }
            }
            Err(error) => tracing::warn!(%error, "telemetry {what} did not finish"),
        }
    }
}

/// Links the span of a batch to the span of one of its members, so that either leads to the other.
pub fn link(batch: &Span, member: &Span) {
    use opentelemetry::trace::TraceContextExt;
    let context = member.context();
    let context = context.span().span_context().clone();
    if context.is_valid() {
        batch.add_link(context);
    }
}

/// The trace id of a span as 32 hexadecimal digits; `None` where it is not traced.
pub fn trace_id(span: &Span) -> Option<String> {
    use opentelemetry::trace::TraceContextExt;
    let context = span.context();
    let context = context.span().span_context().clone();
    context.is_valid().then(|| context.trace_id().to_string())
}

/// What hands the metrics of a provider to `metrics`. Labels that say the same of every series are left out; the resource is
/// in `target_info`.
pub(crate) fn prometheus_reader(metrics: &Metrics) -> Result<PrometheusExporter, TelemetryError> {
    opentelemetry_prometheus::exporter()
        .with_registry(metrics.clone())
        .scope_info_enabled(false)
        .build()
        .map_err(TelemetryError::Prometheus)
}

/// The log. Its text form makes visible what a terminal would obey.
fn log_layer<W>(format: LogFormat, filter: Targets, writer: W, coloured: bool) -> Box<dyn Layer<Registry> + Send + Sync>
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    match format {
        LogFormat::Json => layer.json().flatten_event(true).with_filter(filter).boxed(),
        LogFormat::Text => layer
            .with_ansi(coloured)
            .fmt_fields(debug_fn(text_field))
            .with_filter(filter)
            .boxed(),
    }
}

/// A field in the text log, with what a terminal would obey made visible. What spans carry only for their export would make
/// every line twice as long.
fn text_field(writer: &mut Writer<'_>, field: &Field, value: &dyn std::fmt::Debug) -> std::fmt::Result {
    match field.name() {
        "message" => writer.write_str(&printable_line(&format!("{value:?}"))),
        name if name.starts_with("otel.") || name.starts_with("log.") || name == semconv::RPC_SYSTEM_NAME => Ok(()),
        name => write!(writer, " {name}={}", printable_line(&format!("{value:?}"))),
    }
}

/// What may be exported at all: `info` and above, and nothing of the transport.
fn exported() -> Targets {
    Targets::new()
        .with_default(LevelFilter::INFO)
        .with_targets(TRANSPORT.map(|target| (target, LevelFilter::OFF)))
}

fn resource(options: &TelemetryOptions) -> Resource {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let instance = host.map_or_else(
        || std::process::id().to_string(),
        |host| format!("{host}-{}", std::process::id()),
    );
    Resource::builder()
        .with_service_name(options.service_name.clone())
        .with_attribute(KeyValue::new("service.namespace", "emend"))
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("service.instance.id", instance))
        .build()
}

#[cfg(test)]
mod tests;
