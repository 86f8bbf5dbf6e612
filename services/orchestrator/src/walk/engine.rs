//! The main loop: visits a node and takes the edge of its outcome, until an edge leads to the end
//! or a limit is reached.

use std::{sync::Arc, time::Duration};

use emend_chassis::{Identity, keys, telemetry};
use emend_core::Deadline;
use emend_proto::v1::{self, EdgeTaken, Limit, Step, WalkResult};
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use super::{
    action::{self, CONDENSE, Report, StepContext, retract_for},
    budget::{self, Budget, Spent},
    calls::Calls,
    deadline::walk_deadline,
    error::WalkError,
    events::Events,
    finish::{self, End},
    log,
    metrics::WalkMetrics,
    outage::MAX_CAUSE_BYTES,
    question::Question,
    record::Recorder,
    services::Services,
    size, span,
    state::{State, add_usage},
};
use crate::graph::{Action, Condition, Cost, FinishStatus, Graph, NodeId, Options, Outcome, Route, Target};

/// Longest error of a step, in bytes: those of several services, or what one service says of each passage.
const MAX_ERROR_BYTES: usize = 4 * MAX_CAUSE_BYTES;
/// Most conditions that the reason for an edge names.
const MAX_CONDITIONS: usize = 5;

/// A question with the graph, the options and the budget in force.
#[derive(Clone, Debug)]
pub struct WalkRequest {
    /// The graph.
    pub graph: Arc<Graph>,
    /// Whether the graph came with the question.
    pub is_own_graph: bool,
    /// Its options.
    pub options: Options,
    /// What the user asked.
    pub question: Question,
    /// What it may cost.
    pub budget: Budget,
    /// Who asks, and so whose budget of the day each step is paid from.
    pub caller: Identity,
    /// The question as it was asked, where the result is to carry a record.
    pub record: Option<v1::Question>,
    /// Whether question, passages and answer stand in the walk's spans.
    pub content: bool,
}

/// Walks a graph for a question and returns the result before the caller's deadline (R11). The last event is the
/// result.
///
/// Dropping the future stops the walk and the calls it is waiting for (R12).
///
/// # Errors
/// [`WalkError`]: only when there is no result at all.
pub async fn walk(
    walk_request: WalkRequest,
    services: &dyn Services,
    caller: Deadline,
    events: &Events,
    metrics: &WalkMetrics,
) -> Result<WalkResult, WalkError> {
    let graph = walk_request.graph.name();
    let span = span::of_walk(graph, walk_request.caller.name());
    if walk_request.content {
        span::asked(&span, &walk_request.question);
    }
    let calls = Calls::new(services, walk_request.record.clone().map(Recorder::new));
    let run = WalkRun {
        visits: vec![0; walk_request.graph.nodes().len()],
        last_visit: vec![None; walk_request.graph.nodes().len()],
        began: Instant::now(),
        visited: 0,
        cost: Cost::default(),
        calls: &calls,
        context: StepContext {
            services: &calls,
            events,
            deadline: walk_deadline(caller).min(within(walk_request.budget.time)),
            state: State::new(walk_request.question.clone()),
        },
        walk_request: &walk_request,
        metrics,
    };
    let ended = run.run().instrument(span.clone()).await;
    let known = (!walk_request.is_own_graph).then_some(graph);
    metrics.ended(known, walk_request.caller.name(), &ended);
    span::walk_ended(&span, &ended, walk_request.content);
    let id = telemetry::trace_id(&span).unwrap_or_else(|| format!("{:032x}", fastrand::u128(..)));
    span.in_scope(|| log::ended(&id, walk_request.caller.name(), &ended));
    ended
}

/// The deadline of a walk that starts now and may take this time; unset means no limit.
fn within(time: Option<Duration>) -> Deadline {
    Deadline::after(time.unwrap_or(Duration::MAX))
}

struct WalkRun<'a> {
    walk_request: &'a WalkRequest,
    calls: &'a Calls<'a>,
    context: StepContext<'a>,
    metrics: &'a WalkMetrics,
    began: Instant,
    /// Visits of all nodes together.
    visited: u32,
    /// Cost of the steps so far: of each its highest cost, or its actual model calls if those are
    /// more.
    cost: Cost,
    /// Visits by node.
    visits: Vec<u32>,
    /// When each node was last entered.
    last_visit: Vec<Option<Instant>>,
}

impl WalkRun<'_> {
    async fn run(mut self) -> Result<WalkResult, WalkError> {
        let mut node = self.walk_request.graph.start();
        if !self.walk_request.question.history().is_empty()
            && let Some(end) = self.condense(node).await?
        {
            return self.finish(end).await;
        }
        let end = loop {
            // Steps that call nobody do not keep the thread from the other walks.
            tokio::task::consume_budget().await;
            if let Some(end) = self.limit(node) {
                break end;
            }
            let visited = self.visit(node).await?;
            match self.leave(node, visited).await? {
                Ok(next) => node = next,
                Err(end) => break end,
            }
        };
        self.finish(end).await
    }

    /// Rewrites a follow-up into a standalone question, as a step before the first node of the
    /// graph. Returns the end of the walk if the budget does not allow the step.
    async fn condense(&mut self, start: NodeId) -> Result<Option<End>, WalkError> {
        let cost = Cost {
            model_calls: 1,
            web_searches: 0,
        };
        if let Some(end) = self.over_budget(cost) {
            return Ok(Some(end));
        }
        let recorder = StepRecorder::begin(&self.context, CONDENSE, CONDENSE, 1).await?;
        self.calls.step(recorder.number);
        let (condensed, mut report) = action::condense(&mut self.context)
            .instrument(recorder.span.clone())
            .await;
        let settled = self.settle(&mut report);
        self.pay(&report);
        settled.inspect_err(|error| span::step_failed(&recorder.span, error))?;
        self.cost = self.cost.plus(cost);
        self.overrun(cost, &report);
        let span = recorder.span.clone();
        recorder.end(&mut self.context, condensed.name(), report).await?;
        let to = self.walk_request.graph.node(start).name();
        let edge = EdgeTaken {
            from: CONDENSE.to_owned(),
            to: to.to_owned(),
            outcome: condensed.name().to_owned(),
            condition: String::new(),
            reason: "the question comes with a conversation; the walk begins with what it asks on its own".to_owned(),
        };
        span::edge_taken(&span, &edge);
        self.context.events.edge_taken(edge).await?;
        Ok(None)
    }

    /// The end of the walk if a limit, the budget or the deadline does not allow a visit of `next`.
    /// A limit is never an error (R1).
    fn limit(&self, next: NodeId) -> Option<End> {
        let graph = &self.walk_request.graph;
        let limits = graph.limits();
        let longest = limits.longest_walk(&self.walk_request.options);
        if self.visited >= longest {
            return Some(End {
                status: limits.at_limit,
                reason: format!("the recursion limit of {longest} steps was reached"),
                exhausted: Limit::Steps,
            });
        }
        if let Some(end) = self.over_budget(self.highest_cost(next)) {
            return Some(end);
        }
        let late = |reason: String| End {
            status: FinishStatus::Unverified,
            reason,
            exhausted: Limit::Time,
        };
        let left = self.context.deadline.remaining();
        if left.is_zero() {
            return Some(late(format!("the deadline came before `{}`", graph.node(next).name())));
        }
        // Once there is an answer, a round that may not end in time is not started (R11). The time
        // since the last visit of `next` is the estimate.
        let round = self.last_visit[next.index()]?.elapsed();
        let has_answer = !self.context.state.attempts.is_empty();
        (has_answer && round > left).then(|| {
            late(format!(
                "the deadline leaves {} for another round of `{}`, which took {} before",
                seconds(left),
                graph.node(next).name(),
                seconds(round)
            ))
        })
    }

    /// What a visit of a node may cost at most.
    fn highest_cost(&self, node: NodeId) -> Cost {
        let config = self.walk_request.graph.node(node).config();
        let counts = self.context.state.evidence_counts();
        let mut cost = counts.cost(config, &self.walk_request.options);
        if self.walk_request.question.web_off() {
            cost.web_searches = 0;
        }
        cost
    }

    /// The end of the walk if a step with this highest cost could exceed the budget.
    fn over_budget(&self, step: Cost) -> Option<End> {
        let usage = &self.context.state.usage;
        let spent = Spent {
            steps: u32::try_from(self.context.state.steps.len()).unwrap_or(u32::MAX),
            cost: self.cost,
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
        };
        let (exhausted, reason) = self
            .walk_request
            .budget
            .exhausted(spent, step)
            .or_else(|| budget::of_the_day(&self.walk_request.caller, step))?;
        Some(End {
            status: FinishStatus::Unverified,
            reason,
            exhausted,
        })
    }

    /// Visits a node: one step, one span (R14).
    async fn visit(&mut self, id: NodeId) -> Result<Visited, WalkError> {
        let node = self.walk_request.graph.node(id);
        self.visits[id.index()] += 1;
        let visit = self.visits[id.index()];
        self.visited += 1;
        self.last_visit[id.index()] = Some(Instant::now());
        let cost = self.highest_cost(id);
        self.cost = self.cost.plus(cost);

        let recorder = StepRecorder::begin(&self.context, node.name(), node.action().name(), visit).await?;
        self.calls.step(recorder.number);
        let ran = action::run(node.config(), &mut self.context, &self.walk_request.options)
            .instrument(recorder.span.clone())
            .await;
        let (outcome, mut report) = ran.inspect_err(|error| span::step_failed(&recorder.span, error))?;
        let settled = self.settle(&mut report);
        self.pay(&report);
        settled.inspect_err(|error| span::step_failed(&recorder.span, error))?;
        self.overrun(cost, &report);
        if self.walk_request.content {
            span::found(&recorder.span, node.action(), &self.context.state, &report);
        }
        self.metrics.stepped(node.action(), outcome);
        self.metrics.corrected(node.action(), self.context.state.generations);
        if let Some(failure) = &report.failure {
            self.context.state.outages.failed(failure);
        }
        if node.action() != Action::FinalizeResponse {
            self.context.state.outages.decided(report.failure.as_ref());
        }
        let (error, span) = (report.error.clone(), recorder.span.clone());
        recorder.end(&mut self.context, outcome.name(), report).await?;
        Ok(Visited { outcome, error, span })
    }

    /// Sees to the calls of a step that failed: a refusal ends the walk, and what was spent on them counts.
    fn settle(&mut self, report: &mut Report) -> Result<(), WalkError> {
        let state = &mut self.context.state;
        add_usage(&mut report.usage, Some(std::mem::take(&mut state.wasted)));
        for failure in self.calls.take_failures() {
            if failure.is_refusal() {
                return Err(WalkError::Refused(failure));
            }
            add_usage(&mut report.usage, Some(failure.usage));
            state.outages.noted(&failure);
        }
        report.error.truncate(report.error.floor_char_boundary(MAX_ERROR_BYTES));
        Ok(())
    }

    /// Takes what a step has cost from what its caller may spend in a day.
    fn pay(&self, report: &Report) {
        let usage = &report.usage;
        self.walk_request.caller.spend(keys::Spent {
            model_calls: u64::from(usage.model_calls),
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
        });
    }

    /// Counts the model calls of a step beyond its highest cost. That cost counts the calls that
    /// the graph causes; a service may need more, for example for a fallback model or to grade
    /// sentences one by one.
    fn overrun(&mut self, cost: Cost, report: &Report) {
        let beyond = u64::from(report.usage.model_calls).saturating_sub(cost.model_calls);
        self.cost.model_calls = self.cost.model_calls.saturating_add(beyond);
    }

    /// Takes the edge that the outcome opens: to a node, or to the end.
    async fn leave(&mut self, from: NodeId, visited: Visited) -> Result<Result<NodeId, End>, WalkError> {
        let Visited { outcome, error, span } = visited;
        let graph = &self.walk_request.graph;
        let node = graph.node(from);
        let route = node.route(outcome);
        let (condition, target) = route.choose(&self.visits, &self.walk_request.options);
        let reason = reason(node.name(), outcome, route, condition, &error);
        let edge = EdgeTaken {
            from: node.name().to_owned(),
            to: graph.target_name(target).to_owned(),
            outcome: outcome.name().to_owned(),
            condition: condition.map(ToString::to_string).unwrap_or_default(),
            reason: reason.clone(),
        };
        span::edge_taken(&span, &edge);
        self.context.events.edge_taken(edge).await?;
        if node.action() != Action::FinalizeResponse {
            self.context.state.last_edge_reason = reason;
        }
        Ok(match target {
            Target::Node(next) => Ok(next),
            Target::Finish(status) => Err(End {
                status,
                reason: self.context.state.last_edge_reason.clone(),
                exhausted: Limit::Unspecified,
            }),
        })
    }

    async fn finish(mut self, end: End) -> Result<WalkResult, WalkError> {
        let shown = finish::shown(&self.context.state, end.status);
        retract_for(&mut self.context, shown).await?;
        let result = finish::result(self.context.state, end);
        let graph = &self.walk_request.graph;
        let mut result = WalkResult {
            record: self.calls.record(),
            graph: graph.name().to_owned(),
            options: self
                .walk_request
                .options
                .named(graph.options())
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            trace_id: telemetry::trace_id(&Span::current()).unwrap_or_default(),
            duration: self.began.elapsed().try_into().ok(),
            ..result
        };
        size::fit_result(&mut result);
        self.context.events.finished(&result).await?;
        Ok(result)
    }
}

/// How a visit of a node ended.
struct Visited {
    outcome: Outcome,
    /// Why a service did not answer; empty when all did.
    error: String,
    span: Span,
}

/// A step under way: one span, and an event at either end.
struct StepRecorder {
    span: Span,
    number: u32,
    node: String,
    action: String,
    began: Instant,
}

impl StepRecorder {
    async fn begin(context: &StepContext<'_>, node: &str, action: &str, visit: u32) -> Result<StepRecorder, WalkError> {
        let number = u32::try_from(context.state.steps.len() + 1).unwrap_or(u32::MAX);
        context.events.step_started(number, node, action).await?;
        let span = span::of_step(number, node, action, visit);
        Ok(StepRecorder {
            span,
            number,
            node: node.to_owned(),
            action: action.to_owned(),
            began: Instant::now(),
        })
    }

    async fn end(self, context: &mut StepContext<'_>, outcome: &'static str, report: Report) -> Result<(), WalkError> {
        span::step_ended(&self.span, outcome, &report);
        add_usage(&mut context.state.usage, Some(report.usage));
        let step = Step {
            number: self.number,
            node: self.node,
            action: self.action,
            outcome: outcome.to_owned(),
            duration: self.began.elapsed().try_into().ok(),
            summary: report.summary,
            passages: report.passages,
            query: report.query,
            previous_query: report.previous_query,
            strips: report.strips,
            usage: Some(report.usage),
            error: report.error,
        };
        let step = context.state.steps.record(step);
        context.events.step_finished(step).await
    }
}

/// Why the walk took this edge, on one line: the outcome, the error of a service, the conditions.
fn reason(node: &str, outcome: Outcome, route: &Route, open: Option<&Condition>, error: &str) -> String {
    let mut reason = format!("`{node}` ended in `{outcome}`");
    if !error.is_empty() {
        reason.push_str(": ");
        reason.push_str(error);
    }
    let closed: Vec<String> = route
        .edges()
        .map_while(|(condition, _)| condition.filter(|condition| Some(*condition) != open))
        .map(|condition| format!("`{condition}`"))
        .take(MAX_CONDITIONS)
        .collect();
    if !closed.is_empty() {
        reason.push_str(&format!(" and no longer holds: {}", closed.join(", ")));
    }
    if let Some(open) = open {
        reason.push_str(&format!(" while `{open}`"));
    }
    reason
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
