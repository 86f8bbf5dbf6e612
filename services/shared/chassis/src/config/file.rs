//! The TOML file as a layer of clap defaults.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Command};
use toml::{Table, Value};

/// The flag that names the file.
const CONFIG: &str = "config";

/// Options that are questions to the program, not settings.
const NOT_SETTINGS: [&str; 3] = ["help", "version", CONFIG];

/// What is wrong with a configuration file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read the configuration file {}: check --config and EMEND_CONFIG", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// It is not TOML.
    #[error("the configuration file {} is not valid TOML", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// It has a key that no option has.
    #[error("unknown key \"{key}\" in {}{}; known keys: {}", path.display(), suggestion(nearest.as_deref()), known.join(", "))]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key as written, with dots between tables.
        key: String,
        /// The known key nearest to it, if one is near.
        nearest: Option<String>,
        /// Every known key.
        known: Vec<String>,
    },
    /// Two spellings of one key, for example `log-format` and `log_format`.
    #[error("\"{first}\" and \"{second}\" in {} are the same option: keep one", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// One spelling.
        first: String,
        /// The other.
        second: String,
    },
    /// A value that an option cannot have.
    #[error("\"{key}\" in {} must be {expected}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key as written.
        key: String,
        /// What is allowed.
        expected: &'static str,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest
        .map(|nearest| format!(", did you mean \"{nearest}\"?"))
        .unwrap_or_default()
}

/// The file that the command line or the environment names, read before clap does: what is in it decides what clap will
/// take for missing.
pub(super) fn named_by(arguments: &[OsString], command: &Command) -> Option<PathBuf> {
    let argument = command
        .get_arguments()
        .find(|argument| argument.get_long() == Some(CONFIG))?;
    let mut arguments = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    while let Some(text) = arguments.next() {
        if text == "--config" {
            return arguments.next().map(PathBuf::from);
        }
        if let Some(path) = text.to_str().and_then(|text| text.strip_prefix("--config=")) {
            return Some(path.into());
        }
    }
    // The name of the variable is the argument's own, so that it is written down once.
    let path = argument.get_env().and_then(std::env::var_os)?;
    (!path.is_empty()).then(|| path.into())
}

/// Makes the file's values the defaults of the command's arguments.
pub(super) fn layer(mut command: Command, path: &Path) -> Result<Command, FileError> {
    let text = std::fs::read_to_string(path).map_err(|source| FileError::Read {
        path: path.to_owned(),
        source,
    })?;
    let table: Table = text.parse().map_err(|source| FileError::Syntax {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    let options: BTreeMap<String, (clap::Id, bool)> = command
        .get_arguments()
        .filter_map(|argument| Some((argument.get_long()?.to_owned(), argument)))
        .filter(|(long, _)| !NOT_SETTINGS.contains(&long.as_str()))
        .map(|(long, argument)| (long, (argument.get_id().clone(), takes_many(argument.get_action()))))
        .collect();

    let mut flat = Vec::new();
    flatten(&table, String::new(), &mut flat);
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for (key, value) in flat {
        let long = flag_name(&key);
        let Some((id, many)) = options.get(&long) else {
            return Err(unknown(path, key, &long, options.keys()));
        };
        if let Some(first) = seen.insert(long, key.clone()) {
            return Err(FileError::Twice {
                path: path.to_owned(),
                first,
                second: key,
            });
        }
        let values = texts(value, *many).map_err(|expected| FileError::Value {
            path: path.to_owned(),
            key,
            expected,
        })?;
        command = command.mut_arg(id.clone(), |argument| argument.required(false).default_values(values));
    }
    Ok(command)
}

fn takes_many(action: &ArgAction) -> bool {
    matches!(action, ArgAction::Append)
}

fn flag_name(key: &str) -> String {
    key.replace(['.', '_'], "-")
}

/// Names every leaf by the path to it.
fn flatten<'a>(table: &'a Table, prefix: String, flat: &mut Vec<(String, &'a Value)>) {
    for (key, value) in table {
        let key = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match value {
            Value::Table(inner) => flatten(inner, key, flat),
            _ => flat.push((key, value)),
        }
    }
}

fn unknown<'a>(path: &Path, key: String, long: &str, known: impl Iterator<Item = &'a String>) -> FileError {
    let known: Vec<String> = known.cloned().collect();
    let nearest = emend_core::nearest(long, known.iter().map(String::as_str)).map(str::to_owned);
    FileError::UnknownKey {
        path: path.to_owned(),
        key,
        nearest,
        known,
    }
}

/// A TOML value as it would be written on the command line.
fn texts(value: &Value, many: bool) -> Result<Vec<String>, &'static str> {
    match value {
        Value::Array(values) if many => values.iter().map(text).collect(),
        Value::Array(_) => Err("a single value, not an array"),
        value => Ok(vec![text(value)?]),
    }
}

fn text(value: &Value) -> Result<String, &'static str> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(yes) => Ok(yes.to_string()),
        Value::Datetime(time) => Ok(time.to_string()),
        Value::Array(_) => Err("a list of plain values, not of lists"),
        Value::Table(_) => Err("a plain value, not a table"),
    }
}
