//! The six processes: this program again, in another role; and what the operating system knows about them.

use std::{
    io::{self, Write as _},
    process::Command,
    thread,
    time::Duration,
};

use clap::ValueEnum;
use emend_chassis::{Telemetry, TelemetryOptions};
use emend_orchestrator::Options;
use emend_testkit::process::{self, Process};
use tokio::{net::TcpListener, runtime};
use tokio_util::sync::CancellationToken;

use crate::{Failure, scripted};

/// What a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Finds the same passages for every query.
    Retriever,
    /// Finds everything good.
    Grader,
    /// Writes the same answer to every question.
    Generator,
    /// Is never asked on the straight way.
    Rewriter,
    /// Is never asked on the straight way.
    WebSearch,
    /// What is measured.
    Orchestrator,
}

impl Role {
    /// The scripted services, in the order in which the orchestrator is told their addresses.
    const SERVICES: [Role; 5] = [
        Role::Retriever,
        Role::Grader,
        Role::Generator,
        Role::Rewriter,
        Role::WebSearch,
    ];

    /// The role as the command line has it.
    fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }
}

/// Is a service until standard input closes: that is when the process that started it is gone.
pub(crate) fn serve(role: Role, services: &[String], log: String) -> Result<(), Failure> {
    thread::spawn(|| {
        // An error is an end too.
        drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
        std::process::exit(0);
    });
    if role != Role::Orchestrator {
        // One thread: a service that answers at once should take as little of the machine as it can.
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        return runtime.block_on(async { scripted::serve(role, listen().await?).await });
    }
    // As `emend_chassis::run` does it, but for the options and the signals.
    let mut options = Options::default();
    let urls = &mut options.services;
    let urls = [
        &mut urls.retriever_url,
        &mut urls.grader_url,
        &mut urls.generator_url,
        &mut urls.rewriter_url,
        &mut urls.web_search_url,
    ];
    if urls.len() != services.len() {
        return Err(format!("--services needs {} addresses, has {}", urls.len(), services.len()).into());
    }
    for (url, service) in urls.into_iter().zip(services) {
        service.clone_into(url);
    }
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let telemetry = TelemetryOptions::new("emend-orchestrator");
        let _telemetry = Telemetry::start(TelemetryOptions { log, ..telemetry })?;
        Ok(emend_orchestrator::serve(options, listen().await?, CancellationToken::new()).await?)
    })
}

/// Listens on a free port, and says on which.
async fn listen() -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(io::stdout(), "{}", listener.local_addr()?)?;
    Ok(listener)
}

/// Starts this program in another role and waits until it listens.
fn start(role: Role, arguments: &[String]) -> Result<Process, Failure> {
    let mut program = Command::new(std::env::current_exe()?);
    Ok(Process::start(program.args(["--role", &role.name()]).args(arguments))?)
}

/// Processor time by who used it; `None` where there is no `/proc`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    /// The orchestrator.
    pub(crate) orchestrator: Option<Duration>,
    /// The five services together.
    pub(crate) services: Option<Duration>,
    /// This process, which calls them.
    pub(crate) caller: Option<Duration>,
}

impl Cpu {
    /// Each part of two changed by `change`.
    fn zip(self, other: Cpu, change: fn(Duration, Duration) -> Duration) -> Cpu {
        let both = |a: Option<Duration>, b: Option<Duration>| Some(change(a?, b?));
        Cpu {
            orchestrator: both(self.orchestrator, other.orchestrator),
            services: both(self.services, other.services),
            caller: both(self.caller, other.caller),
        }
    }

    /// What was used since `earlier`.
    pub(crate) fn since(self, earlier: Cpu) -> Cpu {
        self.zip(earlier, Duration::saturating_sub)
    }

    /// Both together.
    pub(crate) fn plus(self, other: Cpu) -> Cpu {
        self.zip(other, Duration::saturating_add)
    }
}

/// The six of them. The orchestrator goes first when they are dropped.
pub(crate) struct Processes {
    /// What is measured.
    pub(crate) orchestrator: Process,
    /// In the order of [`Role::SERVICES`].
    services: Vec<Process>,
}

impl Processes {
    /// Starts them; the orchestrator logs to standard error what `log` lets through.
    pub(crate) fn start(log: &str) -> Result<Processes, Failure> {
        let services = Role::SERVICES.map(|role| start(role, &[]));
        let services = services.into_iter().collect::<Result<Vec<_>, _>>()?;
        let urls: Vec<String> = services.iter().map(Process::url).collect();
        let arguments = ["--services", &urls.join(","), "--log", log].map(str::to_owned);
        Ok(Processes {
            orchestrator: start(Role::Orchestrator, &arguments)?,
            services,
        })
    }

    /// Addresses of the retriever, the grader and the generator.
    pub(crate) fn urls(&self) -> Result<[String; 3], Failure> {
        match &self.services[..] {
            [retriever, grader, generator, ..] => Ok([retriever, grader, generator].map(Process::url)),
            _ => Err("a service is missing".into()),
        }
    }

    /// Processor time used so far.
    pub(crate) fn cpu(&self) -> Cpu {
        Cpu {
            orchestrator: self.orchestrator.cpu(),
            services: self.services.iter().map(Process::cpu).sum(),
            caller: process::own_cpu(),
        }
    }
}
