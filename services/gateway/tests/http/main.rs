//! The gateway over real sockets, in front of services that a test tells what to say.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod chat;
mod collections;
mod grpc_web;
mod leaves;
mod mcp;
mod openwebui;
mod questions;
mod security;
mod standin;
mod trace;
