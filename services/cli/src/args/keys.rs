//! Options of `emend keys`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use emend_chassis::{
    Permission,
    keys::{Pattern, Rate},
};

/// `emend keys …`.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key, and print it, this once
    ///
    /// The file gets its SHA-256 digest, from which it cannot be made again: keep the key where secrets are kept, and give
    /// it to its holder in a file or an environment variable.
    #[command(after_help = "Examples:\n  \
        emend keys add app --collections handbook --rate 10/s > app.key\n  \
        emend keys add sync --collections 'team-*' --allow ingest\n  \
        emend keys add desk --collections '*' --graphs plain-rag,self-rag --tokens-per-day 1000000\n  \
        emend keys add orchestrator --collections '*'   # for EMEND_SERVICE_API_KEY_FILE")]
    Add(Box<AddKeyOptions>),
    /// List the keys: what each may do, and none of them
    List {
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        file: KeysFileOption,
        /// Print them as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove a key: services that read the file know it no more within a second
    Remove {
        /// Name of the key
        name: String,
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        file: KeysFileOption,
    },
}

/// Which file of keys.
#[derive(Args, Clone, Debug)]
pub struct KeysFileOption {
    /// File of the keys
    #[arg(
        long = "file",
        env = "EMEND_KEYS_FILE",
        value_name = "FILE",
        default_value = "keys.toml"
    )]
    pub path: PathBuf,
}

/// Options of `emend keys add`.
#[derive(Args, Debug)]
pub struct AddKeyOptions {
    /// Name of the key, as it stands in logs, metrics and errors: letters, digits, `-`, `_` and `.`
    pub name: String,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub file: KeysFileOption,
    /// What its holder may do
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_enum, default_value = "ask")]
    pub allow: Vec<Permission>,
    /// Collections that it may use: names, beginnings of names as `team-*`, or `*` for all
    #[arg(long, value_name = "NAME", value_delimiter = ',', required = true)]
    pub collections: Vec<Pattern>,
    /// Graphs that it may walk, in the same way
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "*")]
    pub graphs: Vec<Pattern>,
    /// Most calls in a time, for instance 10/s, 600/m or 1000/h [default: unlimited]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,
    /// Most calls of models in a day (UTC), of each orchestrator by itself [default: unlimited]
    #[arg(long, value_name = "N")]
    pub model_calls_per_day: Option<u64>,
    /// Most tokens in a day (UTC), read and written, of each orchestrator by itself [default: unlimited]
    #[arg(long, value_name = "N")]
    pub tokens_per_day: Option<u64>,
}
