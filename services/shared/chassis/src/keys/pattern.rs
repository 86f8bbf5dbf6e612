//! Names that a key may use: one name, or all that begin alike.

use std::fmt;
use std::str::FromStr;

use emend_core::cut;

/// Longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 256;

/// A name, or the beginning of names followed by `*`; `*` alone is every name.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Pattern {
    text: String,
    is_prefix: bool,
}

impl Pattern {
    /// Every name.
    pub fn all() -> Self {
        Self {
            text: String::new(),
            is_prefix: true,
        }
    }

    /// Whether it is every name.
    pub fn is_all(&self) -> bool {
        self.is_prefix && self.text.is_empty()
    }

    /// Whether a name is one of its names.
    pub fn matches(&self, name: &str) -> bool {
        if self.is_prefix {
            name.starts_with(&self.text)
        } else {
            name == self.text
        }
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, is_prefix) = match text.strip_suffix('*') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let fits = text.len() <= MAX_PATTERN_BYTES && !text.is_empty();
        if !fits || name.contains(|char: char| char == '*' || char.is_control()) {
            return Err(format!(
                "`{}` is no name: write a name of at most {MAX_PATTERN_BYTES} bytes, the beginning of names as team-*, or * \
                 for all",
                cut(text)
            ));
        }
        Ok(Self {
            text: name.to_owned(),
            is_prefix,
        })
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        f.write_str(if self.is_prefix { "*" } else { "" })
    }
}
