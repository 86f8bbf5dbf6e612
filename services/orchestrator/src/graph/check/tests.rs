//! Graph files that must be rejected, each for one fault, and random files.

use proptest::prelude::*;

use super::super::{Graph, InvalidGraph, Options};

const TWO_NODES: &str = "
name: two-nodes
description: Retrieves and generates.
options:
  top_k: {default: 4, min: 1, max: 100, description: Passages.}
start: retrieve
nodes:
  retrieve: {action: retrieve, top_k: top_k}
  generate: {action: generate}
edges:
  retrieve:
    passages: generate
    no_passages: finish(abstained)
    unavailable: finish(abstained)
  generate:
    generated: finish(unverified)
    abstained: finish(abstained)
    stalled: finish(unverified)
    no_documents: finish(abstained)
    unavailable: finish(abstained)
";

fn parse(yaml: &str) -> Result<Graph, InvalidGraph> {
    Graph::parse("two-nodes.yaml", yaml)
}

/// The graph with one piece of its text replaced.
fn with(from: &str, to: &str) -> Result<Graph, InvalidGraph> {
    assert!(TWO_NODES.contains(from), "{from}");
    parse(&TWO_NODES.replacen(from, to, 1))
}

fn findings(result: Result<Graph, InvalidGraph>) -> String {
    result.expect_err("the graph must be refused").to_string()
}

#[test]
fn the_graph_that_the_other_tests_break_is_sound() {
    parse(TWO_NODES).unwrap();
}

#[test]
fn r1_an_unmapped_outcome_is_refused_and_named() {
    assert_eq!(
        findings(with("    stalled: finish(unverified)\n", "")),
        "two-nodes.yaml:16: node `generate`: no edge for `stalled`; every outcome needs one"
    );
}

#[test]
fn r1_an_unknown_outcome_is_refused_with_the_nearest_and_all_known_ones() {
    assert_eq!(
        findings(with("no_passages:", "no_pasages:")),
        "two-nodes.yaml:12: node `retrieve`: no edge for `no_passages`; every outcome needs one\n\
         two-nodes.yaml:13: node `retrieve`: `no_pasages` is no outcome of `retrieve`; did you mean `no_passages`?; its \
         outcomes are `passages`, `no_passages`, `unavailable`"
    );
}

#[test]
fn r1_an_unreachable_node_is_refused_and_named() {
    assert_eq!(
        findings(with("passages: generate", "passages: finish(abstained)")),
        "two-nodes.yaml:9: node `generate`: cannot be reached from `retrieve`; add an edge to it or remove it"
    );
}

#[test]
fn r1_a_node_with_no_way_to_the_end_is_refused() {
    let text = TWO_NODES
        .replace("finish(unverified)", "generate")
        .replace("finish(abstained)", "generate");
    let findings = findings(parse(&text));
    assert!(
        findings.contains("node `retrieve`: no way leads from it to the end"),
        "{findings}"
    );
    assert!(
        findings.contains("node `generate`: no way leads from it to the end"),
        "{findings}"
    );
}

#[test]
fn r1_a_cycle_without_a_bound_is_refused_where_no_recursion_limit_ends_it() {
    let cycle = TWO_NODES.replace("stalled: finish(unverified)", "stalled: retrieve");
    parse(&cycle).expect("the recursion limit bounds it");
    let findings = findings(parse(&cycle.replace("start:", "limits: {recursion: none}\nstart:")));
    assert!(
        findings.contains("nothing bounds the cycle of `retrieve`, `generate`"),
        "{findings}"
    );
}

#[test]
fn r1_an_edge_bounds_a_cycle_only_when_it_counts_a_node_of_the_cycle() {
    let bounded_by = |counted: &str| {
        let route = format!(
            "stalled:\n      - {{to: generate, while: visits({counted}) <= 3}}\n      - else: finish(unverified)"
        );
        parse(
            &TWO_NODES
                .replace("stalled: finish(unverified)", &route)
                .replace("start:", "limits: {recursion: none}\nstart:"),
        )
    };
    bounded_by("generate").unwrap();
    let findings = findings(bounded_by("retrieve"));
    assert!(
        findings.contains("nothing bounds the cycle of `generate`"),
        "{findings}"
    );
}

#[test]
fn r1_a_worst_case_above_the_budget_is_refused() {
    with("start:", "limits: {model_calls: 1}\nstart:").unwrap();
    assert_eq!(
        findings(with("start:", "limits: {model_calls: 0}\nstart:")),
        "two-nodes.yaml: the worst case is 1 model calls, above the budget of 0; lower the options or raise \
         `limits.model_calls`"
    );
}

#[test]
fn an_option_that_nothing_reads_is_refused() {
    assert_eq!(
        findings(with("top_k: top_k", "top_k: 4")),
        "two-nodes.yaml:5: nothing reads option `top_k`; use it in a condition, a setting or a limit, or remove it"
    );
}

#[test]
fn an_unknown_option_in_a_condition_is_refused() {
    let findings = findings(with(
        "stalled: finish(unverified)",
        "stalled:\n      - {to: generate, while: visits(generate) <= topk}\n      - else: finish(unverified)",
    ));
    assert_eq!(
        findings,
        "two-nodes.yaml:19: node `generate`: a limit must be a whole number up to 10000 or an option, found `topk`; \
         did you mean `top_k`?; the options are `top_k`"
    );
}

#[test]
fn a_list_of_edges_must_end_in_one_that_is_always_open() {
    let findings = findings(with(
        "stalled: finish(unverified)",
        "stalled:\n      - {to: generate, while: visits(generate) <= 3}",
    ));
    assert!(
        findings.contains("node `generate`: the last edge of a list must always be open"),
        "{findings}"
    );
}

#[test]
fn a_number_that_a_service_would_refuse_is_refused_here() {
    assert_eq!(
        findings(with("max: 100", "max: 101")),
        "two-nodes.yaml:8: node `retrieve`: `top_k` can be 1 to 101; it must stay within 1 to 100"
    );
}

#[test]
fn a_search_is_hybrid_dense_or_sparse() {
    for search in ["hybrid", "dense", "sparse"] {
        with("top_k: top_k}", &format!("top_k: top_k, search: {search}}}")).unwrap();
    }
    assert_eq!(
        findings(with("top_k: top_k}", "top_k: top_k, search: spares}")),
        "two-nodes.yaml:8: node `retrieve`: unknown `search`: `spares`; did you mean `sparse`?; expected one of \
         `hybrid`, `dense`, `sparse`"
    );
}

#[test]
fn a_setting_of_another_action_is_refused() {
    assert_eq!(
        findings(with("{action: generate}", "{action: generate, purpose: retrieval}")),
        "two-nodes.yaml:9: node `generate`: `purpose` is not a setting of `generate`, which reads `max_tokens`, `max_sentences`, `temperature`"
    );
}

#[test]
fn wrong_yaml_is_one_finding_with_its_line() {
    let error = parse("name: x\ndescription: [\n").unwrap_err();
    assert_eq!(error.findings.len(), 1);
    assert!(error.findings[0].line > 0, "{error}");
    let error = findings(with("start:", "begin: retrieve\nstart:"));
    assert!(
        error.starts_with("two-nodes.yaml:6:") && error.contains("begin"),
        "{error}"
    );
}

#[test]
fn r1_a_worst_case_beyond_exploring_is_refused() {
    let mut text = String::from(TWO_NODES);
    let mut stalled = String::from("stalled:\n");
    for limit in [9000, 9001] {
        stalled.push_str(&format!(
            "      - {{to: retrieve, while: visits(retrieve) <= {limit}}}\n"
        ));
        stalled.push_str(&format!(
            "      - {{to: generate, while: visits(generate) <= {limit}}}\n"
        ));
    }
    stalled.push_str("      - else: finish(unverified)");
    text = text
        .replace("stalled: finish(unverified)", &stalled)
        .replace(
            "abstained: finish(abstained)\n    stalled",
            "abstained: generate\n    stalled",
        )
        .replace("start:", "limits: {recursion: 10000}\nstart:");
    let findings = findings(parse(&text));
    assert!(findings.contains("more than 100000 states"), "{findings}");
}

proptest! {
    /// Any words in any place: refused or sound, never a panic; and what is sound has a worst case within its limit.
    #[test]
    fn random_graphs_never_panic(
        targets in prop::collection::vec(0usize..7, 12),
        dropped in prop::option::of(0usize..24),
        doubled in prop::option::of(0usize..24),
        limit in 0u32..60,
    ) {
        const TARGETS: [&str; 7] = [
            "retrieve",
            "generate",
            "finish(answered)",
            "finish(abstained)",
            "[{to: retrieve, while: visits(retrieve) <= 2}, {else: generate}]",
            "[{to: generate, while: visits(retrieve) < top_k}, {else: finish(unverified)}]",
            "[{to: nowhere, while: visits(generate) > 2}]",
        ];
        let mut lines: Vec<String> = TWO_NODES.lines().map(str::to_owned).collect();
        let mut targets = targets.iter();
        for line in lines.iter_mut().skip(10) {
            if let (Some((outcome, target)), Some(&choice)) = (line.clone().split_once(": "), targets.next()) {
                // Half of the edges stay as they are, so that sound graphs come up too.
                let target = if choice % 2 == 0 { TARGETS[choice] } else { target };
                *line = format!("{outcome}: {target}");
            }
        }
        lines.insert(5, format!("limits: {{recursion: {limit}}}"));
        if let Some(line) = dropped.filter(|line| *line < lines.len()) {
            lines.remove(line);
        }
        if let Some(line) = doubled.filter(|line| *line < lines.len()) {
            lines.insert(line, lines[line].clone());
        }
        if let Ok(graph) = parse(&lines.join("\n")) {
            let options = Options::defaults(graph.options());
            let limit = graph.limits().recursion.unwrap().count(&options);
            let worst = graph.worst_case(&options).unwrap();
            prop_assert!(worst.steps <= u64::from(limit));
        }
    }

    #[test]
    fn random_text_never_panics(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }
}
