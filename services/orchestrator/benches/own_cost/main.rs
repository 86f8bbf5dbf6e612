//! What does the orchestrator itself cost?
//!
//! `cargo bench -p emend-orchestrator --bench own_cost` starts six processes on loopback: five scripted services that
//! answer at once, and the orchestrator with its own defaults, logging warnings, exporting no telemetry. This process
//! then has the same work done in two ways, in turns, so that a machine that gets slower meanwhile does so for both:
//!
//! * **walk**: `Ask` on the straight way through `self-rag`: retrieve, grade the passages, generate, grade the answer.
//! * **bare**: the same five calls to the same services in the same order with the same contents, the two grades of the
//!   answer at the same time, from a task of this process: what an application would write that needs no orchestrator.
//!   By default over tonic's plain channels, one connection a service, without deadlines, spans, retries or balancing: no
//!   program can do with less, so the ratio holds all that the orchestrator adds, its own hop included. With
//!   `--bare chassis` over the balanced and traced channels that the orchestrator has, which leaves its engine, its
//!   actors and its hop.
//!
//! A walk has one hop more than the bare calls, so at concurrency 1 a ratio below 5 to 4 is not to be had. After the
//! rounds come as many walks as `--soak` says, with a look at the orchestrator's memory every now and then.
//!
//! Without `--bench`, as `cargo test --benches` starts it, a few walks of each kind have to succeed, and nothing is
//! measured. Speed is never an error.

mod measure;
mod processes;
mod report;
mod scripted;
mod workload;

use std::{
    error::Error,
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{Parser, ValueEnum};

use crate::{measure::Plan, processes::Role, workload::Bare};

/// Any error; what matters is its message.
type Failure = Box<dyn Error + Send + Sync>;

/// What is measured.
#[derive(Debug, Parser)]
#[command(name = "own_cost")]
struct Arguments {
    /// Walks of each kind at each concurrency
    #[arg(long, value_name = "N", default_value = "10000", value_parser = positive)]
    walks: usize,

    /// Rounds that they are made in
    #[arg(long, value_name = "N", default_value = "5", value_parser = positive)]
    rounds: usize,

    /// Walks at the same time; the orchestrator admits 64
    #[arg(long, value_name = "N", default_value = "1,64", value_delimiter = ',', value_parser = positive)]
    concurrency: Vec<usize>,

    /// Walks during which memory is watched; 0 for none
    #[arg(long, value_name = "N", default_value = "20000")]
    soak: usize,

    /// What the bare calls go through
    #[arg(long, value_enum, default_value = "tonic")]
    bare: Bare,

    /// What the orchestrator logs
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    log: String,

    /// Print one JSON object in place of the table
    #[arg(long)]
    json: bool,

    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

/// What one of the other processes is to be.
#[derive(Debug, Parser)]
#[command(name = "own_cost")]
struct Child {
    /// The service to be
    #[arg(long)]
    role: Role,

    /// For the orchestrator: addresses of the retriever, grader, generator, rewriter and web search
    #[arg(long, value_delimiter = ',')]
    services: Vec<String>,

    /// For the orchestrator: what it logs
    #[arg(long, default_value = "warn")]
    log: String,
}

/// Reads a number above 0.
fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}: write a number like 64")),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Should standard error be closed, nobody is there to be told.
            drop(writeln!(io::stderr(), "own_cost: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Takes the part that the arguments say: a service, the measurement, or the test.
fn run() -> Result<(), Failure> {
    let given = |flag: &str| std::env::args().any(|argument| argument == flag);
    if given("--role") {
        let child = Child::parse();
        return processes::serve(child.role, &child.services, child.log);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // `cargo test` passes whatever it was given for the test harness; none of that is for here.
    if !given("--bench") || given("--test") {
        return runtime.block_on(smoke());
    }
    let arguments = Arguments::parse();
    let plan = Plan {
        walks: arguments.walks,
        rounds: arguments.rounds.min(arguments.walks),
        concurrency: arguments.concurrency,
        soak: arguments.soak,
        bare: arguments.bare,
        log: arguments.log,
    };
    let measured = runtime.block_on(plan.measure())?;
    let text = if arguments.json {
        report::json(&plan, &measured)
    } else {
        report::table(&plan, &measured)
    };
    writeln!(io::stdout(), "{text}")?;
    Ok(())
}

/// A few walks and bare calls of every kind; an error unless all of them end as they should.
async fn smoke() -> Result<(), Failure> {
    for bare in Bare::value_variants() {
        let plan = Plan {
            walks: 4,
            rounds: 2,
            concurrency: vec![1, 3],
            soak: 4,
            bare: *bare,
            log: "warn".to_owned(),
        };
        let measured = plan.measure().await?;
        // Both forms have to come to an end; what they say depends on the machine.
        drop((report::table(&plan, &measured), report::json(&plan, &measured)));
    }
    Ok(())
}
