//! Exporters that say in the log when their collector is gone, once, and when it is back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use emend_core::without_secrets;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::logs::{LogBatch, LogExporter};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// An exporter of one signal, and whether its collector takes what it is sent.
#[derive(Debug)]
pub(super) struct Reporting<E> {
    exporter: E,
    signal: &'static str,
    collector: String,
    is_gone: AtomicBool,
}

impl<E> Reporting<E> {
    /// Reports for an exporter of `signal`, for example `traces`, to this endpoint.
    pub(super) fn new(exporter: E, signal: &'static str, endpoint: &str) -> Self {
        Self {
            exporter,
            signal,
            collector: without_secrets(endpoint),
            is_gone: AtomicBool::new(false),
        }
    }

    /// Says what an export tells that the one before did not.
    fn report(&self, sent: OTelSdkResult) -> OTelSdkResult {
        let (signal, collector) = (self.signal, self.collector.as_str());
        match &sent {
            Err(OTelSdkError::AlreadyShutdown) => {}
            Err(error) => {
                if !self.is_gone.swap(true, Ordering::Relaxed) {
                    tracing::warn!(signal, collector, %error, "the collector takes nothing; what is sent is lost until it does");
                }
            }
            Ok(()) => {
                if self.is_gone.swap(false, Ordering::Relaxed) {
                    tracing::info!(signal, collector, "the collector is back");
                }
            }
        }
        sent
    }
}

impl<E: SpanExporter> SpanExporter for Reporting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.report(self.exporter.export(batch).await)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl<E: LogExporter> LogExporter for Reporting<E> {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        self.report(self.exporter.export(batch).await)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl<E: PushMetricExporter> PushMetricExporter for Reporting<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.report(self.exporter.export(metrics).await)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}

#[cfg(test)]
mod tests;
