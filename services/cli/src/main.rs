//! `emend`: questions answered over your own documents.

use std::{io, process::ExitCode};

use clap::Parser as _;
use emend_chassis::{ServiceOptions, Telemetry, TelemetryOptions};
use emend_cli::args::{Arguments, Command, EvalCommand};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let logging = ServiceOptions {
        log: arguments.log_filter(),
        ..ServiceOptions::default()
    };
    let telemetry = match TelemetryOptions::from_environment("emend", &logging).and_then(Telemetry::start) {
        Ok(telemetry) => telemetry,
        Err(error) => {
            anstream::eprintln!("error: {error}");
            return ExitCode::from(1);
        }
    };
    let outcome = match arguments.command {
        Command::Ask(options) => emend_cli::ask::run(*options).await,
        Command::Up(options) => emend_cli::up::run(*options).await,
        Command::Ingest(options) => emend_cli::ingest::run(*options).await,
        Command::Graph(options) => emend_cli::graph::run(options),
        Command::Models(options) => emend_cli::models::run(options).await,
        Command::Eval(EvalCommand::Qa(options)) => emend_cli::eval::qa(*options).await,
        Command::Eval(EvalCommand::Retrieval(options)) => emend_cli::eval::retrieval(*options).await,
        Command::Eval(EvalCommand::Grades(options)) => emend_cli::eval::grades(*options).await,
        Command::Calibrate(options) => emend_cli::calibrate::run(*options).await,
    };
    telemetry.shutdown().await;
    match outcome {
        Ok(code) => code,
        Err(error) if reader_left(&error) => ExitCode::SUCCESS,
        Err(error) => {
            emend_cli::render::error(&error);
            ExitCode::from(1)
        }
    }
}

/// Whether the output's reader has seen enough, as `head` does.
fn reader_left(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
