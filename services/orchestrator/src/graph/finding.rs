//! What is wrong with a graph file.

use std::fmt;

use emend_core::{cut, list_names};

/// Most findings about one graph; further ones are counted.
pub(super) const MAX_FINDINGS: usize = 100;

/// One thing that is wrong with a graph file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong, what was expected, and what to do.
    pub message: String,
    /// The node it is about; `None` when it is about the file.
    pub node: Option<String>,
    /// Line in the file, from 1; 0 when unknown.
    pub line: u32,
}

impl Finding {
    /// A finding about the file.
    pub(super) fn file(line: u32, message: impl Into<String>) -> Finding {
        Finding {
            message: message.into(),
            node: None,
            line,
        }
    }

    /// A finding about a node.
    pub(super) fn node(line: u32, node: &str, message: impl Into<String>) -> Finding {
        Finding {
            message: message.into(),
            node: Some(node.to_owned()),
            line,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = &self.node {
            write!(f, "node `{}`: ", cut(node))?;
        }
        f.write_str(&self.message)
    }
}

/// A graph file that cannot be walked, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InvalidGraph {
    /// The file's name.
    pub file: String,
    /// What is wrong, in the file's order; never empty.
    pub findings: Vec<Finding>,
}

impl InvalidGraph {
    /// The first findings, in the file's order; the last one says how many more there are.
    pub(super) fn new(file: &str, mut findings: Vec<Finding>) -> InvalidGraph {
        let more = findings.len().saturating_sub(MAX_FINDINGS);
        if more > 0 {
            findings.truncate(MAX_FINDINGS);
            findings.push(Finding::file(0, format!("{more} more; correct these first")));
        }
        InvalidGraph {
            file: file.to_owned(),
            findings,
        }
    }

    /// As many of the findings as fit into so many bytes, at least the beginning of the first, and how many more there
    /// are: for an error that has to be short.
    pub fn brief(&self, most: usize) -> String {
        let mut text = String::new();
        for (shown, finding) in self.findings.iter().enumerate() {
            let at = match finding.line {
                0 => String::new(),
                line => format!("line {line}: "),
            };
            let finding = format!("{at}{finding}");
            if text.is_empty() {
                text.push_str(&finding[..finding.floor_char_boundary(most)]);
            } else if text.len() + finding.len() + 2 <= most {
                text.push_str("; ");
                text.push_str(&finding);
            } else {
                text.push_str(&format!(
                    "; and {} more, which ValidateGraph lists",
                    self.findings.len() - shown
                ));
                break;
            }
        }
        text
    }
}

impl fmt::Display for InvalidGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.findings.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}:", self.file)?;
            if finding.line > 0 {
                write!(f, "{}:", finding.line)?;
            }
            write!(f, " {finding}")?;
        }
        Ok(())
    }
}

/// The names in backticks, as [`list_names`] lists them; `none` if there are none.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    match list_names(names.into_iter().map(|name| format!("`{}`", cut(name)))) {
        none if none.is_empty() => "none".to_owned(),
        names => names,
    }
}
