//! The in-process chat model to run: the value of `--llm-local`.

use std::{convert::Infallible, fmt, path::PathBuf, str::FromStr};

/// A chat model that runs in this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LocalModel {
    /// `smollm2`: SmolLM2-135M-Instruct, downloaded by name. A small, weak model for trying out the local path.
    SmolLm2,
    /// The path of a GGUF file.
    File(PathBuf),
}

impl fmt::Display for LocalModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SmolLm2 => f.write_str("smollm2"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl FromStr for LocalModel {
    type Err = Infallible;

    /// Parses a model name. Any unknown name is a path; whether the file exists is checked when it is loaded.
    fn from_str(value: &str) -> Result<Self, Infallible> {
        Ok(match value.trim() {
            "smollm2" => Self::SmolLm2,
            path => Self::File(path.into()),
        })
    }
}

#[cfg(test)]
mod tests;
