//! A graph: nodes that run actions, and for every outcome of every node the edge to take.
//!
//! A [`Graph`] is always valid: [`Graph::parse`] rejects a file with an unmapped outcome, an
//! unreachable node, no path to the end, an unbounded cycle, or a worst case above its budget (R1).

mod action;
mod bound;
mod check;
mod condition;
mod cost;
mod effort;
mod file;
mod finding;
mod formula;
mod load;
mod node_config;
mod option;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

pub use self::{
    action::{
        Action, DecideRetrievalOutcome, EvaluateDocumentsOutcome, FinalizeResponseOutcome, GenerateOutcome,
        GenerateSegmentOutcome, GenerateWithoutDocumentsOutcome, GradeDocumentsOutcome, GradeGenerationOutcome,
        GradeGroundednessOutcome, GradeUsefulnessOutcome, Outcome, PassOutcome, RefineAndSearchOutcome, RefineOutcome,
        RetrieveOutcome, RewriteOutcome, WebSearchOutcome,
    },
    bound::{BoundError, WorstCase},
    condition::{Comparison, Condition},
    cost::{Cost, EvidenceCounts},
    effort::{Effort, MAX_STATES},
    finding::{Finding, InvalidGraph},
    formula::Formulas,
    node_config::{
        MinimumSupport, NodeConfig, Purpose, Refining, Search, StripUnit, Ungraded, WebResults, Weights, Writing,
    },
    option::{InvalidOption, OptionId, OptionSpec, Options, Value},
};

pub use emend_core::limits::{MAX_STRIPS, MAX_WEB_RESULTS};

pub(crate) use cost::reranked;

/// Largest value an option or a number in a graph may have.
pub const MAX_COUNT: u32 = 10_000;
/// Most nodes of a graph. The largest built-in one has nine; drawn, and read by a person, two hundred are too many already.
pub const MAX_NODES: usize = 200;
/// Most edges of a graph, all edges of each outcome counted. The most that a built-in one has is sixty.
pub const MAX_EDGES: usize = 2_000;
/// Most options of a graph, and most that a question overrides. The most that a built-in one has is ten.
pub const MAX_OPTIONS: usize = 100;
/// Longest walk in steps. A graph whose worst case is longer is refused; whatever options a question sets, a walk ends
/// there as at a recursion limit. So many steps still fit into a result.
pub const MAX_STEPS: u32 = MAX_COUNT;
/// Most passages a walk holds at once. A grader and a generator accept that many in one request.
pub const MAX_PASSAGES: u32 = emend_core::limits::MAX_PASSAGES as u32;
/// Most hypotheses that a beam holds.
pub const MAX_BEAM: u32 = 10;
/// Steps a walk may take unless its graph says otherwise.
pub const DEFAULT_RECURSION_LIMIT: u32 = 50;

/// Place of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(usize);

impl NodeId {
    /// Its place among the graph's nodes, from 0.
    pub fn index(self) -> usize {
        self.0
    }
}

/// A graph that can be walked.
#[derive(Clone, Debug)]
pub struct Graph {
    name: String,
    description: String,
    options: Vec<OptionSpec>,
    limits: Limits,
    start: NodeId,
    nodes: Vec<Node>,
    source: Arc<str>,
    formulas: OnceLock<Formulas>,
}

/// The limits that a graph sets besides its edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Most steps of a walk; `None` if the edges alone bound it.
    pub recursion: Option<Value>,
    /// The end of a walk that reaches the recursion limit.
    pub at_limit: FinishStatus,
    /// Most model calls that the worst case may need.
    pub model_calls: Option<Value>,
}

impl Limits {
    /// The most steps of a walk with these options, whatever its edges allow.
    pub fn longest_walk(&self, options: &Options) -> u32 {
        self.recursion.map_or(MAX_STEPS, |limit| limit.count(options))
    }
}

/// A node: what it runs, and where each outcome leads.
#[derive(Clone, Debug)]
pub struct Node {
    name: String,
    config: NodeConfig,
    /// One route for each outcome of the action, in the order of [`Action::outcomes`].
    routes: Vec<Route>,
    line: u32,
}

/// The edges of one outcome, in the order in which they are tried.
#[derive(Clone, Debug)]
pub struct Route {
    /// Edges that are open only under a condition.
    bounded: Vec<(Condition, Target)>,
    /// Taken when no edge of `bounded` is open.
    otherwise: Target,
}

/// Where an edge leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// To another node, or the same one again.
    Node(NodeId),
    /// To the end.
    Finish(FinishStatus),
}

/// The status that a graph asks for at its end. The engine never reports a status that the state
/// does not support: `answered` needs an answer that passed its grading, `unverified` and
/// `ungrounded` need an answer, and `abstained` ends UNVERIFIED where the generator abstained and an
/// earlier answer is merely in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinishStatus {
    /// Graded and passed.
    Answered,
    /// The best answer so far.
    Unverified,
    /// Answered from the model alone.
    Ungrounded,
    /// The evidence does not answer the question.
    Abstained,
}

impl FinishStatus {
    /// Every status, best first.
    pub const ALL: [FinishStatus; 4] = [
        FinishStatus::Answered,
        FinishStatus::Unverified,
        FinishStatus::Ungrounded,
        FinishStatus::Abstained,
    ];

    /// The name graph files use.
    pub fn name(self) -> &'static str {
        match self {
            FinishStatus::Answered => "answered",
            FinishStatus::Unverified => "unverified",
            FinishStatus::Ungrounded => "ungrounded",
            FinishStatus::Abstained => "abstained",
        }
    }
}

impl Graph {
    /// Reads and checks a graph file. `file` names it in errors.
    ///
    /// # Errors
    /// [`InvalidGraph`] with everything that is wrong.
    pub fn parse(file: &str, yaml: &str) -> Result<Graph, InvalidGraph> {
        Graph::parse_within(file, yaml, &mut Effort::default())
    }

    /// [`Graph::parse`] with an effort that other checks of the graph share. Takes up to seconds: call it on a thread that
    /// may block.
    ///
    /// # Errors
    /// [`InvalidGraph`], also when the effort did not suffice.
    pub fn parse_within(file: &str, yaml: &str, effort: &mut Effort) -> Result<Graph, InvalidGraph> {
        let findings = match load::load(yaml) {
            Ok(graph) => match check::check(&graph, effort) {
                findings if findings.is_empty() => return Ok(graph),
                findings => findings,
            },
            Err(findings) => findings,
        };
        Err(InvalidGraph::new(file, findings))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The options it declares, in the file's order.
    pub fn options(&self) -> &[OptionSpec] {
        &self.options
    }

    /// The limits that the graph sets besides its edges.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The node a walk begins with.
    pub fn start(&self) -> NodeId {
        self.start
    }

    /// Its nodes with their ids, in the file's order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index), node))
    }

    /// The node of that id. The id must come from this graph.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    /// The file as it was read.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The exact worst case of a walk with these options.
    ///
    /// # Errors
    /// [`BoundError::TooManyStates`].
    pub fn worst_case(&self, options: &Options) -> Result<WorstCase, BoundError> {
        self.worst_case_within(options, &mut Effort::default())
    }

    /// [`Graph::worst_case`] with an effort that other checks of the graph share.
    ///
    /// # Errors
    /// [`BoundError`].
    pub fn worst_case_within(&self, options: &Options, effort: &mut Effort) -> Result<WorstCase, BoundError> {
        bound::worst_case(self, options, effort)
    }

    /// The worst case as formulas of the options; a formula is empty if none is exact, or if finding it would cost too
    /// much. The first call computes them from a few dozen worst cases.
    pub fn formulas(&self) -> &Formulas {
        self.formulas_within(&mut Effort::default())
    }

    /// [`Graph::formulas`] with an effort that other checks of the graph share.
    pub fn formulas_within(&self, effort: &mut Effort) -> &Formulas {
        self.formulas.get_or_init(|| formula::formulas(self, effort))
    }

    /// Why the worst case with these options is not within the graph's `limits.model_calls` (R1), or cannot be computed;
    /// `None` if it is within, or if there is no such limit.
    pub fn budget_problem(&self, options: &Options, effort: &mut Effort) -> Option<String> {
        check::budget_problem(self, options, effort)
    }

    /// Name of a target: the node's, or `finish`.
    pub fn target_name(&self, target: Target) -> &str {
        match target {
            Target::Node(id) => self.node(id).name(),
            Target::Finish(_) => "finish",
        }
    }
}

impl Node {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its action with the settings.
    pub fn config(&self) -> NodeConfig {
        self.config
    }

    /// Its action.
    pub fn action(&self) -> Action {
        self.config.action()
    }

    /// Its outcomes with the edges of each.
    pub fn routes(&self) -> impl Iterator<Item = (Outcome, &Route)> {
        self.action().outcomes().zip(&self.routes)
    }

    /// The edges of one outcome of its action.
    pub fn route(&self, outcome: Outcome) -> &Route {
        &self.routes[outcome.index()]
    }
}

impl Route {
    /// Its edges in the order in which they are tried; the last has no condition.
    pub fn edges(&self) -> impl Iterator<Item = (Option<&Condition>, Target)> {
        self.bounded
            .iter()
            .map(|(condition, target)| (Some(condition), *target))
            .chain([(None, self.otherwise)])
    }

    /// The first open edge, given the number of visits by [`NodeId::index`].
    pub fn choose(&self, visits: &[u32], options: &Options) -> (Option<&Condition>, Target) {
        self.choose_where(|condition| condition.is_open(visits, options))
    }

    /// The first edge whose condition is open.
    fn choose_where(&self, is_open: impl Fn(&Condition) -> bool) -> (Option<&Condition>, Target) {
        self.bounded
            .iter()
            .find(|(condition, _)| is_open(condition))
            .map_or((None, self.otherwise), |(condition, target)| (Some(condition), *target))
    }
}
