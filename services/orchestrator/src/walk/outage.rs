//! Services that failed, and what that means for a walk that has no answer.

use emend_core::Code;
use emend_proto::v1;

use super::services::{Dependency, Failure};

/// Most bytes of a failure's cause.
pub(super) const MAX_CAUSE_BYTES: usize = 1024;

/// The services whose last call failed, in the order in which they began to.
#[derive(Debug, Default)]
pub(super) struct Outages {
    open: Vec<Failure>,
    /// The service whose failure decided the last edge.
    last: Option<Dependency>,
    /// The last failure of every service that failed, also of those that answered afterwards.
    all: Vec<Failure>,
    /// Whether the retriever has answered.
    searched_documents: bool,
}

impl Outages {
    /// Remembers that a call failed, whatever became of its step.
    pub(super) fn noted(&mut self, failure: &Failure) {
        replace(&mut self.all, failure);
    }

    /// Remembers that a failure decided the outcome of a step.
    pub(super) fn failed(&mut self, failure: &Failure) {
        replace(&mut self.open, failure);
        replace(&mut self.all, failure);
    }

    /// Remembers that a service answered: an earlier failure of it no longer counts.
    pub(super) fn answered(&mut self, dependency: Dependency) {
        self.open.retain(|open| open.dependency != dependency);
        self.searched_documents |= dependency == Dependency::Retriever;
    }

    /// The services that failed, each with its last failure, in the order in which they first did.
    pub(super) fn all(&self) -> &[Failure] {
        &self.all
    }

    /// Why the documents were never searched although the walk tried to; what it answers then says nothing of them.
    pub(super) fn documents_unsearched(&self) -> Option<&Failure> {
        let mut open = self.open.iter();
        open.find(|open| open.dependency == Dependency::Retriever && !self.searched_documents)
    }

    /// Remembers which failure, if any, decided the edge that the walk takes next.
    pub(super) fn decided(&mut self, failure: Option<&Failure>) {
        self.last = failure.map(|failure| failure.dependency);
    }

    /// The failure because of which a walk without an answer has none; `None` if it has none because
    /// the evidence does not answer the question.
    ///
    /// Without the retriever or the generator nothing is known of what the documents answer. The
    /// others are replaced by the rest of a walk, unless a failure of theirs ended it. A web search
    /// counts only if nothing else could be searched.
    pub(super) fn cause(&self, searched_evidence: bool) -> Option<&Failure> {
        self.open.iter().find(|open| match open.dependency {
            Dependency::Retriever | Dependency::Generator => true,
            Dependency::Grader | Dependency::Rewriter => self.last == Some(open.dependency),
            Dependency::WebSearch => !searched_evidence,
        })
    }
}

/// Puts a failure in the place of an earlier one of the same service.
fn replace(failures: &mut Vec<Failure>, failure: &Failure) {
    match failures.iter_mut().find(|known| known.dependency == failure.dependency) {
        Some(known) => known.clone_from(failure),
        None => failures.push(failure.clone()),
    }
}

/// The failure as a result has it.
pub(super) fn message(failure: &Failure) -> v1::Failure {
    let mut cause = failure.message.clone();
    cause.truncate(cause.floor_char_boundary(MAX_CAUSE_BYTES));
    v1::Failure {
        service: failure.dependency.to_string(),
        code: failure.code.name().to_owned(),
        reason: failure.reason.name().to_owned(),
        cause,
        advice: advice(failure),
    }
}

/// What a caller can do about a failure, one line.
fn advice(failure: &Failure) -> String {
    let service = failure.dependency;
    let has_model = matches!(
        service,
        Dependency::Grader | Dependency::Generator | Dependency::Rewriter
    );
    match failure.code {
        Code::FailedPrecondition | Code::InvalidArgument | Code::NotFound if has_model => {
            format!("check the API key, the URL and the name of the language model that the {service} uses")
        }
        Code::Unavailable if has_model => {
            format!("check that the {service} runs, and the server of the language model that it uses")
        }
        Code::FailedPrecondition if service == Dependency::WebSearch => {
            "configure a web search provider, or use a graph without web search".to_owned()
        }
        Code::Unavailable => format!("check that the {service} runs and can be reached"),
        Code::DeadlineExceeded => format!("allow the walk more time, or find out why the {service} is slow"),
        Code::ResourceExhausted => format!("ask again later, or run more replicas of the {service}"),
        _ => format!("see the log of the {service}"),
    }
}

#[cfg(test)]
mod tests;
