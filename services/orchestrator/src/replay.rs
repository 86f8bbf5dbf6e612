//! Walks again what a record holds, and says where the path turns.
//!
//! The walk is a real one; only its services are replaced by the record. It leaves no trace,
//! no log and no metrics, and no time runs out in it.

use std::time::Duration;

use emend_chassis::{EventSender, InvalidRequest, Violations};
use emend_core::{Deadline, Scope, limits::MAX_RESULT_BYTES};
use emend_proto::v1::{
    self, AskStreamResponse, GradeThresholds, RecordEnd, ReplayWalkRequest, ReplayWalkResponse, Step, StepStarted,
    Turn, WalkEvent, walk_event::Event,
};
use futures::StreamExt as _;
use prost::Message as _;
use tonic::Status;
use tracing::{instrument::WithSubscriber as _, subscriber::NoSubscriber};

use crate::{
    catalog::Catalog,
    checks::GraphChecks,
    graph::{Action, Node},
    walk::{Events, Missing, RECORD_VERSION, RecordedServices, WalkError, WalkMetrics, WalkRequest, walk},
    walk_request::{Graphs, walk_request},
};

/// Events that wait for the collector, which runs beside the walk. Each may be as large as a message.
const EVENTS: usize = 2;
/// Where a walk goes at its end, as edges name it.
const FINISH: &str = "finish";

/// Replays a walk on these graphs.
///
/// # Errors
/// As `ReplayWalk` of the contract has them.
pub async fn replay(
    catalog: &Catalog,
    request: ReplayWalkRequest,
    scope: &Scope,
) -> Result<ReplayWalkResponse, Status> {
    let graphs = Graphs {
        catalog,
        default: "",
        checks: &GraphChecks::default(),
    };
    let replay = check(request)?.resolve(graphs, scope).await?;
    replay.run().await.map_err(|error| emend_chassis::status(&error))
}

/// A walk to replay whose fields are in order, with what is asked this time.
#[derive(Debug)]
pub(crate) struct Checked {
    walk: v1::WalkResult,
    record: v1::WalkRecord,
    question: v1::Question,
    thresholds: GradeThresholds,
}

/// Checks a request, but for what depends on the graphs.
pub(crate) fn check(request: ReplayWalkRequest) -> Result<Checked, InvalidRequest> {
    let ReplayWalkRequest {
        walk,
        graph,
        graph_yaml,
        options,
        thresholds,
    } = request;
    let mut walk = walk.ok_or_else(|| InvalidRequest::field("walk", "is missing; set it"))?;
    let mut record = walk.record.take().ok_or_else(|| {
        InvalidRequest::field(
            "walk.record",
            "is missing, so the walk cannot be replayed: ask with `record` set, as `emend ask --json` does; a result above \
             4 MiB goes without its record",
        )
    })?;
    let thresholds = thresholds.unwrap_or_default();
    let mut violations = Violations::new();
    violations.require(record.version == RECORD_VERSION, "walk.record.version", || {
        format!(
            "is {}, and this service replays version {RECORD_VERSION} only: use the release that wrote the record, or ask again",
            record.version
        )
    });
    for (name, value) in named(&thresholds) {
        let fits = value.is_none_or(|value| (0.0..=1.0).contains(&value));
        violations.require(fits, &format!("thresholds.{name}"), || {
            format!("must be 0 to 1, is {}", value.unwrap_or_default())
        });
    }
    for (low, high, least, most) in [
        ("lower", "upper", thresholds.lower, thresholds.upper),
        ("partially", "fully", thresholds.partially, thresholds.fully),
    ] {
        if let Some((least, most)) = least.zip(most) {
            violations.require(least <= most, &format!("thresholds.{low}"), || {
                format!("must be at most `{high}`, which is {most}, is {least}")
            });
        }
    }
    violations.finish()?;
    let mut question = record.question.take().unwrap_or_default();
    question.record = false;
    question.budget.iter_mut().for_each(|budget| budget.time = None);
    let same_graph = graph_yaml.is_empty() && (graph.is_empty() || graph == question.graph);
    if same_graph {
        question.options.clone_from(&walk.options);
    } else {
        question.options.clear();
        (question.graph, question.graph_yaml) = (graph, graph_yaml);
    }
    question.options.extend(options);
    Ok(Checked {
        walk,
        record,
        question,
        thresholds,
    })
}

/// The thresholds by name.
fn named(thresholds: &GradeThresholds) -> [(&'static str, Option<f64>); 8] {
    let GradeThresholds {
        relevant,
        lower,
        upper,
        fully,
        partially,
        useful,
        quote,
        strip,
    } = *thresholds;
    [
        ("relevant", relevant),
        ("lower", lower),
        ("upper", upper),
        ("fully", fully),
        ("partially", partially),
        ("useful", useful),
        ("quote", quote),
        ("strip", strip),
    ]
}

impl Checked {
    /// What is asked this time.
    pub(crate) fn question(&self) -> &v1::Question {
        &self.question
    }

    /// Resolves graph and options.
    pub(crate) async fn resolve(self, graphs: Graphs<'_>, scope: &Scope) -> Result<Replay, Status> {
        let walk_request = walk_request(graphs, scope, Some(self.question)).await?;
        let evaluation = |(_, node): (_, &Node)| node.action() == Action::EvaluateDocuments;
        let evaluates = walk_request.graph.nodes().any(evaluation);
        Ok(Replay {
            services: RecordedServices::new(self.record, self.thresholds, evaluates),
            recorded: self.walk.steps,
            walk_request,
        })
    }
}

/// A walk that can be replayed.
#[derive(Debug)]
pub(crate) struct Replay {
    walk_request: WalkRequest,
    services: RecordedServices,
    recorded: Vec<Step>,
}

impl Replay {
    /// Walks until the end, or until the record has no reply.
    ///
    /// # Errors
    /// [`WalkError`]: a recorded reply refused the question, or the walk panicked.
    pub(crate) async fn run(self) -> Result<ReplayWalkResponse, WalkError> {
        let (collected, missing) = self.collect().await?;
        let path = Path::of(&collected.events);
        let last = path.visits.last();
        Ok(ReplayWalkResponse {
            turn: path.turn(&self.recorded),
            end: missing.map(|missing| RecordEnd {
                step: last.map_or(0, |visit| visit.started.step),
                node: last.map(|visit| visit.started.node.clone()).unwrap_or_default(),
                method: missing.method.to_owned(),
                missing: missing.what,
            }),
            events: collected.events,
        })
    }

    /// The events until the end, or until the call that the record has no reply to.
    async fn collect(&self) -> Result<(Collected, Option<Missing>), WalkError> {
        let (sender, mut coming) = EventSender::<AskStreamResponse>::channel(EVENTS);
        let mut collected = Collected::default();
        let missing = {
            let walking = async {
                let sender = Events::to(sender);
                let metrics = WalkMetrics::uncounted();
                let request = self.walk_request.clone();
                walk(
                    request,
                    &self.services,
                    Deadline::after(Duration::MAX),
                    &sender,
                    &metrics,
                )
                .await
            };
            let collecting = async {
                while let Some(response) = coming.next().await {
                    response.event.into_iter().for_each(|event| collected.push(event));
                }
            };
            // In this order, so that what was sent before the record ended is collected.
            let walked = futures::future::join(walking, collecting).with_subscriber(NoSubscriber::new());
            tokio::select! {
                biased;
                (walked, ()) = walked => { walked?; None }
                missing = self.services.end() => Some(missing),
            }
        };
        Ok((collected, missing))
    }
}

/// The events of a replay as they come. As soon as they are too large together, they go without what they can do without.
#[derive(Debug, Default)]
struct Collected {
    events: Vec<WalkEvent>,
    /// Size of the events as encoded, in bytes.
    bytes: usize,
    is_shortened: bool,
    /// The largest that they were.
    #[cfg(test)]
    most: usize,
}

impl Collected {
    fn push(&mut self, mut event: WalkEvent) {
        if self.is_shortened && !shorten(&mut event) {
            return;
        }
        self.bytes += event.encoded_len();
        self.events.push(event);
        #[cfg(test)]
        {
            self.most = self.bytes.max(self.most);
        }
        if self.bytes > MAX_RESULT_BYTES && !self.is_shortened {
            self.is_shortened = true;
            self.events.retain_mut(shorten);
            self.bytes = self.events.iter().map(WalkEvent::encoded_len).sum();
        }
    }
}

/// Removes what an event can do without, and says whether anything is left of it: the result has the answer, and its passages
/// with their grades.
fn shorten(event: &mut WalkEvent) -> bool {
    match &mut event.event {
        Some(Event::StepFinished(finished)) => {
            if let Some(step) = &mut finished.step {
                step.passages = Vec::new();
                step.strips = Vec::new();
            }
            true
        }
        Some(Event::TextDelta(_) | Event::SentenceCommitted(_) | Event::SentenceRetracted(_)) => false,
        _ => true,
    }
}

/// The way of a replay as its events tell it.
struct Path<'a> {
    visits: Vec<Visit<'a>>,
    finished: bool,
}

/// A step that began, and what is known of its end.
struct Visit<'a> {
    started: &'a StepStarted,
    step: Option<&'a Step>,
    reason: &'a str,
}

impl<'a> Path<'a> {
    fn of(events: &'a [WalkEvent]) -> Path<'a> {
        let mut path = Path {
            visits: Vec::new(),
            finished: false,
        };
        for event in events.iter().filter_map(|event| event.event.as_ref()) {
            match (event, path.visits.last_mut()) {
                (Event::StepStarted(started), _) => path.visits.push(Visit {
                    started,
                    step: None,
                    reason: "",
                }),
                (Event::StepFinished(finished), Some(visit)) => visit.step = finished.step.as_ref(),
                (Event::EdgeTaken(edge), Some(visit)) => visit.reason = &edge.reason,
                (Event::Finished(_), _) => path.finished = true,
                _ => {}
            }
        }
        path
    }

    /// Where it first differs from the recorded steps. Nodes of different graphs are compared by what they do.
    fn turn(&self, recorded: &[Step]) -> Option<Turn> {
        for place in 0..self.visits.len().max(recorded.len()) {
            let (visit, before) = (self.visits.get(place), recorded.get(place));
            if visit.is_none() && !self.finished {
                return None;
            }
            if visit.map(|visit| &visit.started.action) != before.map(|before| &before.action) {
                return Some(self.turn_at(place, recorded));
            }
            let outcome = visit.and_then(|visit| visit.step).map(|step| &step.outcome);
            if outcome.is_some() && outcome != before.map(|before| &before.outcome) {
                return Some(self.turn_at(place + 1, recorded));
            }
        }
        None
    }

    /// The turn after which the steps at this place differ.
    fn turn_at(&self, place: usize, recorded: &[Step]) -> Turn {
        let to = |node: Option<&String>| node.cloned().unwrap_or_else(|| FINISH.to_owned());
        let next = self.visits.get(place).map(|visit| &visit.started.node);
        let turn = Turn {
            recorded_next: to(recorded.get(place).map(|step| &step.node)),
            next: if next.is_none() && !self.finished {
                String::new()
            } else {
                to(next)
            },
            ..Turn::default()
        };
        let last = place.checked_sub(1);
        let Some((visit, before)) = last.and_then(|last| Some((self.visits.get(last)?, recorded.get(last)?))) else {
            return Turn {
                reason: "the walk begins with another step".to_owned(),
                ..turn
            };
        };
        Turn {
            step: visit.started.step,
            node: visit.started.node.clone(),
            recorded_outcome: before.outcome.clone(),
            outcome: visit.step.map(|step| step.outcome.clone()).unwrap_or_default(),
            reason: visit.reason.to_owned(),
            ..turn
        }
    }
}

#[cfg(test)]
mod tests;
