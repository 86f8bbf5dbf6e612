//! The command line tool, as a library so that tests run the same cluster.
//!
//! [`cluster::Cluster`] is the six services in one process on loopback ports, with real gRPC connections between them:
//! what `emend ask` and `emend up` start, and what end-to-end tests start.

pub mod args;
pub mod ask;
pub mod calibrate;
pub mod called_as;
pub mod cluster;
pub mod collections;
pub mod doctor;
pub mod documents;
pub mod eval;
pub mod feedback;
pub mod graph;
pub mod health;
pub mod ingest;
pub mod init;
pub mod json;
pub mod keys;
pub mod manual;
pub mod mcp;
pub mod models;
pub mod progress;
pub mod render;
pub mod replay;
pub mod settings;
pub mod stored;
pub mod terminal;
pub mod trace;
pub mod up;
pub mod walk_file;
