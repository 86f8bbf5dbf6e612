//! The loop: visit a node, take the edge its outcome opens, until an edge leads to the end or a limit does.

use std::{sync::Arc, time::Duration};

use emend_chassis::{Deadline, semconv, telemetry};
use emend_proto::v1::{EdgeTaken, Step, WalkResult};
use tokio::time::Instant;
use tracing::{Instrument as _, Span, field::Empty, info_span};

use super::{
    action::{self, Desk, Report, retract_for},
    deadline::walk_deadline,
    error::WalkError,
    events::Events,
    finish::{self, End},
    metrics::WalkMetrics,
    question::Question,
    services::Services,
    state::{State, add_usage},
};
use crate::graph::{Action, FinishStatus, Graph, NodeId, Options, Outcome, Route, Target};

/// What to walk, and with what in force.
#[derive(Clone, Debug)]
pub struct Course {
    /// The graph.
    pub graph: Arc<Graph>,
    /// Its options.
    pub options: Options,
    /// What the user asked.
    pub question: Question,
}

/// Walks a graph for a question and returns the result before the caller's deadline. The last event is the result.
///
/// Dropping the future stops the walk and the calls it is waiting for (R12).
///
/// # Errors
/// [`WalkError`]: only when there is no result at all.
pub async fn walk(
    course: Course,
    services: &dyn Services,
    caller: Deadline,
    events: &Events,
    metrics: &WalkMetrics,
) -> Result<WalkResult, WalkError> {
    let graph = course.graph.name();
    let span = info_span!(
        "invoke_workflow",
        otel.name = format!("invoke_workflow {graph}"),
        { semconv::GEN_AI_OPERATION_NAME } = "invoke_workflow",
        { semconv::GEN_AI_WORKFLOW_NAME } = graph,
        { semconv::EMEND_WALK_STATUS } = Empty,
        { semconv::EMEND_WALK_STEPS } = Empty,
        { semconv::ERROR_TYPE } = Empty,
    );
    let walking = Walking {
        visits: vec![0; course.graph.nodes().len()],
        last_visit: vec![None; course.graph.nodes().len()],
        began: Instant::now(),
        desk: Desk {
            services,
            events,
            deadline: walk_deadline(caller),
            state: State::new(course.question.clone()),
        },
        course: &course,
        metrics,
    };
    let ended = walking.run().instrument(span.clone()).await;
    metrics.ended(graph, &ended, &span);
    ended
}

struct Walking<'a> {
    course: &'a Course,
    desk: Desk<'a>,
    metrics: &'a WalkMetrics,
    began: Instant,
    /// Visits by node.
    visits: Vec<u32>,
    /// When each node was last entered.
    last_visit: Vec<Option<Instant>>,
}

impl Walking<'_> {
    async fn run(mut self) -> Result<WalkResult, WalkError> {
        let mut node = self.course.graph.start();
        let end = loop {
            if let Some(end) = self.limit(node) {
                break end;
            }
            let (outcome, error) = self.visit(node).await?;
            match self.leave(node, outcome, error).await? {
                Ok(next) => node = next,
                Err(end) => break end,
            }
        };
        self.finish(end).await
    }

    /// The end, when there is no room for another step. Never an error (R1).
    fn limit(&self, next: NodeId) -> Option<End> {
        let graph = &self.course.graph;
        let limits = graph.limits();
        let taken = self.desk.state.steps.len();
        if let Some(limit) = limits.recursion.map(|limit| limit.count(&self.course.options))
            && taken >= limit as usize
        {
            return Some(End {
                status: limits.at_limit,
                reason: format!("the recursion limit of {limit} steps was reached"),
            });
        }
        let late = |reason: String| End {
            status: FinishStatus::Unverified,
            reason,
        };
        let left = self.desk.deadline.remaining();
        if left.is_zero() {
            return Some(late(format!("the deadline came before `{}`", graph.node(next).name())));
        }
        // Another round is worth beginning only if it can end: with an answer in hand, one that cannot is not begun.
        let round = self.last_visit[next.index()]?.elapsed();
        let has_answer = !self.desk.state.attempts.is_empty();
        (has_answer && round > left).then(|| {
            late(format!(
                "the deadline leaves {} for another round of `{}`, which took {} before",
                seconds(left),
                graph.node(next).name(),
                seconds(round)
            ))
        })
    }

    /// Visits a node: one step, one span.
    async fn visit(&mut self, id: NodeId) -> Result<(Outcome, String), WalkError> {
        let node = self.course.graph.node(id);
        let action = node.action().name();
        let number = u32::try_from(self.desk.state.steps.len() + 1).unwrap_or(u32::MAX);
        self.visits[id.index()] += 1;
        let entered = Instant::now();
        self.last_visit[id.index()] = Some(entered);
        self.desk.events.step_started(number, node.name(), action).await?;

        let span = info_span!(
            "step",
            otel.name = node.name(),
            { semconv::EMEND_STEP_NUMBER } = number,
            { semconv::EMEND_NODE } = node.name(),
            { semconv::EMEND_ACTION } = action,
            { semconv::EMEND_OUTCOME } = Empty,
        );
        let ran = action::run(node.task(), &mut self.desk, &self.course.options)
            .instrument(span.clone())
            .await;
        let (outcome, report) = ran?;
        span.record(semconv::EMEND_OUTCOME, outcome.name());
        drop(span);
        self.metrics.corrected(node.action(), self.desk.state.generations);

        let error = report.error.clone();
        let step = step(number, node.name(), outcome, entered.elapsed(), report);
        add_usage(&mut self.desk.state.usage, step.usage);
        self.desk.events.step_finished(&step).await?;
        self.desk.state.steps.push(step);
        Ok((outcome, error))
    }

    /// Takes the edge that the outcome opens: to a node, or to the end.
    async fn leave(&mut self, from: NodeId, outcome: Outcome, error: String) -> Result<Result<NodeId, End>, WalkError> {
        let graph = &self.course.graph;
        let node = graph.node(from);
        let route = node.route(outcome);
        let (condition, target) = route.choose(&self.visits, &self.course.options);
        self.desk
            .events
            .edge_taken(EdgeTaken {
                from: node.name().to_owned(),
                to: graph.target_name(target).to_owned(),
                outcome: outcome.name().to_owned(),
                condition: condition.map(ToString::to_string).unwrap_or_default(),
            })
            .await?;
        if node.action() != Action::FinalizeResponse {
            self.desk.state.turn = turn(node.name(), outcome, route, condition.is_none(), &error);
        }
        Ok(match target {
            Target::Node(next) => Ok(next),
            Target::Finish(status) => Err(End {
                status,
                reason: self.desk.state.turn.clone(),
            }),
        })
    }

    async fn finish(mut self, end: End) -> Result<WalkResult, WalkError> {
        let shown = finish::shown(&self.desk.state, end.status);
        retract_for(&mut self.desk, shown).await?;
        let result = finish::result(self.desk.state, end)?;
        let graph = &self.course.graph;
        let result = WalkResult {
            graph: graph.name().to_owned(),
            options: self
                .course
                .options
                .named(graph.options())
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            trace_id: telemetry::trace_id(&Span::current()).unwrap_or_default(),
            duration: self.began.elapsed().try_into().ok(),
            ..result
        };
        self.desk.events.finished(result.clone()).await?;
        Ok(result)
    }
}

fn step(number: u32, node: &str, outcome: Outcome, took: Duration, report: Report) -> Step {
    Step {
        number,
        node: node.to_owned(),
        action: outcome.action().name().to_owned(),
        outcome: outcome.name().to_owned(),
        duration: took.try_into().ok(),
        summary: report.summary,
        passages: report.passages,
        query: report.query,
        usage: Some(report.usage),
        error: report.error,
    }
}

/// Why the walk went on from a node as it did, one line: which service, which limit, which outcome.
fn turn(node: &str, outcome: Outcome, route: &Route, all_closed: bool, error: &str) -> String {
    let mut reason = format!("`{node}` ended in `{outcome}`");
    let closed: Vec<String> = route
        .edges()
        .filter_map(|(condition, _)| condition)
        .map(|condition| format!("`{condition}`"))
        .collect();
    if !error.is_empty() {
        reason.push_str(": ");
        reason.push_str(error);
    }
    if all_closed && !closed.is_empty() {
        reason.push_str(&format!(" and no longer holds: {}", closed.join(", ")));
    }
    reason
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
