//! The actions, one per file. Each calls its service, changes the state, and ends in one of its own
//! outcomes.

mod condense;
mod decide_retrieval;
mod evaluate_documents;
mod finalize_response;
mod generate;
mod generate_segment;
mod generate_without_documents;
mod grade_documents;
mod grade_generation;
mod grade_groundedness;
mod grade_usefulness;
mod grades;
mod refine;
mod refine_and_search;
mod retrieve;
mod rewrite;
mod web_search;

pub(super) use self::{
    condense::{CONDENSE, run as condense},
    generate::retract_for,
};

use emend_core::Deadline;
use emend_proto::v1::{GradedPassage, Strip, Usage};

use super::{
    deadline::{Share, hop_deadline},
    error::WalkError,
    events::Events,
    services::{Failure, Services},
    state::State,
};
use crate::graph::{NodeConfig, Options, Outcome, PassOutcome, Value, reranked};

/// What an action works with.
pub(super) struct StepContext<'a> {
    pub(super) services: &'a dyn Services,
    pub(super) events: &'a Events,
    pub(super) deadline: Deadline,
    pub(super) state: State,
}

impl StepContext<'_> {
    /// The deadline of a call that starts now.
    fn hop(&self, share: Share) -> Deadline {
        hop_deadline(self.deadline, share)
    }
}

/// What a step did, for its event and for the result.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) summary: String,
    /// Why a service did not answer; empty when all did.
    pub(super) error: String,
    pub(super) usage: Usage,
    /// The passages with their grades, where the step changed them.
    pub(super) passages: Vec<GradedPassage>,
    /// The query, where the step changed it.
    pub(super) query: String,
    /// The query before, where the step changed it.
    pub(super) previous_query: String,
    /// The strips of a refinement.
    pub(super) strips: Vec<Strip>,
    /// The failure that decided the outcome, if one did.
    pub(super) failure: Option<Failure>,
}

impl Report {
    fn of(summary: impl Into<String>) -> Report {
        Report {
            summary: summary.into(),
            ..Report::default()
        }
    }

    /// The report of a step whose service did not answer.
    fn failed(failure: &Failure) -> Report {
        Report {
            summary: format!("the {} did not answer", failure.dependency),
            error: failure.to_string(),
            failure: Some(failure.clone()),
            ..Report::default()
        }
    }

    fn costing(mut self, usage: Option<Usage>) -> Report {
        self.usage = usage.unwrap_or_default();
        self
    }

    fn with_query(mut self, previous: String, query: String) -> Report {
        self.previous_query = previous;
        self.query = query;
        self
    }

    fn showing(mut self, passages: Vec<GradedPassage>) -> Report {
        self.passages = passages;
        self
    }
}

/// How an action ends: its outcome and its report, or an error that ends the walk without a result.
type Ended<O> = Result<(O, Report), WalkError>;

/// Runs a node's action.
pub(super) async fn run(config: NodeConfig, context: &mut StepContext<'_>, options: &Options) -> Ended<Outcome> {
    match config {
        NodeConfig::DecideRetrieval { threshold } => {
            let threshold = threshold.and_then(|threshold| threshold.ratio(options));
            erase(decide_retrieval::run(context, threshold).await)
        }
        NodeConfig::Retrieve {
            top_k,
            rerank,
            search,
            exact,
        } => {
            let searching = retrieve::Searching {
                top_k: top_k.count(options),
                rerank: reranked(top_k, rerank, options),
                search,
                exact: exact.is_some_and(|exact| exact.count(options) == 1),
            };
            erase(retrieve::run(context, searching).await)
        }
        NodeConfig::GradeDocuments { ungraded } => erase(grade_documents::run(context, ungraded).await),
        NodeConfig::EvaluateDocuments { upper, lower } => {
            let threshold = |value: Option<Value>| value.and_then(|value| value.ratio(options));
            erase(evaluate_documents::run(context, threshold(upper), threshold(lower)).await)
        }
        NodeConfig::Refine(refining) => erase(refine::run(context, refining, options).await),
        NodeConfig::RefineAndSearch { refining, max_results } => {
            erase(refine_and_search::run(context, refining, max_results.count(options), options).await)
        }
        NodeConfig::Rewrite { purpose, max_tokens } => {
            let max_tokens = max_tokens.map(|most| most.count(options));
            erase(rewrite::run(context, purpose, max_tokens).await)
        }
        NodeConfig::WebSearch { results } => erase(web_search::run(context, results, options).await),
        NodeConfig::Generate(writing) => erase(generate::run(context, writing, options).await),
        NodeConfig::GenerateWithoutDocuments(writing) => {
            erase(generate_without_documents::run(context, writing, options).await)
        }
        NodeConfig::GenerateSegment {
            writing,
            beam_width,
            weights,
        } => erase(generate_segment::run(context, writing, beam_width.count(options), weights, options).await),
        NodeConfig::GradeGeneration { support } => erase(grade_generation::run(context, support).await),
        NodeConfig::GradeGroundedness { support } => erase(grade_groundedness::run(context, support).await),
        NodeConfig::GradeUsefulness => erase(grade_usefulness::run(context).await),
        NodeConfig::Pass => erase(Ok((PassOutcome::Done, Report::default()))),
        NodeConfig::FinalizeResponse => erase(Ok(finalize_response::run(context))),
    }
}

fn erase<O: Into<Outcome>>(ended: Ended<O>) -> Ended<Outcome> {
    ended.map(|(outcome, report)| (outcome.into(), report))
}
