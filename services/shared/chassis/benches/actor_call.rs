//! What a call through [`ActorHandle`] costs beside a bare mailbox: work that does nothing, calls a second and the median
//! time of a call. The two ways take turns in one process, so that the machine's other work meets both alike.
//!
//! ```text
//! cargo bench -p emend-chassis --bench actor_call [-- CALLERS...]
//! ```
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::{Actor, Addr, Context, Handler, Message};
use emend_chassis::{ActorHandle, ActorOptions, ActorSystem, Caller, HealthFlag, ServiceOptions, Work};
use emend_core::{Code, Deadline, Scope, ServiceError};
use tokio_util::sync::CancellationToken;
use tracing::Span;

const ROUNDS: usize = 15;
const CALLS_A_ROUND: usize = 4_000;

struct Nothing;

#[derive(Debug, thiserror::Error)]
#[error("nothing fails")]
struct Never;

impl ServiceError for Never {
    fn code(&self) -> Code {
        Code::Internal
    }
}

impl Work<()> for Nothing {
    type Reply = ();
    type Error = Never;
    const NAME: &'static str = "nothing";

    async fn run(self, (): &(), _: &Scope) -> Result<(), Never> {
        Ok(())
    }
}

struct Bare;

impl Actor for Bare {
    type Context = Context<Self>;
}

impl Message for Nothing {
    type Result = ();
}

impl Handler<Nothing> for Bare {
    type Result = ();

    fn handle(&mut self, _: Nothing, _: &mut Self::Context) {}
}

/// The time of each call of one round, shared out among `callers` tasks.
async fn round<F, Fut>(callers: usize, call: F) -> Result<Round, Box<dyn Error>>
where
    F: Fn() -> Fut + Clone + Send + 'static,
    Fut: Future<Output = bool> + Send,
{
    let began = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let call = call.clone();
            tokio::spawn(async move {
                let mut times = Vec::with_capacity(CALLS_A_ROUND / callers);
                for _ in 0..CALLS_A_ROUND / callers {
                    let began = Instant::now();
                    if !call().await {
                        return Err("a call failed");
                    }
                    times.push(began.elapsed());
                }
                Ok(times)
            })
        })
        .collect();
    let mut times = Vec::with_capacity(CALLS_A_ROUND);
    for task in tasks {
        times.extend(task.await??);
    }
    let elapsed = began.elapsed();
    Ok(Round {
        rate: times.len() as f64 / elapsed.as_secs_f64(),
        p50: median(times),
    })
}

struct Round {
    /// Calls a second.
    rate: f64,
    p50: Duration,
}

fn median<T: PartialOrd + Copy + Default>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn report(name: &str, rounds: &[Round]) {
    let rate = median(rounds.iter().map(|round| round.rate).collect());
    let p50 = median(rounds.iter().map(|round| round.p50).collect());
    println!(
        "  {name:12} {rate:10.0} calls/s   p50 {:8.1} us",
        p50.as_secs_f64() * 1e6
    );
}

async fn measure(bare: &Addr<Bare>, handle: &ActorHandle<()>, callers: usize) -> Result<(), Box<dyn Error>> {
    let (mut mailbox, mut ours) = (Vec::new(), Vec::new());
    // The first round warms up.
    for number in 0..=ROUNDS {
        let bare = bare.clone();
        let one = round(callers, move || {
            let bare = bare.clone();
            async move { bare.send(Nothing).await.is_ok() }
        });
        let one = one.await?;
        let handle = handle.clone();
        let other = round(callers, move || {
            let handle = handle.clone();
            async move {
                let caller = Caller::new(
                    Deadline::after(Duration::from_secs(60)),
                    CancellationToken::new(),
                    Span::none(),
                );
                handle.call(Nothing, caller).await.is_ok()
            }
        });
        let other = other.await?;
        if number > 0 {
            mailbox.push(one);
            ours.push(other);
        }
    }
    let ratios = mailbox
        .iter()
        .zip(&ours)
        .map(|(mailbox, ours)| ours.rate / mailbox.rate);
    println!(
        "{callers} callers: {:.2} of the calls of a bare mailbox",
        median(ratios.collect())
    );
    report("bare mailbox", &mailbox);
    report("ActorHandle", &ours);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let callers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let callers = if callers.is_empty() { vec![1, 16, 64] } else { callers };
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runner = actix::System::new();
        runner.block_on(async {
            // The main thread waits for it.
            drop(sender.send(Bare.start()));
        });
        runner.run()
    });
    let bare = receiver.recv()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let system = ActorSystem::start("bench")?;
        let options = ActorOptions::new("bench", &ServiceOptions::default());
        let handle = ActorHandle::start(&system, options, HealthFlag::detached("bench"), || Arc::new(()))?;
        for callers in callers {
            measure(&bare, &handle, callers).await?;
        }
        system.stop().await;
        Ok(())
    })
}
