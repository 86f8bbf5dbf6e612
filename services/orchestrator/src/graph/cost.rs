//! What a visit of a node costs at most, and what it leaves behind for the visits after it.

use super::{
    EvaluateDocumentsOutcome, GenerateSegmentOutcome, GradeDocumentsOutcome, MAXIMUM_PASSAGES, Options, Outcome,
    RefineAndSearchOutcome, RefineOutcome, RetrieveOutcome, Task, WebResults, WebSearchOutcome,
};

/// Passages and hypotheses that a walk holds: what the cost of a step depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Standing {
    /// Passages held.
    pub held: u32,
    /// Those of them that have not been graded.
    pub ungraded: u32,
    /// Those of them that have not been refined.
    pub unrefined: u32,
    /// Hypotheses of the beam; 0 before the first segment.
    pub hypotheses: u32,
}

/// What a visit costs at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Model calls, where each passage is graded by a call of its own.
    pub model_calls: u64,
    /// Web searches.
    pub web_searches: u64,
}

impl Standing {
    /// The most that a visit with this task costs, however it ends.
    pub fn cost(self, task: Task, options: &Options) -> Cost {
        let calls = |calls: u32| Cost {
            model_calls: calls.into(),
            web_searches: 0,
        };
        match task {
            Task::DecideRetrieval { threshold } => {
                let settled = threshold
                    .and_then(|threshold| threshold.ratio(options))
                    .is_some_and(|threshold| !(0.0..1.0).contains(&threshold));
                calls(u32::from(!settled))
            }
            Task::Retrieve { .. } | Task::Pass | Task::FinalizeResponse => calls(0),
            Task::GradeDocuments { .. } => calls(self.ungraded),
            Task::EvaluateDocuments { .. } => calls(self.held),
            Task::Refine(_) => calls(self.unrefined),
            Task::RefineAndSearch { .. } => Cost {
                model_calls: u64::from(self.unrefined) + 1,
                web_searches: 1,
            },
            Task::WebSearch { .. } => Cost {
                model_calls: 0,
                web_searches: 1,
            },
            Task::Generate(_) => calls(u32::from(self.held > 0)),
            Task::GenerateSegment { .. } if self.held == 0 => calls(0),
            Task::GenerateSegment { .. } => Cost {
                // Each candidate is written and graded twice; each passage is graded once.
                model_calls: u64::from(self.ungraded) + 3 * u64::from(self.hypotheses.max(1)) * u64::from(self.held),
                web_searches: 0,
            },
            Task::Rewrite { .. }
            | Task::GenerateWithoutDocuments(_)
            | Task::GradeGroundedness { .. }
            | Task::GradeUsefulness => calls(1),
            Task::GradeGeneration { .. } => calls(2),
        }
    }

    /// The most that is held after a visit that ended so.
    pub fn after(self, task: Task, outcome: Outcome, options: &Options) -> Standing {
        let is = |other: Outcome| outcome == other;
        match task {
            Task::Retrieve { top_k } => {
                let found = if is(RetrieveOutcome::Passages.into()) {
                    top_k.count(options).min(MAXIMUM_PASSAGES)
                } else if is(RetrieveOutcome::NoPassages.into()) {
                    0
                } else {
                    return self;
                };
                Standing {
                    held: found,
                    ungraded: found,
                    unrefined: found,
                    ..self
                }
            }
            Task::GradeDocuments { .. } if is(GradeDocumentsOutcome::NoneRelevant.into()) => self.emptied(),
            Task::EvaluateDocuments { .. } if is(EvaluateDocumentsOutcome::Incorrect.into()) => self.emptied(),
            Task::GradeDocuments { .. } | Task::EvaluateDocuments { .. } => Standing { ungraded: 0, ..self },
            Task::Refine(_) if is(RefineOutcome::NothingKept.into()) => self.emptied(),
            Task::Refine(_) if is(RefineOutcome::Unavailable.into()) => self,
            Task::Refine(_) => self.refined(),
            Task::RefineAndSearch { max_results, .. } => {
                if is(RefineAndSearchOutcome::NothingKept.into()) {
                    self.emptied()
                } else if is(RefineAndSearchOutcome::Unavailable.into()) {
                    self
                } else if is(RefineAndSearchOutcome::Results.into()) {
                    self.refined().found(max_results.count(options))
                } else {
                    self.refined()
                }
            }
            Task::WebSearch { results } if is(WebSearchOutcome::Results.into()) => {
                let (WebResults::Exactly(most) | WebResults::FillTo(most)) = results;
                self.found(most.count(options))
            }
            Task::GenerateSegment { beam_width, .. } => {
                let grew = is(GenerateSegmentOutcome::Extended.into());
                let candidates = self.hypotheses.max(1).saturating_mul(self.held);
                Standing {
                    ungraded: 0,
                    hypotheses: if grew {
                        candidates.min(beam_width.count(options))
                    } else {
                        self.hypotheses
                    },
                    ..self
                }
            }
            _ => self,
        }
    }

    fn emptied(self) -> Standing {
        Standing {
            hypotheses: self.hypotheses,
            ..Standing::default()
        }
    }

    fn refined(self) -> Standing {
        Standing {
            ungraded: 0,
            unrefined: 0,
            ..self
        }
    }

    fn found(self, passages: u32) -> Standing {
        let plus = |held: u32| held.saturating_add(passages).min(MAXIMUM_PASSAGES);
        Standing {
            held: plus(self.held),
            ungraded: plus(self.ungraded),
            unrefined: plus(self.unrefined),
            ..self
        }
    }
}

impl Cost {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Cost) -> Cost {
        Cost {
            model_calls: self.model_calls.saturating_add(other.model_calls),
            web_searches: self.web_searches.saturating_add(other.web_searches),
        }
    }
}
