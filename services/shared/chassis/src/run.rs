//! The main function of every service.

use std::ffi::OsString;
use std::future::Future;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::config::{self, ConfigError, ServiceOptions};
use emend_core::error_chain;

use crate::error::ServeError;
use crate::exposed::refuse_exposed;
use crate::keys::Keys;
use crate::telemetry::{Telemetry, TelemetryError, TelemetryOptions};
use crate::tls::ServerTls;

/// Exit codes: as clap has it, 2 is for what the user said.
const SUCCEEDED: u8 = 0;
const FAILED: u8 = 1;
const MISUSED: u8 = 2;

/// How long threads that are still busy may hold up the end of the process.
const RUNTIME_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs a service: reads its options, starts telemetry, listens, serves until SIGTERM or SIGINT, drains, flushes
/// telemetry. A second signal ends the process at once.
///
/// The exit code is 0 after a clean drain, 2 for options that are wrong, 1 for anything else; the reason is one line on
/// standard error.
pub fn run<O, F, Fut>(name: &'static str, serve: F) -> ExitCode
where
    O: Parser + AsRef<ServiceOptions>,
    F: FnOnce(O, TcpListener, CancellationToken) -> Fut,
    Fut: Future<Output = Result<(), ServeError>>,
{
    run_with(name, std::env::args_os(), serve).into()
}

fn run_with<O, F, Fut>(name: &'static str, arguments: impl IntoIterator<Item = OsString>, serve: F) -> u8
where
    O: Parser + AsRef<ServiceOptions>,
    F: FnOnce(O, TcpListener, CancellationToken) -> Fut,
    Fut: Future<Output = Result<(), ServeError>>,
{
    let options = match config::parse::<O>(arguments) {
        Ok(options) => options,
        Err(ConfigError::Clap(error)) => {
            // Help and version come this way too, with code 0 and for standard output.
            drop(error.print());
            return u8::try_from(error.exit_code()).unwrap_or(FAILED);
        }
        Err(error) => return complain(name, &error, MISUSED),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(name, &error, FAILED),
    };
    let code = runtime.block_on(serve_until_signal(name, options, serve));
    runtime.shutdown_timeout(RUNTIME_TIMEOUT);
    code
}

async fn serve_until_signal<O, F, Fut>(name: &'static str, options: O, serve: F) -> u8
where
    O: AsRef<ServiceOptions>,
    F: FnOnce(O, TcpListener, CancellationToken) -> Fut,
    Fut: Future<Output = Result<(), ServeError>>,
{
    let service = options.as_ref();
    let telemetry = match TelemetryOptions::from_environment(name, service).and_then(Telemetry::start) {
        Ok(telemetry) => telemetry,
        Err(error @ (TelemetryError::Filter { .. } | TelemetryError::SampleRatio(_))) => {
            return complain(name, &error, MISUSED);
        }
        Err(error) => return complain(name, &error, FAILED),
    };
    let served = listen_and_serve(options, serve).await;
    telemetry.shutdown().await;
    match served {
        Ok(()) => SUCCEEDED,
        Err(error @ (ServeError::Exposed(_) | ServeError::Tls(_) | ServeError::Keys(_))) => {
            complain(name, &error, MISUSED)
        }
        Err(error) => complain(name, &error, FAILED),
    }
}

async fn listen_and_serve<O, F, Fut>(options: O, serve: F) -> Result<(), ServeError>
where
    O: AsRef<ServiceOptions>,
    F: FnOnce(O, TcpListener, CancellationToken) -> Fut,
    Fut: Future<Output = Result<(), ServeError>>,
{
    let address = options.as_ref().listen;
    refuse_exposed(options.as_ref(), address)?;
    // What is wrong with the files must not wait for models to load. They are read again when the server begins.
    ServerTls::load(&options.as_ref().tls)?;
    Keys::load(options.as_ref())?;
    // Before listening: a signal that comes while a model loads must stop the service too.
    let shutdown = stop_on_signal().map_err(ServeError::start)?;
    let listener = TcpListener::bind(address)
        .await
        .map_err(|source| ServeError::Bind { address, source })?;
    serve(options, listener, shutdown).await
}

/// A token that the first signal to stop cancels; a second signal ends the process at once. Inside a tokio runtime.
///
/// # Errors
/// The operating system refuses to say when a signal comes.
pub fn stop_on_signal() -> std::io::Result<CancellationToken> {
    let shutdown = CancellationToken::new();
    let token = shutdown.clone();
    let mut signals = Signals::new()?;
    tokio::spawn(async move {
        let signal = signals.next().await;
        tracing::info!(signal, "stopping");
        token.cancel();
        let signal = signals.next().await;
        tracing::warn!(signal, "stopping at once");
        // As a shell reports a process ended by a signal.
        std::process::exit(130);
    });
    Ok(shutdown)
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> &'static str {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        "Ctrl-C"
    }
}

fn complain(name: &str, error: &(dyn std::error::Error + 'static), code: u8) -> u8 {
    let line = error_chain(error).replace('\n', " ");
    // Should standard error be closed, nobody is there to be told.
    drop(writeln!(std::io::stderr(), "{name}: {line}"));
    code
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
