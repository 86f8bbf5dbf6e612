//! `emend`: questions answered over your own documents.

use std::{process::ExitCode, time::Duration};

use emend_chassis::{ConfigError, ServiceOptions, Telemetry, TelemetryOptions};
use emend_cli::{
    args::{Command, EvalCommand},
    called_as, render, settings, terminal,
};

/// How long the end waits for threads that are still at work, such as one that looks up a name.
const RUNTIME_TIMEOUT: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    if let Some(code) = emend_documents::reader_process() {
        return code;
    }
    if let Some(service) = std::env::args_os().next().as_deref().and_then(called_as::service) {
        return service();
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    let code = runtime.block_on(run());
    runtime.shutdown_timeout(RUNTIME_TIMEOUT);
    code
}

async fn run() -> ExitCode {
    let arguments = match settings::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(ConfigError::Clap(error)) => return misused(&error),
        Err(error) => return failed(&anyhow::Error::from(error)),
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
        Command::Doctor(options) => emend_cli::doctor::run(*options).await,
        Command::Init(options) => emend_cli::init::run(&options),
        Command::Completions { shell } => emend_cli::manual::completions(shell),
        Command::Man { folder } => emend_cli::manual::pages(&folder),
        Command::Calibrate(options) => emend_cli::calibrate::run(*options).await,
    };
    telemetry.shutdown().await;
    match outcome {
        Ok(code) => code,
        Err(error) => failed(&error),
    }
}

/// Shows an error; a script that asked for JSON gets JSON.
fn failed(error: &anyhow::Error) -> ExitCode {
    if render::reader_left(error) {
        return ExitCode::SUCCESS;
    }
    if wants_json() {
        // A reader that left needs no words.
        let _ = terminal::print_json(&render::error_json(error), false);
    }
    render::error(error);
    ExitCode::from(render::exit_code(error))
}

/// Shows what is wrong with the command line, or the help that was asked for.
fn misused(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && wants_json() {
        let told = anyhow::anyhow!("{}", error.to_string().trim_end());
        let _ = terminal::print_json(&render::error_json(&told), false);
    }
    let shown = error.render();
    if error.use_stderr() {
        terminal::eprint(shown.ansi());
    } else {
        let _ = terminal::print(shown.ansi());
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Whether the command line asks for JSON, also one that cannot be read otherwise.
fn wants_json() -> bool {
    std::env::args_os().take_while(|word| word != "--").any(|word| {
        let word = word.to_string_lossy();
        word == "--json" || word.starts_with("--json=")
    })
}
