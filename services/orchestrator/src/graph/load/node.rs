//! Nodes: the action, its settings, and an edge for each outcome.

use serde_saphyr::Spanned;

use super::Loader;
use crate::graph::{
    Action, MinimumSupport, Node, NodeConfig, Outcome, Purpose, Refining, Search, StripUnit, Ungraded, Value,
    WebResults, Weights, Writing,
    file::{Entries, NodeFile, RouteFile, line},
    finding::{Finding, list},
};

impl Loader {
    pub(super) fn node(
        &mut self,
        name: String,
        node: &Spanned<NodeFile>,
        edges: Option<Spanned<Entries<RouteFile>>>,
    ) -> Option<Node> {
        let Some(action) = Action::named(&node.value.action.value) else {
            let known: Vec<_> = Action::ALL.iter().map(|action| (action.name(), *action)).collect();
            self.word(Some(&name), "action", &node.value.action, &known);
            return None;
        };
        let config = self.config(&name, action, &node.value);
        let Some(edges) = edges else {
            self.findings.push(Finding::node(
                line(node),
                &name,
                format!(
                    "has no edges; map its outcomes {}",
                    list(action.outcomes().map(Outcome::name))
                ),
            ));
            return None;
        };
        let routes = self.routes(&name, action, edges);
        Some(Node {
            config: config?,
            routes: routes?,
            name,
            line: line(node),
        })
    }

    fn config(&mut self, name: &str, action: Action, node: &NodeFile) -> Option<NodeConfig> {
        self.unread_settings(name, action, node);
        Some(match action {
            Action::DecideRetrieval => NodeConfig::DecideRetrieval {
                threshold: self.optional_ratio(name, "threshold", node.threshold.as_ref())?,
            },
            Action::Retrieve => NodeConfig::Retrieve {
                top_k: self.required(name, node, "top_k", node.top_k.as_ref())?,
                rerank: self.optional_count(name, "rerank", node.rerank.as_ref())?,
                search: self.one_of(
                    name,
                    "search",
                    node.search.as_ref(),
                    &[
                        ("hybrid", Search::Hybrid),
                        ("dense", Search::Dense),
                        ("sparse", Search::Sparse),
                    ],
                )?,
                exact: self.optional_count(name, "exact", node.exact.as_ref())?,
            },
            Action::GradeDocuments => NodeConfig::GradeDocuments {
                ungraded: self.one_of(
                    name,
                    "ungraded",
                    node.ungraded.as_ref(),
                    &[("keep", Ungraded::Keep), ("drop", Ungraded::Drop)],
                )?,
            },
            Action::EvaluateDocuments => NodeConfig::EvaluateDocuments {
                upper: self.optional_ratio(name, "upper", node.upper.as_ref())?,
                lower: self.optional_ratio(name, "lower", node.lower.as_ref())?,
            },
            Action::Refine => NodeConfig::Refine(self.refining(name, node)?),
            Action::RefineAndSearch => NodeConfig::RefineAndSearch {
                refining: self.refining(name, node)?,
                max_results: self.required(name, node, "max_results", node.max_results.as_ref())?,
            },
            Action::Rewrite => NodeConfig::Rewrite {
                purpose: match &node.purpose {
                    None => Purpose::Retrieval,
                    Some(word) => self.word(
                        Some(name),
                        "purpose",
                        word,
                        &[("retrieval", Purpose::Retrieval), ("web_search", Purpose::WebSearch)],
                    )?,
                },
                max_tokens: self.optional_count(name, "max_tokens", node.max_tokens.as_ref())?,
            },
            Action::WebSearch => NodeConfig::WebSearch {
                results: match (&node.max_results, &node.fill_to) {
                    (None, Some(word)) => WebResults::FillTo(self.count(Some(name), "fill_to", word)?),
                    (Some(word), None) => WebResults::Exactly(self.count(Some(name), "max_results", word)?),
                    _ => {
                        self.findings.push(Finding::node(
                            line(&node.action),
                            name,
                            "needs either `max_results` or `fill_to`",
                        ));
                        return None;
                    }
                },
            },
            Action::Generate => NodeConfig::Generate(self.writing(name, node)?),
            Action::GenerateWithoutDocuments => NodeConfig::GenerateWithoutDocuments(self.writing(name, node)?),
            Action::GenerateSegment => NodeConfig::GenerateSegment {
                writing: self.writing(name, node)?,
                beam_width: self.required(name, node, "beam_width", node.beam_width.as_ref())?,
                weights: Weights {
                    relevance: self.weight(name, "relevance_weight", node.relevance_weight.as_ref(), 1.0)?,
                    support: self.weight(name, "support_weight", node.support_weight.as_ref(), 1.0)?,
                    usefulness: self.weight(name, "usefulness_weight", node.usefulness_weight.as_ref(), 0.5)?,
                },
            },
            Action::GradeGeneration => NodeConfig::GradeGeneration {
                support: self.minimum_support(name, node)?,
            },
            Action::GradeGroundedness => NodeConfig::GradeGroundedness {
                support: self.minimum_support(name, node)?,
            },
            Action::GradeUsefulness => NodeConfig::GradeUsefulness,
            Action::Pass => NodeConfig::Pass,
            Action::FinalizeResponse => NodeConfig::FinalizeResponse,
        })
    }

    /// Finds settings that the node's action does not read.
    fn unread_settings(&mut self, name: &str, action: Action, node: &NodeFile) {
        let read = settings_of(action);
        for (setting, given) in node.settings().filter(|(setting, _)| !read.contains(setting)) {
            let reads = if read.is_empty() {
                "nothing".to_owned()
            } else {
                list(read.iter().copied())
            };
            self.findings.push(Finding::node(
                line(given),
                name,
                format!("`{setting}` is not a setting of `{action}`, which reads {reads}"),
            ));
        }
    }

    fn refining(&mut self, name: &str, node: &NodeFile) -> Option<Refining> {
        Some(Refining {
            unit: self.one_of(
                name,
                "strips",
                node.strips.as_ref(),
                &[
                    ("sentences", StripUnit::Sentences),
                    ("words", StripUnit::Words),
                    ("passage", StripUnit::Passage),
                ],
            )?,
            size: self.optional_count(name, "size", node.size.as_ref())?,
            max_strips: self.optional_count(name, "max_strips", node.max_strips.as_ref())?,
            threshold: self.optional_ratio(name, "threshold", node.threshold.as_ref())?,
        })
    }

    fn writing(&mut self, name: &str, node: &NodeFile) -> Option<Writing> {
        Some(Writing {
            max_tokens: self.optional_count(name, "max_tokens", node.max_tokens.as_ref())?,
            max_sentences: self.optional_count(name, "max_sentences", node.max_sentences.as_ref())?,
            temperature: self.optional_ratio(name, "temperature", node.temperature.as_ref())?,
        })
    }

    fn minimum_support(&mut self, name: &str, node: &NodeFile) -> Option<MinimumSupport> {
        self.one_of(
            name,
            "support",
            node.support.as_ref(),
            &[
                ("partially", MinimumSupport::Partially),
                ("fully", MinimumSupport::Fully),
            ],
        )
    }

    /// One of a closed set of words; the default if the setting is missing.
    fn one_of<T: Copy + Default>(
        &mut self,
        name: &str,
        setting: &str,
        given: Option<&Spanned<String>>,
        known: &[(&str, T)],
    ) -> Option<T> {
        match given {
            None => Some(T::default()),
            Some(word) => self.word(Some(name), setting, word, known),
        }
    }

    fn optional_count(&mut self, name: &str, setting: &str, given: Option<&Spanned<String>>) -> Option<Option<Value>> {
        match given {
            None => Some(None),
            Some(word) => self.count(Some(name), setting, word).map(Some),
        }
    }

    fn optional_ratio(&mut self, name: &str, setting: &str, given: Option<&Spanned<String>>) -> Option<Option<Value>> {
        match given {
            None => Some(None),
            Some(word) => self.ratio(Some(name), setting, word).map(Some),
        }
    }

    fn weight(&mut self, name: &str, setting: &str, given: Option<&Spanned<String>>, default: f64) -> Option<Value> {
        let weight = self.optional_ratio(name, setting, given)?;
        Some(weight.unwrap_or(Value::Fixed(default)))
    }

    fn required(
        &mut self,
        name: &str,
        node: &NodeFile,
        setting: &str,
        given: Option<&Spanned<String>>,
    ) -> Option<Value> {
        match given {
            Some(word) => self.count(Some(name), setting, word),
            None => {
                self.findings.push(Finding::node(
                    line(&node.action),
                    name,
                    format!("needs `{setting}`: a number or the name of an option"),
                ));
                None
            }
        }
    }
}

/// The settings that an action reads.
fn settings_of(action: Action) -> &'static [&'static str] {
    match action {
        Action::DecideRetrieval => &["threshold"],
        Action::Retrieve => &["top_k", "rerank", "search", "exact"],
        Action::GradeDocuments => &["ungraded"],
        Action::EvaluateDocuments => &["upper", "lower"],
        Action::Refine => &["strips", "size", "max_strips", "threshold"],
        Action::RefineAndSearch => &["strips", "size", "max_strips", "threshold", "max_results"],
        Action::Rewrite => &["purpose", "max_tokens"],
        Action::WebSearch => &["max_results", "fill_to"],
        Action::Generate | Action::GenerateWithoutDocuments => &["max_tokens", "max_sentences", "temperature"],
        Action::GenerateSegment => &[
            "beam_width",
            "relevance_weight",
            "support_weight",
            "usefulness_weight",
            "max_tokens",
            "max_sentences",
            "temperature",
        ],
        Action::GradeGeneration | Action::GradeGroundedness => &["support"],
        Action::GradeUsefulness | Action::Pass | Action::FinalizeResponse => &[],
    }
}
