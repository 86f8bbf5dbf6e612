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
use crate::error::{ServeError, chain};
use crate::telemetry::{Telemetry, TelemetryError, TelemetryOptions};

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
    let line = chain(error).replace('\n', " ");
    // Should standard error be closed, nobody is there to be told.
    drop(writeln!(std::io::stderr(), "{name}: {line}"));
    code
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::Server;

    #[derive(Parser)]
    #[command(name = "emend-test")]
    struct Options {
        #[command(flatten)]
        service: ServiceOptions,
        /// Fail to start
        #[arg(long)]
        broken: bool,
    }

    impl AsRef<ServiceOptions> for Options {
        fn as_ref(&self) -> &ServiceOptions {
            &self.service
        }
    }

    const ARGUMENTS: &str = "EMEND_CHASSIS_TEST_ARGUMENTS";

    /// The service that the other tests start: this test, in a process of its own.
    #[test]
    fn service() {
        let Ok(arguments) = std::env::var(ARGUMENTS) else {
            return;
        };
        let arguments = ["emend-test"]
            .into_iter()
            .chain(arguments.split_whitespace())
            .map(OsString::from);
        let code = run_with::<Options, _, _>("emend-test", arguments, |options, listener, shutdown| async move {
            if options.broken {
                return Err(ServeError::start(std::io::Error::other("no model")));
            }
            Server::new("emend-test", &options.service)
                .serve(listener, shutdown)
                .await
        });
        std::process::exit(code.into());
    }

    fn start(arguments: &str) -> Child {
        start_with(arguments, &[])
    }

    fn start_with(arguments: &str, variables: &[(&str, &str)]) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["run::tests::service", "--exact", "--nocapture", "--test-threads=1"])
            .env(ARGUMENTS, arguments)
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn end(mut child: Child) -> (i32, String) {
        let mut said = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
        (child.wait().unwrap().code().unwrap(), said)
    }

    #[test]
    fn a_signal_drains_and_ends_with_zero() {
        for signal in ["-TERM", "-INT"] {
            let mut child = start("--listen 127.0.0.1:0");
            let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
            assert!(lines.by_ref().any(|line| line.contains("serving")), "it never served");
            assert!(
                Command::new("kill")
                    .args([signal, &child.id().to_string()])
                    .status()
                    .unwrap()
                    .success()
            );
            assert!(lines.any(|line| line.contains("draining")), "it never drained");
            assert_eq!(child.wait().unwrap().code(), Some(0), "{signal}");
        }
    }

    #[test]
    fn what_is_wrong_is_one_line_and_a_code() {
        let (code, said) = end(start("--listen 127.0.0.1:0 --broken"));
        assert_eq!(code, 1);
        assert!(
            said.lines().any(|line| line == "emend-test: cannot start: no model"),
            "{said}"
        );

        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let (code, said) = end(start(&format!("--listen {address}")));
        assert_eq!(code, 1);
        assert!(
            said.contains(&format!("emend-test: cannot listen on {address}")),
            "{said}"
        );

        let (code, said) = end(start("--log not=a=filter"));
        assert_eq!(code, 2);
        assert!(
            said.contains("emend-test: --log \"not=a=filter\" is not a log filter"),
            "{said}"
        );

        let (code, said) = end(start("--config /nowhere.toml"));
        assert_eq!(code, 2);
        assert!(said.contains("/nowhere.toml"), "{said}");

        let (code, said) = end(start_with("", &[("EMEND_CONFIG", "/elsewhere.toml")]));
        assert_eq!(code, 2);
        assert!(said.contains("/elsewhere.toml"), "{said}");

        let (code, said) = end(start("--listne 1"));
        assert_eq!(code, 2);
        assert!(said.contains("--listen"), "{said}");

        assert_eq!(end(start("--help")).0, 0);
    }
}
