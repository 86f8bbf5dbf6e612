//! Validation that names every bad field at once.

use emend_core::limits::{MAX_HEADING_CHARS, MAX_HEADINGS};
use emend_core::{FieldViolation, Reason, ServiceError};

use crate::status::status;

/// Collects what is wrong with a request while it is read, so that the caller learns all of it in one answer.
///
/// ```
/// # use emend_chassis::Violations;
/// let top_k = 0;
/// let mut violations = Violations::new();
/// violations.require((1..=100).contains(&top_k), "top_k", || format!("must be 1 to 100, is {top_k}"));
/// assert!(violations.finish().is_err());
/// ```
#[derive(Debug, Default)]
pub struct Violations {
    violations: Vec<FieldViolation>,
    /// That of every violation so far, where it is the same.
    reason: Option<Reason>,
}

impl Violations {
    /// Starts with nothing wrong.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a violation of `field` unless `ok`.
    pub fn require(&mut self, ok: bool, field: &str, description: impl FnOnce() -> String) -> &mut Self {
        if !ok {
            self.push(field, description());
        }
        self
    }

    /// Adds a violation of `field`.
    pub fn push(&mut self, field: impl Into<String>, description: impl Into<String>) -> &mut Self {
        self.push_as(Reason::FieldInvalid, field, description)
    }

    /// Adds a violation of `field` that has a reason of its own. The request is refused for that reason if it is the one
    /// of every violation.
    pub fn push_as(&mut self, reason: Reason, field: impl Into<String>, description: impl Into<String>) -> &mut Self {
        let before = self.reason.get_or_insert(reason);
        if *before != reason {
            *before = Reason::FieldInvalid;
        }
        self.violations.push(FieldViolation {
            field: field.into(),
            description: description.into(),
        });
        self
    }

    /// Adds violations of `field`, the headings above a passage, where they are more or longer than a passage may have.
    pub fn headings(&mut self, field: &str, headings: &[String]) -> &mut Self {
        let count = headings.len();
        self.require(count <= MAX_HEADINGS, field, || {
            format!("must be at most {MAX_HEADINGS} headings, are {count}")
        });
        let lengths = headings.iter().map(|heading| heading.chars().count());
        let longest = lengths.take(MAX_HEADINGS).max().unwrap_or(0);
        self.require(longest <= MAX_HEADING_CHARS, field, || {
            format!("must be at most {MAX_HEADING_CHARS} characters each, one has {longest}")
        })
    }

    /// Whether nothing is wrong so far.
    pub fn is_empty(&self) -> bool {
        self.violations.is_empty()
    }

    /// Ends the validation.
    ///
    /// # Errors
    /// [`InvalidRequest`] with every violation, where there is one.
    pub fn finish(self) -> Result<(), InvalidRequest> {
        match self.reason {
            None => Ok(()),
            Some(reason) => Err(InvalidRequest {
                violations: self.violations,
                reason,
            }),
        }
    }
}

/// A request with at least one bad field. INVALID_ARGUMENT with a `google.rpc.BadRequest`.
#[derive(Clone, Debug, thiserror::Error)]
#[error("invalid request: {}", list(violations))]
pub struct InvalidRequest {
    violations: Vec<FieldViolation>,
    reason: Reason,
}

fn list(violations: &[FieldViolation]) -> String {
    let all: Vec<String> = violations
        .iter()
        .map(|v| format!("{}: {}", v.field, v.description))
        .collect();
    all.join("; ")
}

impl InvalidRequest {
    /// A request with exactly one bad field.
    pub fn field(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            violations: vec![FieldViolation {
                field: field.into(),
                description: description.into(),
            }],
            reason: Reason::FieldInvalid,
        }
    }
}

impl ServiceError for InvalidRequest {
    fn reason(&self) -> Reason {
        self.reason
    }

    fn violations(&self) -> Vec<FieldViolation> {
        self.violations.clone()
    }
}

impl From<InvalidRequest> for tonic::Status {
    fn from(error: InvalidRequest) -> Self {
        status(&error)
    }
}

#[cfg(test)]
mod tests;
