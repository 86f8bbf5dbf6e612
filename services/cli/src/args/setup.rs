//! Options of `emend init` and `emend doctor`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{ConnectOptions, UpOptions};

/// Options of `emend init`.
#[derive(Args, Debug)]
pub struct InitOptions {
    /// File to write [default: the one that commands read, emend/emend.toml in the user's configuration folder]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
}

/// Options of `emend doctor`.
#[derive(Args, Debug)]
pub struct DoctorOptions {
    /// Also a running orchestrator, for instance http://127.0.0.1:50050
    #[arg(long, env = "EMEND_URL", hide_env_values = true, value_name = "URL")]
    pub url: Option<String>,
    /// Also search the web once with each engine that is configured, which may cost
    #[arg(long)]
    pub search: bool,
    /// Longest time for a check; all run at once
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = emend_core::duration)]
    pub patience: Duration,
    /// Print JSON, one object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub up: UpOptions,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub connect: ConnectOptions,
}
