//! The gateway over real sockets, in front of services that a test tells what to say.

mod bounds;
mod chat;
mod collections;
mod mcp;
mod questions;
mod standin;
