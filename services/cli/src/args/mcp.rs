//! Options of `emend mcp`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::LocalOptions;

/// Options of `emend mcp`.
#[derive(Args, Debug)]
pub struct McpOptions {
    /// Files or folders to answer from
    #[arg(short, long, value_name = "PATH", num_args = 1.., required = true)]
    pub docs: Vec<PathBuf>,
    /// Collection to store them in, and to answer from [default: one for these --docs]
    #[arg(short, long, env = "EMEND_COLLECTION", value_name = "NAME")]
    pub collection: Option<String>,
    /// Longest time for a call
    #[arg(short, long, env = "EMEND_TIMEOUT", value_name = "DURATION", default_value = "60s", value_parser = emend_core::duration)]
    pub timeout: Duration,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub local: LocalOptions,
}
