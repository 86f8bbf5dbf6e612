//! What every service of Emend shares: options, telemetry, a gRPC server, actors behind it, clients of other services, and
//! an orderly end.
//!
//! # The way of a call
//!
//! ```text
//! client ── TracedChannel ──▶ Server ──▶ adapter ──▶ ActorHandle ──▶ mailbox ──▶ actor ──▶ backend
//!           deadline, span    span       Caller      admission  Job         Work::run  Scope
//! ```
//!
//! A service is a state, its [`Work`] on it, and an adapter of a line or four a method: make a [`Caller`] of the request,
//! validate with [`Violations`], hand the work to the [`ActorHandle`], map the reply. [`ActorHandle::unary`] is all of it for most
//! methods. Every error turns into a status by `?`.
//!
//! # Why it is built this way
//!
//! * **Two runtimes.** tonic lives on tokio's threads, actors on arbiters that only a thread with an `actix::System` can
//!   make. [`ActorSystem`] is that thread; actors are started through handles of its arbiters, from anywhere.
//! * **A mailbox is not backpressure.** `Addr::send` ignores its capacity and every clone of an `Addr` has a slot on top
//!   of it. [`ActorHandle`] admits with a semaphore, without waiting; the permit travels in the job and so counts what the
//!   actors still have to do, not what callers still wait for. Over the limit is RESOURCE_EXHAUSTED with `RetryInfo`, at
//!   once: a queue that grows only turns overload into timeouts.
//! * **One thread does not poll everything.** A handle spreads work over a few actors of one state, each on a thread of
//!   its own, by what each has to do. On a machine with little to do one thread has it all, and the others sleep.
//! * **A supervisor has to survive a panic.** `actix::Supervisor` lives in the task that panicked. Every actor holds
//!   a token; a task outside actix sees it dropped, backs off, starts another actor and publishes its address. Jobs
//!   that had begun fail with UNAVAILABLE, jobs that had not go to another actor. More deaths than [`RestartPolicy`]
//!   allows turn the service's [`HealthFlag`] down, until a window passes without one.
//! * **Gone means stop.** When a caller disconnects, tonic drops the adapter's future, and an actor's would run on. The
//!   [`Caller`] in the adapter's future holds the guard of a token that is in the job: dropping one stops the other,
//!   in the queue or at work.
//! * **A deadline is an instant.** `grpc-timeout` becomes a [`Deadline`](emend_core::Deadline) once; queueing, retries and
//!   further hops use it up. tonic reports an expired header as CANCELLED, so the adapter answers DEADLINE_EXCEEDED a
//!   little before that, and clients translate what arrives late.
//! * **A name is many servers.** gRPC stays on one connection. [`Upstream`] resolves its name again and again, gives each
//!   call to one of the servers, and says why where there is none. Servers close connections of a certain age, and
//!   [`retrying`] makes an idempotent call again elsewhere. A process that hangs still has its connections accepted, by the
//!   operating system: a server counts as there when it speaks, and one that does not loses the calls that it has. One
//!   that fails, is silent or slow rests for a while; where all rest calls fail at once, and few are tried again.
//! * **One list of options.** The clap struct. A TOML file becomes its defaults before it parses: see [`config`].
//! * **An end in order.** NOT_SERVING, no new connections, running calls end or are cut off, telemetry is flushed on a
//!   blocking thread: its exporters wait for the runtime.

mod actor;
mod caller;
mod client;
pub mod config;
mod error;
mod exposed;
pub mod keys;
pub mod metrics;
mod observed;
mod run;
mod server;
mod status;
pub mod telemetry;
mod timeout;
pub mod tls;
mod validate;

pub use actor::{
    ActorHandle, ActorOptions, ActorSystem, ActorSystemError, CallError, EventSender, Gone, RestartPolicy, Work,
};
pub use caller::Caller;
pub use client::{
    ApiKey, ApiKeyError, Attempt, Resolve, TracedChannel, Upstream, UpstreamError, UpstreamOptions, failed_model_calls,
    request, retrying,
};
pub use config::{ConfigError, LogFormat, ServiceOptions};
pub use error::ServeError;
pub use exposed::{Exposed, refuse_exposed};
pub use keys::{Identity, Permission};
pub use run::{run, stop_on_signal};
pub use server::{Acceptor, Connection, Health, HealthFlag, MAX_CONNECTIONS, Ready, Server, enlist};
pub use status::{ERROR_DOMAIN, code_of_grpc, grpc_code, grpc_code_name, reason_of, refusal, resource_of, status};
pub use telemetry::{Telemetry, TelemetryError, TelemetryOptions};
pub use timeout::parse_timeout;
pub use tls::{ClientTls, ClientTlsOptions, Renewal, ServerTls, ServerTlsOptions, TlsError, Validity};
pub use validate::{InvalidRequest, Violations};

/// The allocator of every program that serves. A call makes hundreds of small allocations, many of which another thread
/// frees; mimalloc is built for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(test)]
mod tests;
