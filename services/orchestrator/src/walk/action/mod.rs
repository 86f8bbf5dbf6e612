//! The actions, one a file. Each calls its service, changes the state, and ends in one of its own outcomes.

mod finalize_response;
mod generate;
mod generate_without_documents;
mod grade_documents;
mod grade_generation;
mod retrieve;
mod rewrite;
mod web_search;

pub(super) use self::generate::retract_for;

use emend_chassis::Deadline;
use emend_proto::v1::{GradedPassage, Usage};

use super::{
    deadline::{Share, hop_deadline},
    error::WalkError,
    events::Events,
    services::{Failure, Services},
    state::State,
};
use crate::graph::{Options, Outcome, Task};

/// What an action works with.
pub(super) struct Desk<'a> {
    pub(super) services: &'a dyn Services,
    pub(super) events: &'a Events,
    pub(super) deadline: Deadline,
    pub(super) state: State,
}

impl Desk<'_> {
    /// When a call that starts now must have ended.
    fn hop(&self, share: Share) -> Deadline {
        hop_deadline(self.deadline, share)
    }
}

/// What a step did, for people and for the result.
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
}

impl Report {
    fn of(summary: impl Into<String>) -> Report {
        Report {
            summary: summary.into(),
            ..Report::default()
        }
    }

    /// A service did not answer.
    fn failed(failure: &Failure) -> Report {
        Report {
            summary: format!("the {} did not answer", failure.dependency),
            error: failure.to_string(),
            ..Report::default()
        }
    }

    fn costing(mut self, usage: Option<Usage>) -> Report {
        self.usage = usage.unwrap_or_default();
        self
    }

    fn showing(mut self, passages: Vec<GradedPassage>) -> Report {
        self.passages = passages;
        self
    }
}

/// How an action ends: its own outcome, what to report, or the end of the walk without a result.
type Ended<O> = Result<(O, Report), WalkError>;

/// Runs a node's task.
pub(super) async fn run(task: Task, desk: &mut Desk<'_>, options: &Options) -> Ended<Outcome> {
    match task {
        Task::Retrieve { top_k } => erase(retrieve::run(desk, top_k.count(options)).await),
        Task::GradeDocuments { ungraded } => erase(grade_documents::run(desk, ungraded).await),
        Task::Rewrite { purpose } => erase(rewrite::run(desk, purpose).await),
        Task::WebSearch { results } => erase(web_search::run(desk, results, options).await),
        Task::Generate => erase(generate::run(desk).await),
        Task::GenerateWithoutDocuments => erase(generate_without_documents::run(desk).await),
        Task::GradeGeneration { support } => erase(grade_generation::run(desk, support).await),
        Task::FinalizeResponse => erase(Ok(finalize_response::run(desk))),
    }
}

fn erase<O: Into<Outcome>>(ended: Ended<O>) -> Ended<Outcome> {
    ended.map(|(outcome, report)| (outcome.into(), report))
}
