//! The six processes: this program again, in another role; and what the operating system knows about them.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use clap::ValueEnum;
use emend_chassis::{Telemetry, TelemetryOptions};
use emend_orchestrator::Options;
use tokio::{net::TcpListener, runtime};
use tokio_util::sync::CancellationToken;

use crate::{Failure, scripted};

/// Clock ticks in a second, as `/proc` counts processor time. Linux shows all programs 100 on every architecture.
const TICKS: u64 = 100;

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

/// A process of ours. It ends when this is dropped.
pub(crate) struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    /// Starts this program in another role and waits until it listens.
    fn start(role: Role, arguments: &[String]) -> Result<Process, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--role", &role.name()])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take();
        // From here on, whatever goes wrong ends the child.
        let mut process = Process {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        let mut line = String::new();
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        process.address = line
            .trim()
            .parse()
            .map_err(|_| format!("the {} did not start", role.name()))?;
        Ok(process)
    }

    /// Where it listens, as a client has it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Processor time that it has used so far; `None` where there is no `/proc`.
    fn cpu(&self) -> Option<Duration> {
        cpu(&self.child.id().to_string())
    }

    /// Its resident memory in bytes; `None` where there is no `/proc`.
    pub(crate) fn rss(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes * 1024)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to do.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Processor time of a process: user and system, the 14th and 15th field of its line.
fn cpu(process: &str) -> Option<Duration> {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the program's name in parentheses, and may contain anything.
    let mut fields = line.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let ticks = ticks()? + ticks()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS))
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
        let services = Role::SERVICES.map(|role| Process::start(role, &[]));
        let services = services.into_iter().collect::<Result<Vec<_>, _>>()?;
        let urls: Vec<String> = services.iter().map(Process::url).collect();
        let arguments = ["--services", &urls.join(","), "--log", log].map(str::to_owned);
        Ok(Processes {
            orchestrator: Process::start(Role::Orchestrator, &arguments)?,
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
            caller: cpu("self"),
        }
    }
}

/// Load of the machine: programs that ran or wanted to in the last minute.
pub(crate) fn load() -> Option<f64> {
    let line = fs::read_to_string("/proc/loadavg").ok()?;
    line.split_whitespace().next()?.parse().ok()
}
