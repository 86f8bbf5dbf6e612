//! The TOML file as a layer of clap defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command};
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// The flag that names the file.
const CONFIG: &str = "config";

/// Options that are questions to the program, not settings.
pub(super) const NOT_SETTINGS: [&str; 3] = ["help", "version", CONFIG];

/// Largest file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Most known keys that an error lists.
const MAX_LISTED: usize = 60;

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
        source: io::Error,
    },
    /// It is not TOML.
    #[error("the configuration file {} is not valid TOML: {problem}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        problem: String,
    },
    /// It has a key that no option has.
    #[error("unknown key \"{key}\" in {}, line {line}{}{}", path.display(), suggestion(nearest.as_deref()), list(known))]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key as written, with dots between tables.
        key: String,
        /// The known key nearest to it, if one is near.
        nearest: Option<String>,
        /// Every known key.
        known: Vec<String>,
    },
    /// Two spellings of one key, for example `log-format` and `log_format`.
    #[error("\"{first}\" and \"{second}\" in {}, line {line}, are the same option: keep one", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The line of the second, from 1.
        line: usize,
        /// One spelling.
        first: String,
        /// The other.
        second: String,
    },
    /// A value that an option cannot have.
    #[error("\"{key}\" in {}, line {line}: {reason}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key as written.
        key: String,
        /// What is allowed.
        reason: String,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest
        .map(|nearest| format!(", did you mean \"{nearest}\"?"))
        .unwrap_or_default()
}

fn list(known: &[String]) -> String {
    if known.len() > MAX_LISTED {
        return String::new();
    }
    format!("; known keys: {}", known.join(", "))
}

/// The file that the command line or the environment names, read before clap does: what is in it decides what clap will
/// take for missing.
pub fn named_by(arguments: &[OsString], command: &Command) -> Option<PathBuf> {
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

/// A file of settings: keys with plain values or lists of them, and the lines that they are on.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    path: PathBuf,
    settings: Vec<Setting>,
}

#[derive(Clone, Debug)]
struct Setting {
    /// As written, with dots between tables.
    key: String,
    line: usize,
    value: Value,
}

impl ConfigFile {
    /// Reads a file of at most 1 MiB.
    ///
    /// # Errors
    /// [`FileError::Read`] and [`FileError::Syntax`].
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let failed = |source| FileError::Read {
            path: path.to_owned(),
            source,
        };
        let mut text = String::new();
        let file = emend_core::open_regular(path).map_err(failed)?;
        file.take(MAX_FILE_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(failed)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(failed(io::Error::other(format!(
                "it has more than {MAX_FILE_BYTES} bytes"
            ))));
        }
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, FileError> {
        let syntax = |error| FileError::Syntax {
            path: path.to_owned(),
            problem: problem_of(text, &error),
        };
        let table: Table = text.parse().map_err(syntax)?;
        let mut starts = BTreeMap::new();
        places(DeTable::parse(text).map_err(syntax)?.get_ref(), "", &mut starts);
        let mut settings = Vec::new();
        flatten(table, "", &mut settings);
        for setting in &mut settings {
            let start = starts.get(&setting.key).copied().unwrap_or_default();
            setting.line = line_of(text, start);
        }
        settings.sort_by_key(|setting| setting.line);
        Ok(Self {
            path: path.to_owned(),
            settings,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many settings it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.settings.len()
    }

    /// Whether it has no setting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// The value of a key as it would be written on the command line; `None` where it is absent or a list.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<String> {
        let setting = self.settings.iter().find(|setting| flag_name(&setting.key) == key)?;
        text(&setting.value).ok()
    }

    /// Makes sure that every key is one of `known`, and stands there once.
    ///
    /// # Errors
    /// [`FileError::UnknownKey`] with the nearest, and [`FileError::Twice`].
    pub fn check(&self, known: BTreeSet<String>) -> Result<(), FileError> {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for Setting { key, line, .. } in &self.settings {
            let flag = flag_name(key);
            if !known.contains(&flag) {
                // A secret has no key: the file that holds it has.
                let of_file = known.get(&format!("{flag}-file")).map(String::as_str);
                let nearest = of_file.or_else(|| emend_core::nearest(&flag, known.iter().map(String::as_str)));
                return Err(FileError::UnknownKey {
                    path: self.path.clone(),
                    line: *line,
                    key: key.clone(),
                    nearest: nearest.map(str::to_owned),
                    known: known.into_iter().collect(),
                });
            }
            if let Some(first) = seen.insert(flag, key) {
                return Err(FileError::Twice {
                    path: self.path.clone(),
                    line: *line,
                    first: first.to_owned(),
                    second: key.clone(),
                });
            }
        }
        Ok(())
    }

    /// Makes the file's values the defaults of the arguments of a command and its subcommands whose `key` it has.
    ///
    /// # Errors
    /// [`FileError::Value`] for a value that an argument cannot have.
    pub fn layer(&self, mut command: Command, key: &dyn Fn(&Arg) -> Option<String>) -> Result<Command, FileError> {
        let arguments: BTreeMap<String, Arg> = command
            .get_arguments()
            .filter_map(|argument| Some((key(argument)?, argument.clone())))
            .collect();
        for setting in &self.settings {
            let Some(argument) = arguments.get(&flag_name(&setting.key)) else {
                continue;
            };
            let values = texts(&setting.value, matches!(argument.get_action(), ArgAction::Append))
                .map_err(str::to_owned)
                .and_then(|values| accepted(argument, values))
                .map_err(|reason| FileError::Value {
                    path: self.path.clone(),
                    line: setting.line,
                    key: setting.key.clone(),
                    reason,
                })?;
            let id = argument.get_id();
            // A group is satisfied by what is given, which a default is not.
            let groups: Vec<_> = command
                .get_groups()
                .filter(|group| group.get_args().any(|member| member == id))
                .map(|group| group.get_id().clone())
                .collect();
            for group in groups {
                command = command.mut_group(group, |group| group.required(false));
            }
            command = command.mut_arg(id, |argument| argument.required(false).default_values(values));
        }
        let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        for name in names {
            let Some(sub) = command.find_subcommand(&name).cloned() else {
                continue;
            };
            let sub = self.layer(sub, key)?;
            command = command.mut_subcommand(name, |_| sub);
        }
        Ok(command)
    }
}

/// The values, where an argument takes them: clap does not say of a default where it comes from.
fn accepted(argument: &Arg, values: Vec<String>) -> Result<Vec<String>, String> {
    let flag = argument.get_long().unwrap_or_default().to_owned();
    let mut alone = Arg::new("value")
        .long(flag.clone())
        .value_parser(argument.get_value_parser().clone())
        .action(ArgAction::Append)
        .allow_hyphen_values(true);
    if let Some(delimiter) = argument.get_value_delimiter() {
        alone = alone.value_delimiter(delimiter);
    }
    let words = values.iter().map(|value| format!("--{flag}={value}"));
    let command = Command::new("value")
        .no_binary_name(true)
        .disable_help_flag(true)
        .arg(alone);
    match command.try_get_matches_from(words) {
        Ok(_) => Ok(values),
        Err(error) => {
            let shown = error.to_string();
            let said = shown.split("\n\n").next().unwrap_or_default();
            Err(said.trim_start_matches("error: ").trim().to_owned())
        }
    }
}

/// What is wrong with a TOML file, and where. Not the error as it shows itself: it quotes the line, which may be one that a
/// secret was pasted into.
pub(crate) fn problem_of(text: &str, error: &toml::de::Error) -> String {
    match error.span() {
        Some(span) => format!("line {}: {}", line_of(text, span.start), error.message()),
        None => error.message().to_owned(),
    }
}

/// The line of a byte, from 1.
fn line_of(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().iter().take(byte);
    before.filter(|byte| **byte == b'\n').count() + 1
}

fn flag_name(key: &str) -> String {
    key.replace(['.', '_'], "-")
}

/// The path to a key, with dots between tables.
fn below(prefix: &str, key: &str) -> String {
    if prefix.is_empty() {
        key.to_owned()
    } else {
        format!("{prefix}.{key}")
    }
}

/// Names every leaf by the path to it.
fn flatten(table: Table, prefix: &str, settings: &mut Vec<Setting>) {
    for (key, value) in table {
        let key = below(prefix, &key);
        match value {
            Value::Table(inner) => flatten(inner, &key, settings),
            value => settings.push(Setting { key, line: 1, value }),
        }
    }
}

/// Where every leaf begins, in bytes.
fn places(table: &DeTable<'_>, prefix: &str, starts: &mut BTreeMap<String, usize>) {
    for (key, value) in table {
        let path = below(prefix, key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => places(inner, &path, starts),
            _ => {
                starts.insert(path, key.span().start);
            }
        }
    }
}

/// A TOML value as it would be written on the command line.
fn texts(value: &Value, many: bool) -> Result<Vec<String>, &'static str> {
    match value {
        Value::Array(values) if many => values.iter().map(text).collect(),
        Value::Array(_) => Err("it must be a single value, not an array"),
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
        Value::Array(_) => Err("it must be a list of plain values, not of lists"),
        Value::Table(_) => Err("it must be a plain value, not a table"),
    }
}
