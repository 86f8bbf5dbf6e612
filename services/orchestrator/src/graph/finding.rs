//! What is wrong with a graph file.

use std::fmt;

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
            write!(f, "node `{node}`: ")?;
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
