//! The configuration file, `emend.toml`: the options that have an environment variable, under its name.
//!
//! `EMEND_LLM_URL` is `llm-url` there, for every command that has the option and for the services that they start. Clap's
//! own definitions are the list: of what is known, of what the template says, and of the order of precedence.

mod template;

use std::{collections::BTreeSet, ffi::OsString, path::PathBuf, sync::OnceLock};

use clap::{Arg, CommandFactory as _, FromArgMatches as _, Parser as _};
use emend_chassis::{
    ConfigError,
    config::{ConfigFile, named_by},
};
use etcetera::BaseStrategy as _;

pub use self::template::template;
use crate::args::{Arguments, Command};

/// What the file is called.
pub const FILE: &str = "emend.toml";
/// What environment variables of this program begin with.
const PREFIX: &str = "EMEND_";

/// Variables that name the file, or are of one service alone, or say in the words of one service what --generator,
/// --grader and --rewriter say.
const NO_KEYS: [&str; 10] = [
    "EMEND_CONFIG",
    "EMEND_LISTEN",
    "EMEND_ORCHESTRATOR_URL",
    "EMEND_GRADER_URL",
    "EMEND_GENERATOR_URL",
    "EMEND_REWRITER_URL",
    "EMEND_WEB_SEARCH_URL",
    "EMEND_GENERATOR_BACKEND",
    "EMEND_GRADER_BACKEND",
    "EMEND_REWRITER_BACKEND",
];

/// The file in use, which holds for the process as its environment does.
static IN_USE: OnceLock<ConfigFile> = OnceLock::new();

/// The configuration file in use, if there is one.
#[must_use]
pub fn in_use() -> Option<&'static ConfigFile> {
    IN_USE.get()
}

/// The value of an environment variable, else that of its key in the file in use.
#[must_use]
pub fn value(variable: &str) -> Option<String> {
    let set = std::env::var(variable).ok().filter(|value| !value.is_empty());
    set.or_else(|| in_use()?.get(&key_of(variable)?))
}

/// The key of an option: its environment variable without the prefix. `None` where the file cannot have it.
pub(crate) fn key(argument: &Arg) -> Option<String> {
    let variable = argument.get_env()?.to_str()?;
    (!argument.is_hide_set()).then(|| key_of(variable)).flatten()
}

fn key_of(variable: &str) -> Option<String> {
    if NO_KEYS.contains(&variable) {
        return None;
    }
    let name = variable.strip_prefix(PREFIX)?;
    Some(name.to_ascii_lowercase().replace('_', "-"))
}

/// The command line, and the services that it starts.
fn commands() -> [clap::Command; 8] {
    [
        Arguments::command(),
        emend_orchestrator::Options::command(),
        emend_retriever::Options::command(),
        emend_grader::Options::command(),
        emend_generator::Options::command(),
        emend_rewriter::Options::command(),
        emend_web_search::Options::command(),
        emend_gateway::Options::command(),
    ]
}

/// Every key that the file may have.
fn keys() -> BTreeSet<String> {
    fn collect(command: &clap::Command, keys: &mut BTreeSet<String>) {
        keys.extend(command.get_arguments().filter_map(key));
        command.get_subcommands().for_each(|sub| collect(sub, keys));
    }
    let mut keys = BTreeSet::new();
    commands().iter().for_each(|command| collect(command, &mut keys));
    keys
}

/// Reads the command line, the environment and the configuration file: a flag before the environment before the file
/// before the default. The file is that of `--config` or `EMEND_CONFIG`, else [`default_file`], if there is one.
///
/// # Errors
/// [`ConfigError`]: the command line or the file is wrong; also `--help` and `--version`.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, ConfigError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let alone = Arguments::try_parse_from(&arguments);
    // Help must not wait for a file to be right, nor must the command that writes one.
    let is_done = match &alone {
        Ok(parsed) => !reads_settings(&parsed.command),
        Err(error) => !error.use_stderr(),
    };
    if is_done {
        return Ok(alone?);
    }
    let Some(path) = file(&arguments) else {
        return Ok(alone?);
    };
    let file = ConfigFile::read(&path)?;
    file.check(keys())?;
    let mut command = file.layer(Arguments::command(), &key)?;
    let matches = command.clone().try_get_matches_from(arguments)?;
    let parsed = Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    // It is read once.
    let _ = IN_USE.set(file);
    Ok(parsed)
}

/// The file that is read where none is named: `emend/emend.toml` in the user's configuration folder. `None` without a home
/// folder. The working folder is not looked at: its files may be anybody's, and settings say where keys are sent.
#[must_use]
pub fn default_file() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("emend").join(FILE))
}

fn file(arguments: &[OsString]) -> Option<PathBuf> {
    named_by(arguments, &Arguments::command()).or_else(|| default_file().filter(|file| file.is_file()))
}

/// Whether a command reads the file. `emend health` runs beside a service, whose EMEND_CONFIG is a file of its own kind.
fn reads_settings(command: &Command) -> bool {
    !matches!(
        command,
        Command::Init(_) | Command::Completions { .. } | Command::Man { .. } | Command::Health(_)
    )
}

#[cfg(test)]
mod tests;
