//! Options of `emend trace` and `emend replay`.

use std::path::PathBuf;

use clap::Args;

/// What a file of a walk is.
const WALK: &str = "What `emend ask --json` or `--json=events` printed, or the page saved; `-` reads standard input";

/// Options of `emend trace`.
#[derive(Args, Debug)]
pub struct TraceOptions {
    #[arg(value_name = "WALK.json", help = WALK)]
    #[expect(missing_docs, reason = "its help says what it is")]
    pub walk: PathBuf,
}

/// Options of `emend replay`.
#[derive(Args, Debug)]
pub struct ReplayOptions {
    #[arg(value_name = "WALK.json", help = WALK)]
    #[expect(missing_docs, reason = "its help says what it is")]
    pub walk: PathBuf,
    /// An option of the graph; `emend graph show NAME` lists them
    #[arg(short, long = "option", value_name = "NAME=VALUE", value_parser = super::name_and_value)]
    pub options: Vec<(String, f64)>,
    /// A file of `emend calibrate`, whose thresholds the recorded probabilities are held against
    #[arg(long, value_name = "FILE")]
    pub coefficients: Option<PathBuf>,
    /// One threshold, before that of --coefficients: relevant, lower, upper, fully, partially, useful, quote or strip
    #[arg(long = "threshold", value_name = "NAME=VALUE", value_parser = super::name_and_value)]
    pub thresholds: Vec<(String, f64)>,
    /// Graph to walk, by name or as a file [default: the one that was walked]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub graph: Option<String>,
    /// Folder of graphs of your own, beside the built-in ones
    #[arg(long, env = "EMEND_GRAPHS_DIR", value_name = "DIR")]
    pub graphs_dir: Option<PathBuf>,
    /// Print JSON: the events of the replay, its turn, and where the record ended
    #[arg(long)]
    pub json: bool,
}
