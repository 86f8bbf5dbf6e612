//! The engine with its graph files against programs that were written from the design alone: over the same scripts of
//! what the services do, both visit the same nodes and end alike.

mod models;
mod script;
mod world;

use std::time::Duration;

use proptest::prelude::*;

use super::{ask_with, path};
use crate::catalog::builtin;

pub(crate) use self::script::{Script, scripts, services};
pub(crate) use self::world::{Limits, Status};

/// Scripts for each graph.
const SCRIPTS: u32 = 10_000;

pub(crate) fn limits() -> impl Strategy<Value = Limits> {
    (
        1..5_u32,
        1..9_u32,
        0..4_u32,
        0..4_u32,
        0..3_u32,
        0..2_u32,
        1..6_u32,
        prop_oneof![Just(50_usize), 1..20_usize],
    )
        .prop_map(
            |(top_k, wide_top_k, max_count, max_retries, max_rewrites, web_fallback, max_depth, recursion)| Limits {
                top_k,
                wide_top_k,
                max_count,
                max_retries,
                max_rewrites,
                web_fallback,
                max_depth,
                recursion,
            },
        )
}

/// The limits as the options that a graph has.
pub(crate) fn options(graph: &str, limits: Limits) -> Vec<(&'static str, f64)> {
    let all: [(&'static str, f64); 8] = [
        ("top_k", limits.top_k.into()),
        ("wide_top_k", limits.wide_top_k.into()),
        ("max_count", limits.max_count.into()),
        ("max_retries", limits.max_retries.into()),
        ("max_rewrites", limits.max_rewrites.into()),
        ("web_fallback", limits.web_fallback.into()),
        ("max_depth", limits.max_depth.into()),
        ("recursion_limit", limits.recursion as f64),
    ];
    let graph = builtin(graph);
    let known = |name: &str| graph.options().iter().any(|option| option.name == name);
    all.into_iter().filter(|(name, _)| known(name)).collect()
}

/// The nodes and the end by the model.
pub(crate) fn by_the_model(graph: &str, script: &Script, limits: Limits) -> (Vec<String>, Status) {
    let (nodes, status) = models::walk(graph, script, limits);
    (nodes.into_iter().map(str::to_owned).collect(), status)
}

fn by_the_engine(graph: &str, script: &Script, limits: Limits) -> (Vec<String>, Status) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let services = services(script);
    let options = options(graph, limits);
    match runtime.block_on(ask_with(graph, &options, &services, Duration::from_secs(3600))) {
        Ok(result) => {
            let nodes = path(&result).into_iter().map(str::to_owned).collect();
            (nodes, result.status())
        }
        Err(error) => panic!("{error}"),
    }
}

fn agree(graph: &'static str) {
    let config = ProptestConfig {
        cases: SCRIPTS,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(script in scripts(), limits in limits())| {
        let (expected, end) = by_the_model(graph, &script, limits);
        let (nodes, status) = by_the_engine(graph, &script, limits);
        prop_assert_eq!(status, end, "by the model: {:?}, by the engine: {:?}", expected, nodes);
        prop_assert_eq!(nodes, expected);
    });
}

macro_rules! graphs {
    ($($test:ident $graph:literal)+) => {
        $(
            #[test]
            fn $test() {
                agree($graph);
            }
        )+
    };
}

graphs! {
    plain_rag_is_what_the_design_says "plain-rag"
    self_rag_is_what_the_design_says "self-rag"
    self_rag_final_grade_is_what_the_design_says "self-rag-final-grade"
    self_rag_tutorial_is_what_the_design_says "self-rag-tutorial"
    corrective_rag_is_what_the_design_says "corrective-rag"
    corrective_rag_binary_is_what_the_design_says "corrective-rag-binary"
    self_corrective_rag_is_what_the_design_says "self-corrective-rag"
    self_reflective_rag_is_what_the_design_says "self-reflective-rag"
}

#[test]
fn every_graph_has_a_model() {
    let catalog = crate::catalog::Catalog::load(None).unwrap();
    let mut modelled: Vec<&str> = models::MODELS.iter().map(|(name, _)| *name).collect();
    modelled.sort_unstable();
    let graphs: Vec<String> = catalog.iter().map(|graph| graph.name().to_owned()).collect();
    assert_eq!(modelled, graphs);
}
