//! How fast is a whole walk through the six real processes?
//!
//! `cargo bench -p emend-tests --bench whole_walk` starts the six release binaries and a stand-in for an OpenAI-compatible
//! model, all on loopback, with their own defaults but for caches, which are off, and bounds on concurrency, which are out
//! of the way. It ingests passages and then has the same work done in two ways, in turns, so that a machine that gets
//! slower meanwhile does so for both:
//!
//! * **walk**: `Ask` on the straight way through `self-rag` with four passages: one embedding, four grades of relevance,
//!   one generation, two grades of the answer.
//! * **floor**: the same eight calls of the model, in the same order and as many at the same time, and an exact search
//!   over as many vectors, from a task of this process: what a program would do that has no services, no graphs, no
//!   spans, no limits and no errors. No walk can be faster; the ratio is what everything else costs.
//!
//! First with a model that answers at once, which leaves nothing but our own cost, then with one that takes its time
//! (`--delay`), which tells whether calls that can be made at the same time are.
//!
//! `--binaries DIR` measures the binaries in a folder in place of those that are built; given more than once, all of
//! them in turns: what a change brings, on a machine that others use too.

mod floor;
mod measure;
mod report;
mod services;
mod standin;
mod walk;

use std::{
    error::Error,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::{Parser, ValueEnum};

/// Any error; what matters is its message.
type Failure = Box<dyn Error + Send + Sync>;

/// What is asked, over and over.
const QUESTION: &str = "How is the soil under a hedge kept moist in a dry summer?";

/// Passages that a walk retrieves and grades.
const TOP_K: u32 = 4;

/// Calls of the model, one after the other, that no walk can do without: embedding, grades of the passages, generation,
/// grades of the answer.
const ROUND_TRIPS: u32 = 4;

/// A way to have the work done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// By this process alone.
    Floor,
    /// By the six services.
    Walk,
}

/// What is measured.
#[derive(Debug, Parser)]
#[command(name = "whole_walk")]
struct Arguments {
    /// Ways to have the work done
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["floor", "walk"])]
    kinds: Vec<Kind>,

    /// Walks at the same time
    #[arg(long, value_name = "N", default_value = "1,8,64", value_delimiter = ',')]
    concurrency: Vec<usize>,

    /// Time for each way at each concurrency
    #[arg(long, value_name = "DURATION", default_value = "6s", value_parser = emend_core::duration)]
    time: Duration,

    /// Turns that this time is divided into
    #[arg(long, value_name = "N", default_value = "6")]
    rounds: u32,

    /// Time that the slow model takes for each call; 0s leaves this part out
    #[arg(long, value_name = "DURATION", default_value = "200ms", value_parser = emend_core::duration)]
    delay: Duration,

    /// Leave out the model that answers at once
    #[arg(long)]
    only_delay: bool,

    /// Passages to search in
    #[arg(long, value_name = "N", default_value = "1000")]
    passages: usize,

    /// Folder with binaries of the six services; without it, they are built
    #[arg(long, value_name = "DIR")]
    binaries: Vec<PathBuf>,

    /// Level of what the services log; their spans are made from `info` on
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = ["error", "warn", "info", "debug"])]
    log: String,

    /// Print one JSON object in place of the table
    #[arg(long)]
    json: bool,

    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Should standard error be closed, nobody is there to be told.
            drop(writeln!(io::stderr(), "whole_walk: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Takes the part that the arguments say: the model, or the measurement.
fn run() -> Result<(), Failure> {
    let given = |flag: &str| std::env::args().any(|argument| argument == flag);
    if given(standin::ROLE) {
        return standin::serve();
    }
    // Started by `cargo test`: without release binaries there is nothing to measure.
    if !given("--bench") || given("--test") {
        return Ok(());
    }
    let arguments = Arguments::parse();
    if arguments.rounds == 0 || arguments.concurrency.contains(&0) || arguments.passages < TOP_K as usize {
        return Err(format!("--rounds and --concurrency must be at least 1, --passages at least {TOP_K}").into());
    }
    // An HTTP client asks for a provider also where it has no use for TLS; an error means that there is one.
    drop(rustls::crypto::ring::default_provider().install_default());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let measured = runtime.block_on(async {
        tokio::select! {
            measured = measure::measure(&arguments) => measured,
            // The processes end when their owners are dropped, and a signal would drop nothing.
            interrupted = tokio::signal::ctrl_c() => Err(interrupted.map_or_else(Into::into, |()| "interrupted".into())),
        }
    })?;
    let text = if arguments.json {
        report::json(&arguments, &measured)
    } else {
        report::table(&arguments, &measured)
    };
    writeln!(io::stdout(), "{text}")?;
    Ok(())
}

/// Says on standard error how far it is.
fn progress(line: &str) {
    // Should standard error be closed, nobody wants to know.
    drop(writeln!(io::stderr(), "{line}"));
}
