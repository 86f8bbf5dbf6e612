//! `emend`: questions answered over your own documents.

use std::process::ExitCode;

use clap::Parser as _;
use emend_chassis::{ServiceOptions, Telemetry, TelemetryOptions};
use emend_cli::{
    args::{Arguments, Command, EvalCommand},
    terminal,
};

#[tokio::main]
async fn main() -> ExitCode {
    if let Some(code) = emend_documents::reader_process() {
        return code;
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return misused(&error),
    };
    let logging = ServiceOptions {
        log: arguments.log_filter(),
        log_format: arguments.log_format(),
        metrics_listen: arguments.metrics_listen(),
        ..ServiceOptions::default()
    };
    let telemetry = match TelemetryOptions::from_environment("emend", &logging).and_then(Telemetry::start) {
        Ok(telemetry) => telemetry,
        Err(error) => {
            terminal::eprintln(format_args!("error: {error}"));
            return ExitCode::from(1);
        }
    };
    let outcome = match arguments.command {
        Command::Ask(options) => emend_cli::ask::run(*options).await,
        Command::Up(options) => emend_cli::up::run(*options).await,
        Command::Mcp(options) => emend_cli::mcp::run(*options).await,
        Command::Ingest(options) => emend_cli::ingest::run(*options).await,
        Command::Documents(command) => emend_cli::stored::run(command).await,
        Command::Feedback(command) => emend_cli::feedback::run(command).await,
        Command::Health(options) => emend_cli::health::run(options).await,
        Command::Collections(command) => emend_cli::collections::run(command).await,
        Command::Graph(options) => emend_cli::graph::run(options),
        Command::Trace(options) => emend_cli::trace::run(&options),
        Command::Replay(options) => emend_cli::replay::run(*options).await,
        Command::Keys(options) => emend_cli::keys::run(options),
        Command::Models(options) => emend_cli::models::run(options).await,
        Command::Eval(EvalCommand::Qa(options)) => emend_cli::eval::qa(*options).await,
        Command::Eval(EvalCommand::Retrieval(options)) => emend_cli::eval::retrieval(*options).await,
        Command::Eval(EvalCommand::Pairs(options)) => emend_cli::eval::pairs(*options).await,
        Command::Eval(EvalCommand::Grades(options)) => emend_cli::eval::grades(*options).await,
        Command::Calibrate(options) => emend_cli::calibrate::run(*options).await,
    };
    telemetry.shutdown().await;
    match outcome {
        Ok(code) => code,
        Err(error) if emend_cli::render::reader_left(&error) => ExitCode::SUCCESS,
        Err(error) => {
            emend_cli::render::error(&error);
            ExitCode::from(1)
        }
    }
}

/// Shows what is wrong with the command line, or the help that was asked for; a script that asked for JSON gets JSON.
fn misused(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|word| {
        let word = word.to_string_lossy();
        word == "--json" || word.starts_with("--json=")
    });
    if error.use_stderr() && wants_json {
        let told = anyhow::anyhow!("{}", error.to_string().trim_end());
        // A reader that left needs no words.
        let _ = terminal::print_json(&emend_cli::render::error_json(&told), false);
    }
    let shown = error.render();
    if error.use_stderr() {
        terminal::eprint(shown.ansi());
    } else {
        let _ = terminal::print(shown.ansi());
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
