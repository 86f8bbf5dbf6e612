//! What a node runs: an action with its settings.

use emend_core::limits::MAX_TOKENS;
use emend_proto::v1::SearchMode;

use super::{Action, Value};

/// An action with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeConfig {
    /// See [`Action::DecideRetrieval`].
    DecideRetrieval {
        /// Probability above which evidence is retrieved: always below 0, never from 1. Unset means
        /// the grader's default.
        threshold: Option<Value>,
    },
    /// See [`Action::Retrieve`].
    Retrieve {
        /// Passages to find, 1–100.
        top_k: Value,
        /// Passages to search for and to grade, of which the `top_k` with the best grades are held, 0–100. Not above
        /// `top_k`, or unset, leaves the retriever's own order.
        rerank: Option<Value>,
        /// How they are searched.
        search: Search,
        /// Whether they are searched exactly, without the HNSW graph: 0 or 1; unset means 0.
        exact: Option<Value>,
    },
    /// See [`Action::GradeDocuments`].
    GradeDocuments {
        /// What happens to a passage without a grade (R4).
        ungraded: Ungraded,
    },
    /// See [`Action::EvaluateDocuments`].
    EvaluateDocuments {
        /// Score from which one passage makes the evaluation correct, 0–1; unset means the calibrated one.
        upper: Option<Value>,
        /// Score below which all passages make it incorrect, 0–1; unset means the calibrated one.
        lower: Option<Value>,
    },
    /// See [`Action::Refine`].
    Refine(Refining),
    /// See [`Action::RefineAndSearch`].
    RefineAndSearch {
        /// How the passages held are refined.
        refining: Refining,
        /// Results of the web search, 1–50.
        max_results: Value,
    },
    /// See [`Action::Rewrite`].
    Rewrite {
        /// What the query is for.
        purpose: Purpose,
        /// Longest query in tokens; unset means the rewriter's default.
        max_tokens: Option<Value>,
    },
    /// See [`Action::WebSearch`].
    WebSearch {
        /// How many results to ask for.
        results: WebResults,
    },
    /// See [`Action::Generate`].
    Generate(Writing),
    /// See [`Action::GenerateWithoutDocuments`].
    GenerateWithoutDocuments(Writing),
    /// See [`Action::GenerateSegment`].
    GenerateSegment {
        /// How a segment is written.
        writing: Writing,
        /// Hypotheses that go on, 1–10.
        beam_width: Value,
        /// What each grade weighs in the ranking.
        weights: Weights,
    },
    /// See [`Action::GradeGeneration`].
    GradeGeneration {
        /// The weakest support that passes.
        support: MinimumSupport,
    },
    /// See [`Action::GradeGroundedness`].
    GradeGroundedness {
        /// The weakest support that passes.
        support: MinimumSupport,
    },
    /// See [`Action::GradeUsefulness`].
    GradeUsefulness,
    /// See [`Action::Pass`].
    Pass,
    /// See [`Action::FinalizeResponse`].
    FinalizeResponse,
}

/// How passages are cut into strips and which of them are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refining {
    /// What a strip is.
    pub unit: StripUnit,
    /// Sentences or words of a strip; unset means 3 sentences or 50 words.
    pub size: Option<Value>,
    /// Strips to keep at most, 1–100; unset means 5.
    pub max_strips: Option<Value>,
    /// Score from which a strip is kept, 0–1; unset means the calibrated one.
    pub threshold: Option<Value>,
}

/// What passages are cut into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StripUnit {
    /// Groups of sentences.
    #[default]
    Sentences,
    /// Groups of words.
    Words,
    /// The passage as it is.
    Passage,
}

/// How an answer is written; an unset field means the generator's default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Writing {
    /// Longest answer in tokens, 1–8192.
    pub max_tokens: Option<Value>,
    /// Longest answer in sentences, 1–100.
    pub max_sentences: Option<Value>,
    /// Temperature of the first attempt, 0–2; later ones at the same passages are warmer (R3).
    pub temperature: Option<Value>,
}

/// Weight of each grade of a segment. A segment scores `likelihood + relevance · P(relevant) +
/// support · S + usefulness · U`. `S` is `P(full) + ½ P(partial)`. `U` is the expected utility,
/// where utilities 5 to 1 count 1, ½, 0, −½, −1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Of relevance.
    pub relevance: Value,
    /// Of support.
    pub support: Value,
    /// Of usefulness.
    pub usefulness: Value,
}

/// What happens to a passage without a grade: it is never dropped silently (R4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ungraded {
    /// It stays among the evidence, marked.
    #[default]
    Keep,
    /// It is dropped, marked.
    Drop,
}

/// How passages are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// By meaning and by words, joined.
    #[default]
    Hybrid,
    /// By embedding: meaning, also across languages.
    Dense,
    /// By words: names, numbers and rare terms.
    Sparse,
}

impl From<Search> for SearchMode {
    fn from(search: Search) -> Self {
        match search {
            Search::Hybrid => Self::Hybrid,
            Search::Dense => Self::Dense,
            Search::Sparse => Self::Sparse,
        }
    }
}

/// What a rewritten query is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To search the collection.
    Retrieval,
    /// To search the web: keywords.
    WebSearch,
}

/// How many results a web search asks for, at most 50.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WebResults {
    /// That many.
    Exactly(Value),
    /// As many as are missing from the passages kept to reach that number.
    FillTo(Value),
}

/// The weakest support that an answer may have. Its weakest sentence decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MinimumSupport {
    /// Every sentence at least partially supported.
    #[default]
    Partially,
    /// Every sentence fully supported.
    Fully,
}

impl NodeConfig {
    /// The action without its settings.
    pub fn action(self) -> Action {
        match self {
            NodeConfig::DecideRetrieval { .. } => Action::DecideRetrieval,
            NodeConfig::Retrieve { .. } => Action::Retrieve,
            NodeConfig::GradeDocuments { .. } => Action::GradeDocuments,
            NodeConfig::EvaluateDocuments { .. } => Action::EvaluateDocuments,
            NodeConfig::Refine(_) => Action::Refine,
            NodeConfig::RefineAndSearch { .. } => Action::RefineAndSearch,
            NodeConfig::Rewrite { .. } => Action::Rewrite,
            NodeConfig::WebSearch { .. } => Action::WebSearch,
            NodeConfig::Generate(_) => Action::Generate,
            NodeConfig::GenerateWithoutDocuments(_) => Action::GenerateWithoutDocuments,
            NodeConfig::GenerateSegment { .. } => Action::GenerateSegment,
            NodeConfig::GradeGeneration { .. } => Action::GradeGeneration,
            NodeConfig::GradeGroundedness { .. } => Action::GradeGroundedness,
            NodeConfig::GradeUsefulness => Action::GradeUsefulness,
            NodeConfig::Pass => Action::Pass,
            NodeConfig::FinalizeResponse => Action::FinalizeResponse,
        }
    }

    /// Its numeric settings.
    pub(super) fn settings(self) -> Vec<Setting> {
        let mut settings = Vec::new();
        let mut add = |name, value: Option<Value>, smallest: f64, largest: f64| {
            settings.extend(value.map(|value| Setting {
                name,
                value,
                smallest,
                largest,
            }));
        };
        match self {
            NodeConfig::DecideRetrieval { threshold } => add("threshold", threshold, -1.0, 1.0),
            NodeConfig::Retrieve {
                top_k, rerank, exact, ..
            } => {
                add("top_k", Some(top_k), 1.0, super::MAX_PASSAGES.into());
                add("rerank", rerank, 0.0, super::MAX_PASSAGES.into());
                add("exact", exact, 0.0, 1.0);
            }
            NodeConfig::EvaluateDocuments { upper, lower } => {
                add("upper", upper, 0.0, 1.0);
                add("lower", lower, 0.0, 1.0);
            }
            NodeConfig::Refine(refining) => refining.settings(&mut add),
            NodeConfig::RefineAndSearch { refining, max_results } => {
                refining.settings(&mut add);
                add("max_results", Some(max_results), 1.0, super::MAX_WEB_RESULTS.into());
            }
            NodeConfig::Rewrite { max_tokens, .. } => add("max_tokens", max_tokens, 1.0, MAX_TOKENS.into()),
            NodeConfig::WebSearch { results } => match results {
                WebResults::Exactly(most) => {
                    add("max_results", Some(most), 1.0, super::MAX_WEB_RESULTS.into());
                }
                WebResults::FillTo(most) => add("fill_to", Some(most), 1.0, super::MAX_PASSAGES.into()),
            },
            NodeConfig::Generate(writing) | NodeConfig::GenerateWithoutDocuments(writing) => writing.settings(&mut add),
            NodeConfig::GenerateSegment {
                writing,
                beam_width,
                weights,
            } => {
                writing.settings(&mut add);
                add("beam_width", Some(beam_width), 1.0, super::MAX_BEAM.into());
                add("relevance_weight", Some(weights.relevance), 0.0, 10.0);
                add("support_weight", Some(weights.support), 0.0, 10.0);
                add("usefulness_weight", Some(weights.usefulness), 0.0, 10.0);
            }
            NodeConfig::GradeDocuments { .. }
            | NodeConfig::GradeGeneration { .. }
            | NodeConfig::GradeGroundedness { .. }
            | NodeConfig::GradeUsefulness
            | NodeConfig::Pass
            | NodeConfig::FinalizeResponse => {}
        }
        settings
    }
}

/// A numeric setting of a config, with the range that a service accepts.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) value: Value,
    pub(super) smallest: f64,
    pub(super) largest: f64,
}

impl Refining {
    fn settings(self, add: &mut impl FnMut(&'static str, Option<Value>, f64, f64)) {
        let longest = match self.unit {
            StripUnit::Sentences | StripUnit::Passage => 100.0,
            StripUnit::Words => 1000.0,
        };
        add("size", self.size, 1.0, longest);
        add("max_strips", self.max_strips, 1.0, super::MAX_STRIPS.into());
        add("threshold", self.threshold, 0.0, 1.0);
    }
}

impl Writing {
    fn settings(self, add: &mut impl FnMut(&'static str, Option<Value>, f64, f64)) {
        add("max_tokens", self.max_tokens, 1.0, MAX_TOKENS.into());
        add("max_sentences", self.max_sentences, 1.0, 100.0);
        add("temperature", self.temperature, 0.0, 2.0);
    }
}
