//! How walks end.

use std::fmt;

use emend_proto::v1::{Question, WalkResult, WalkStatus};
use emend_tests::question;
use tonic::{Code, Status};

use crate::processes::NAMES;

/// A walk of it with the question below asks every service: one of the two documents does not help, and so the web is
/// searched.
pub(crate) const GRAPH: &str = "corrective-rag-binary";

/// A question that every service helps to answer.
pub(crate) fn asked() -> Question {
    question("Who was the engineer of the Torvik lighthouse?", GRAPH, "village")
}

/// How many walks ended in which way.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// As they do where nothing fails.
    pub(crate) sound: usize,
    /// With a result that is worse, and says so.
    pub(crate) degraded: usize,
    /// Without an answer, because of a service that is named.
    pub(crate) failed: usize,
    /// With an error of the orchestrator's own.
    pub(crate) refused: usize,
}

impl Outcomes {
    /// Counts a walk while this service was in trouble; one that ends in another way than it may fails the test.
    pub(crate) fn add(&mut self, service: &str, address: &str, walked: &Result<WalkResult, Status>) {
        match walked {
            Ok(result) if is_sound(result) => self.sound += 1,
            Ok(result) if result.status() == WalkStatus::Failed => {
                let failure = result.failure.as_ref().expect("a failed walk says why");
                // On a slow machine the time may end at another service.
                let late = failure.code == "DEADLINE_EXCEEDED" && NAMES.contains(&failure.service.as_str());
                assert!(failure.service == service || late, "{service}: {failure:?}");
                self.failed += 1;
            }
            Ok(result) => {
                let said = result.steps.iter().any(|step| !step.error.is_empty());
                assert!(said || !result.reason.is_empty(), "{service}: {result:?}");
                self.degraded += 1;
            }
            Err(status) => {
                match status.code() {
                    Code::DeadlineExceeded => {}
                    // What it says of itself.
                    Code::ResourceExhausted => assert_eq!(service, "orchestrator", "{status:?}"),
                    Code::Unavailable => {
                        let named = status.message().contains(address);
                        assert!(service == "orchestrator" && named, "{service}: {status:?}");
                    }
                    _ => panic!("{service}: {status:?}"),
                }
                self.refused += 1;
            }
        }
    }

    /// All of them.
    pub(crate) fn count(&self) -> usize {
        self.sound + self.degraded + self.failed + self.refused
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>6} {:>9} {:>7} {:>8}",
            self.sound, self.degraded, self.failed, self.refused
        )
    }
}

/// Whether a walk ended as it does where nothing fails.
pub(crate) fn is_sound(result: &WalkResult) -> bool {
    result.status() == WalkStatus::Answered && result.steps.iter().all(|step| step.error.is_empty())
}
