//! Configuration: flag before environment before file before default, with the clap struct as the only list of options.

mod file;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{BoolishValueParser, Resettable};
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, ValueEnum};
use emend_core::{Secret, duration};

use crate::tls::ServerTlsOptions;
pub(crate) use file::problem_of;
pub use file::{ConfigFile, FileError, named_by};

/// What every service can be told.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Server")]
pub struct ServiceOptions {
    /// Address to listen on
    #[arg(
        long,
        env = "EMEND_LISTEN",
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:50051"
    )]
    pub listen: SocketAddr,

    /// Calls admitted at once; more are refused with RESOURCE_EXHAUSTED
    #[arg(long, env = "EMEND_MAX_IN_FLIGHT", value_name = "CALLS", default_value = "64", value_parser = at_least_one)]
    pub max_in_flight: usize,

    /// Memory for requests that are read or answered, in MiB; more are refused with RESOURCE_EXHAUSTED. Streams have as
    /// much again
    #[arg(long, env = "EMEND_REQUEST_MEMORY_MIB", value_name = "MIB", default_value = "128", value_parser = at_least_one)]
    pub request_memory_mib: usize,

    /// Time given to a call that comes without a deadline
    #[arg(long, env = "EMEND_DEFAULT_TIMEOUT", value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub default_timeout: Duration,

    /// Time given to running calls after a signal to stop
    #[arg(long, env = "EMEND_DRAIN_TIMEOUT", value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub drain_timeout: Duration,

    /// Age at which connections are closed gracefully, so that clients spread over new replicas
    #[arg(long, env = "EMEND_MAX_CONNECTION_AGE", value_name = "DURATION", default_value = "5m", value_parser = duration)]
    pub max_connection_age: Duration,

    /// What is logged: a level, or directives such as "info,emend_grader=debug"
    #[arg(long, env = "EMEND_LOG", value_name = "FILTER", default_value = "info")]
    pub log: String,

    /// Form of the log on standard error
    #[arg(long, env = "EMEND_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,

    /// Address for Prometheus and for probes by HTTP: /metrics, /livez and /readyz. Without it there are none
    #[arg(long, env = "EMEND_METRICS_LISTEN", value_name = "HOST:PORT")]
    pub metrics_listen: Option<SocketAddr>,

    /// How connections are encrypted.
    #[command(flatten)]
    pub tls: ServerTlsOptions,

    /// File of the API keys that callers need, as `emend keys` writes it; without it everybody may do everything. Read
    /// again when it changes
    #[arg(long, env = "EMEND_KEYS_FILE", value_name = "FILE")]
    pub keys_file: Option<PathBuf>,

    /// A key that may do everything, of the program itself.
    #[arg(skip)]
    pub own_key: Option<Secret>,

    /// Whether gRPC reflection tells the service's contract
    #[arg(long, env = "EMEND_REFLECTION", value_name = "BOOL", default_value = "true", action = ArgAction::Set)]
    pub reflection: bool,

    /// Listen beyond this machine without TLS or keys, and send keys without TLS: something else protects the port
    #[arg(long, env = "EMEND_INSECURE", value_parser = BoolishValueParser::new())]
    pub insecure: bool,

    /// TOML file with any of these options
    #[arg(long, env = "EMEND_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Implements what every service's options have in common, for a type with a field `service` of [`ServiceOptions`]:
/// `AsRef` and `AsMut` of that field, and `Default` by [`defaults`](crate::config::defaults).
#[macro_export]
macro_rules! service_options {
    ($options:ty) => {
        impl AsRef<$crate::ServiceOptions> for $options {
            fn as_ref(&self) -> &$crate::ServiceOptions {
                &self.service
            }
        }

        impl AsMut<$crate::ServiceOptions> for $options {
            fn as_mut(&mut self) -> &mut $crate::ServiceOptions {
                &mut self.service
            }
        }

        impl Default for $options {
            fn default() -> Self {
                $crate::config::defaults()
            }
        }
    };
}

impl AsRef<ServiceOptions> for ServiceOptions {
    fn as_ref(&self) -> &ServiceOptions {
        self
    }
}

impl Default for ServiceOptions {
    fn default() -> Self {
        #[derive(Parser)]
        struct Only {
            #[command(flatten)]
            service: ServiceOptions,
        }
        defaults::<Only>().service
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people; coloured on a terminal.
    #[default]
    Text,
    /// One JSON object a line, for machines.
    Json,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

/// Why options could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The configuration file is missing or wrong.
    #[error(transparent)]
    File(#[from] FileError),
    /// The command line, the environment or a value in the file is wrong; also `--help` and `--version`.
    #[error(transparent)]
    Clap(#[from] clap::Error),
}

/// Reads options from a command line (program name first), the environment and the file that `--config` or
/// `EMEND_CONFIG` names.
///
/// The file's values become the defaults of clap's own arguments before it parses: a flag beats the environment, the
/// environment beats the file, the file beats the built-in default, and there is no second list of options to keep in
/// step. Keys are the long flags' names; `-`, `_` and the dots of nested tables are the same, so `[max] in_flight = 8`
/// is `--max-in-flight 8`.
///
/// # Errors
/// [`ConfigError`]; an unknown key lists the known ones and the nearest.
pub fn parse<O: CommandFactory + FromArgMatches>(
    arguments: impl IntoIterator<Item = impl Into<OsString>>,
) -> Result<O, ConfigError> {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let mut command = O::command();
    if let Some(path) = named_by(&arguments, &command) {
        let file = ConfigFile::read(&path)?;
        file.check(settings(&command))?;
        command = file.layer(command, &flag)?;
    }
    let mut matches = command.clone().try_get_matches_from(arguments)?;
    O::from_arg_matches_mut(&mut matches).map_err(|error| ConfigError::Clap(error.format(&mut command)))
}

/// The key of an option in the file of a service: its flag.
fn flag(argument: &clap::Arg) -> Option<String> {
    let long = argument.get_long().filter(|long| !file::NOT_SETTINGS.contains(long));
    long.map(str::to_owned)
}

fn settings(command: &clap::Command) -> BTreeSet<String> {
    command.get_arguments().filter_map(flag).collect()
}

/// The options without a command line: those of the environment, then those that `file` has under the keys that `key`
/// gives to arguments. For a program that runs several services, each with the options that it would have by itself.
///
/// # Errors
/// [`ConfigError`] when a variable or the file has a value that its option cannot have.
pub fn from_environment<O: CommandFactory + FromArgMatches>(
    file: Option<&ConfigFile>,
    key: &dyn Fn(&clap::Arg) -> Option<String>,
) -> Result<O, ConfigError> {
    let mut command = O::command();
    if let Some(file) = file {
        command = file.layer(command, key)?;
    }
    let name = command.get_name().to_owned();
    let mut matches = command.clone().try_get_matches_from([name])?;
    O::from_arg_matches_mut(&mut matches).map_err(|error| ConfigError::Clap(error.format(&mut command)))
}

/// The options as they are when nobody says anything: no flag, no environment, no file.
///
/// Every option needs a default (or to be an `Option`) for that.
///
/// # Panics
/// When an option has no default: a mistake in the program, which its first test shows.
pub fn defaults<O: CommandFactory + FromArgMatches>() -> O {
    let command = O::command();
    let name = command.get_name().to_owned();
    let parsed = command
        .mut_args(|argument| argument.env(Resettable::Reset))
        .try_get_matches_from([name])
        .and_then(|mut matches| O::from_arg_matches_mut(&mut matches));
    match parsed {
        Ok(options) => options,
        #[expect(
            clippy::panic,
            reason = "an option without a default is a mistake in the program, not in its input"
        )]
        Err(error) => panic!("an option has no default: {error}"),
    }
}

#[cfg(test)]
mod tests;
