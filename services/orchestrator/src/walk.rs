//! A walk: one question's trip through a graph.
//!
//! [`walk`] visits nodes until an edge leads to the end, a limit is reached, or the time is up. It
//! calls the other services through [`Services`] and reports its progress through [`Events`].
//! Services that fail do not fail the walk; [`WalkError`] lists the cases without a result.

mod action;
mod beam;
mod budget;
mod calls;
mod deadline;
mod engine;
mod error;
mod events;
mod finish;
mod grpc;
mod log;
mod metrics;
mod outage;
mod question;
mod record;
mod replay;
mod rerank;
mod services;
mod size;
mod span;
mod state;
mod steps;

#[cfg(test)]
pub(crate) mod scripted;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use self::replay::{Missing, RecordedServices};
pub use self::{
    budget::Budget,
    engine::{WalkRequest, walk},
    error::WalkError,
    events::Events,
    grpc::GrpcServices,
    metrics::WalkMetrics,
    question::Question,
    record::RECORD_VERSION,
    rerank::best_first,
    services::{Dependency, Failure, Services},
};
