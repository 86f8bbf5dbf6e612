//! The YAML of a graph file, before names are looked up. Values carry their line for findings.

use std::{fmt, marker::PhantomData};

use emend_core::limits::MAX_GRAPH_BYTES;
use serde::{
    Deserialize, Deserializer,
    de::{IntoDeserializer, MapAccess, SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use serde_saphyr::Spanned;

use super::finding::Finding;

/// A whole graph file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GraphFile {
    pub(super) name: Spanned<String>,
    pub(super) description: String,
    #[serde(default)]
    pub(super) options: Entries<OptionFile>,
    #[serde(default)]
    pub(super) limits: LimitsFile,
    pub(super) start: Spanned<String>,
    pub(super) nodes: Entries<NodeFile>,
    pub(super) edges: Entries<Entries<RouteFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OptionFile {
    pub(super) description: String,
    pub(super) default: Option<f64>,
    pub(super) min: f64,
    pub(super) max: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsFile {
    pub(super) recursion: Option<Spanned<String>>,
    pub(super) at_limit: Option<Spanned<String>>,
    pub(super) model_calls: Option<Spanned<String>>,
}

/// A node with the settings of all actions. Loading checks that its own action reads those that are
/// given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeFile {
    pub(super) action: Spanned<String>,
    pub(super) top_k: Option<Spanned<String>>,
    pub(super) rerank: Option<Spanned<String>>,
    pub(super) search: Option<Spanned<String>>,
    pub(super) exact: Option<Spanned<String>>,
    pub(super) ungraded: Option<Spanned<String>>,
    pub(super) purpose: Option<Spanned<String>>,
    pub(super) max_results: Option<Spanned<String>>,
    pub(super) fill_to: Option<Spanned<String>>,
    pub(super) support: Option<Spanned<String>>,
    pub(super) threshold: Option<Spanned<String>>,
    pub(super) upper: Option<Spanned<String>>,
    pub(super) lower: Option<Spanned<String>>,
    pub(super) strips: Option<Spanned<String>>,
    pub(super) size: Option<Spanned<String>>,
    pub(super) max_strips: Option<Spanned<String>>,
    pub(super) max_tokens: Option<Spanned<String>>,
    pub(super) max_sentences: Option<Spanned<String>>,
    pub(super) temperature: Option<Spanned<String>>,
    pub(super) beam_width: Option<Spanned<String>>,
    pub(super) relevance_weight: Option<Spanned<String>>,
    pub(super) support_weight: Option<Spanned<String>>,
    pub(super) usefulness_weight: Option<Spanned<String>>,
}

impl NodeFile {
    /// Every setting that is given, by name.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&'static str, &Spanned<String>)> {
        [
            ("top_k", &self.top_k),
            ("rerank", &self.rerank),
            ("search", &self.search),
            ("exact", &self.exact),
            ("ungraded", &self.ungraded),
            ("purpose", &self.purpose),
            ("max_results", &self.max_results),
            ("fill_to", &self.fill_to),
            ("support", &self.support),
            ("threshold", &self.threshold),
            ("upper", &self.upper),
            ("lower", &self.lower),
            ("strips", &self.strips),
            ("size", &self.size),
            ("max_strips", &self.max_strips),
            ("max_tokens", &self.max_tokens),
            ("max_sentences", &self.max_sentences),
            ("temperature", &self.temperature),
            ("beam_width", &self.beam_width),
            ("relevance_weight", &self.relevance_weight),
            ("support_weight", &self.support_weight),
            ("usefulness_weight", &self.usefulness_weight),
        ]
        .into_iter()
        .filter_map(|(name, setting)| Some((name, setting.as_ref()?)))
    }
}

/// The edges of one outcome: a target, or a list of edges.
#[derive(Debug)]
pub(super) enum RouteFile {
    To(String),
    FirstOpen(Vec<EdgeFile>),
}

/// `{to, while}`, or `{else}` at the end of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EdgeFile {
    pub(super) to: Option<Spanned<String>>,
    #[serde(rename = "while")]
    pub(super) condition: Option<Spanned<String>>,
    #[serde(rename = "else")]
    pub(super) otherwise: Option<Spanned<String>>,
}

/// A mapping in the order of the file.
#[derive(Debug)]
pub(super) struct Entries<T>(pub(super) Vec<(String, Spanned<T>)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Entries(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping of names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }

            fn visit_unit<E>(self) -> Result<Entries<T>, E> {
                Ok(Entries::default())
            }
        }

        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

impl<'de> Deserialize<'de> for RouteFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RouteVisitor;

        impl<'de> Visitor<'de> for RouteVisitor {
            type Value = RouteFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a node, `finish(STATUS)`, or a list of edges")
            }

            fn visit_str<E: serde::de::Error>(self, target: &str) -> Result<RouteFile, E> {
                String::deserialize(target.into_deserializer()).map(RouteFile::To)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, edges: A) -> Result<RouteFile, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(edges)).map(RouteFile::FirstOpen)
            }
        }

        deserializer.deserialize_any(RouteVisitor)
    }
}

/// Collections within collections; a graph file has five.
const MAX_DEPTH: usize = 16;
/// Parts of a file: names, values, and beginnings and ends of collections; both those that are written and those that
/// aliases repeat. The largest of the built-in graphs has 500.
const MAX_EVENTS: usize = 50_000;
/// Most anchors, and most aliases; one route for many outcomes is what they are for.
const MAX_ALIASES: usize = 1_000;
/// Longest message about YAML that is none, in bytes: it may repeat what it found.
const MAX_YAML_ERROR_BYTES: usize = 512;

/// Reads the YAML; an error is one finding with its line.
pub(super) fn read(yaml: &str) -> Result<GraphFile, Finding> {
    if yaml.len() > MAX_GRAPH_BYTES {
        let problem = format!(
            "the file has {} bytes; a graph has at most {MAX_GRAPH_BYTES}",
            yaml.len()
        );
        return Err(Finding::file(0, problem));
    }
    let options = serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_documents: 1,
            max_events: MAX_EVENTS,
            max_nodes: MAX_EVENTS,
            max_recorded_anchor_events: MAX_EVENTS,
            max_anchors: MAX_ALIASES,
            max_aliases: MAX_ALIASES,
            max_merge_keys: MAX_ALIASES,
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_EVENTS,
            max_replay_stack_depth: MAX_DEPTH,
        },
    };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| {
        let line = error.location().map_or(0, |location| location.line());
        let mut problem = error.to_string();
        problem.truncate(problem.floor_char_boundary(MAX_YAML_ERROR_BYTES));
        Finding::file(u32::try_from(line).unwrap_or(0), problem)
    })
}

/// The line a value stands on.
pub(super) fn line<T>(value: &Spanned<T>) -> u32 {
    u32::try_from(value.referenced.line()).unwrap_or(0)
}
