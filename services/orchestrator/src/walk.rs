//! A walk: one question's trip through a graph.
//!
//! [`walk`] visits nodes until an edge leads to the end, the recursion limit is reached, or the time is up. It calls the
//! other services through [`Services`], tells what happens through [`Events`], and returns a result whatever they do;
//! only what the caller got wrong, and a walk that could not even start, are errors.

mod action;
mod beam;
mod budget;
mod deadline;
mod engine;
mod error;
mod events;
mod finish;
mod grpc;
mod metrics;
mod question;
mod services;
mod size;
mod state;
mod steps;

#[cfg(test)]
pub(crate) mod scripted;
#[cfg(test)]
pub(crate) mod tests;

pub use self::{
    budget::Budget,
    engine::{WalkRequest, walk},
    error::WalkError,
    events::Events,
    grpc::GrpcServices,
    metrics::WalkMetrics,
    question::Question,
    services::{Dependency, Failure, Services},
};
