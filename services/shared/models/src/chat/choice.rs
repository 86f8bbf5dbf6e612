//! Which chat model in this process: the value of `--llm-local`.

use std::{convert::Infallible, fmt, path::PathBuf, str::FromStr};

/// A chat model that runs in this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LocalModel {
    /// `smollm2`: SmolLM2-135M-Instruct, fetched by name. It is small and weak, and shows that the way works.
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

    /// What is no known name is a path; that nothing is there shows when it is loaded.
    fn from_str(value: &str) -> Result<Self, Infallible> {
        Ok(match value.trim() {
            "smollm2" => Self::SmolLm2,
            path => Self::File(path.into()),
        })
    }
}

#[cfg(test)]
mod tests;
