//! The highest cost of a visit of a node, and what the walk holds after it.

use super::{
    EvaluateDocumentsOutcome, GenerateSegmentOutcome, GradeDocumentsOutcome, MAX_PASSAGES, NodeConfig, Options,
    Outcome, RefineAndSearchOutcome, RefineOutcome, RetrieveOutcome, Value, WebResults, WebSearchOutcome,
};

/// Passages and hypotheses that a walk holds: what the cost of a step depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EvidenceCounts {
    /// Passages held.
    pub held: u32,
    /// Those of them that have not been graded.
    pub ungraded: u32,
    /// Those of them that have not been refined.
    pub unrefined: u32,
    /// Hypotheses of the beam; 0 before the first segment.
    pub hypotheses: u32,
}

/// The highest cost of a visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Model calls, counting one for each passage graded.
    pub model_calls: u64,
    /// Web searches.
    pub web_searches: u64,
}

/// How many passages a search grades: those that it finds, if they are more than it holds.
pub(crate) fn reranked(top_k: Value, rerank: Option<Value>, options: &Options) -> u32 {
    let most = rerank.map_or(0, |rerank| rerank.count(options));
    if most > top_k.count(options) { most } else { 0 }
}

impl EvidenceCounts {
    /// The highest cost of a visit with this config, whatever its outcome.
    pub fn cost(self, config: NodeConfig, options: &Options) -> Cost {
        let calls = |calls: u32| Cost {
            model_calls: calls.into(),
            web_searches: 0,
        };
        match config {
            NodeConfig::DecideRetrieval { threshold } => {
                let settled = threshold
                    .and_then(|threshold| threshold.ratio(options))
                    .is_some_and(|threshold| !(0.0..1.0).contains(&threshold));
                calls(u32::from(!settled))
            }
            NodeConfig::Retrieve { top_k, rerank, .. } => calls(reranked(top_k, rerank, options)),
            NodeConfig::Pass | NodeConfig::FinalizeResponse => calls(0),
            NodeConfig::GradeDocuments { .. } => calls(self.ungraded),
            NodeConfig::EvaluateDocuments { .. } => calls(self.held),
            NodeConfig::Refine(_) => calls(self.unrefined),
            NodeConfig::RefineAndSearch { .. } => Cost {
                model_calls: u64::from(self.unrefined) + 1,
                web_searches: 1,
            },
            NodeConfig::WebSearch { .. } => Cost {
                model_calls: 0,
                web_searches: 1,
            },
            NodeConfig::Generate(_) => calls(u32::from(self.held > 0)),
            NodeConfig::GenerateSegment { .. } if self.held == 0 => calls(0),
            NodeConfig::GenerateSegment { .. } => Cost {
                // Each candidate is written by one call and graded by two; each passage is graded
                // once.
                model_calls: u64::from(self.ungraded) + 3 * u64::from(self.hypotheses.max(1)) * u64::from(self.held),
                web_searches: 0,
            },
            NodeConfig::Rewrite { .. }
            | NodeConfig::GenerateWithoutDocuments(_)
            | NodeConfig::GradeGroundedness { .. }
            | NodeConfig::GradeUsefulness => calls(1),
            NodeConfig::GradeGeneration { .. } => calls(2),
        }
    }

    /// The most that a walk can hold after a visit with this outcome.
    pub fn after(self, config: NodeConfig, outcome: Outcome, options: &Options) -> EvidenceCounts {
        let is = |other: Outcome| outcome == other;
        match config {
            NodeConfig::Retrieve { top_k, .. } => {
                let found = if is(RetrieveOutcome::Passages.into()) {
                    top_k.count(options).min(MAX_PASSAGES)
                } else if is(RetrieveOutcome::NoPassages.into()) {
                    0
                } else {
                    return self;
                };
                EvidenceCounts {
                    held: found,
                    ungraded: found,
                    unrefined: found,
                    ..self
                }
            }
            NodeConfig::GradeDocuments { .. }
                if is(GradeDocumentsOutcome::NoneRelevant.into()) || is(GradeDocumentsOutcome::Stalled.into()) =>
            {
                self.emptied()
            }
            NodeConfig::EvaluateDocuments { .. } if is(EvaluateDocumentsOutcome::Incorrect.into()) => self.emptied(),
            NodeConfig::GradeDocuments { .. } | NodeConfig::EvaluateDocuments { .. } => {
                EvidenceCounts { ungraded: 0, ..self }
            }
            NodeConfig::Refine(_) if is(RefineOutcome::NothingKept.into()) => self.emptied(),
            NodeConfig::Refine(_) if is(RefineOutcome::Unavailable.into()) => self,
            NodeConfig::Refine(_) => self.refined(),
            NodeConfig::RefineAndSearch { max_results, .. } => {
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
            NodeConfig::WebSearch { results } if is(WebSearchOutcome::Results.into()) => {
                let (WebResults::Exactly(most) | WebResults::FillTo(most)) = results;
                self.found(most.count(options))
            }
            NodeConfig::GenerateSegment { beam_width, .. } => {
                let grew = is(GenerateSegmentOutcome::Extended.into());
                let candidates = self.hypotheses.max(1).saturating_mul(self.held);
                EvidenceCounts {
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

    fn emptied(self) -> EvidenceCounts {
        EvidenceCounts {
            hypotheses: self.hypotheses,
            ..EvidenceCounts::default()
        }
    }

    fn refined(self) -> EvidenceCounts {
        EvidenceCounts {
            ungraded: 0,
            unrefined: 0,
            ..self
        }
    }

    fn found(self, passages: u32) -> EvidenceCounts {
        let plus = |held: u32| held.saturating_add(passages).min(MAX_PASSAGES);
        EvidenceCounts {
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
