//! Graph files that are too much: refused with what is allowed, before much is done with them.

use std::fmt::Write as _;

use emend_core::{Deadline, Scope, limits::MAX_GRAPH_BYTES};
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::Catalog,
    graph::{Effort, Graph, MAX_EDGES, MAX_NODES, MAX_OPTIONS, MAX_STATES, Options},
};

fn refused(yaml: &str) -> String {
    Graph::parse("big.yaml", yaml)
        .expect_err("it must be refused")
        .to_string()
}

/// A chain of nodes that do nothing, each with as many closed edges before the open one.
fn chain(nodes: usize, closed: usize) -> String {
    let mut yaml = "name: chain\ndescription: A chain.\nstart: n0\nnodes:\n".to_owned();
    for node in 0..nodes {
        let _ = writeln!(yaml, "  n{node}: {{action: pass}}");
    }
    yaml.push_str("edges:\n");
    for node in 0..nodes {
        let to = if node + 1 == nodes {
            "finish(abstained)".to_owned()
        } else {
            format!("n{}", node + 1)
        };
        let edges = format!("{{to: n{node}, while: visits(n{node}) < 1}}, ").repeat(closed);
        let _ = writeln!(yaml, "  n{node}:\n    done: [{edges}{{else: {to}}}]");
    }
    yaml
}

#[test]
fn a_graph_of_too_many_nodes_edges_or_options_is_refused_and_says_how_many_are_allowed() {
    let whole = |nodes, closed| chain(nodes, closed).replace("nodes:\n", "limits: {recursion: 300}\nnodes:\n");
    Graph::parse("chain.yaml", &whole(MAX_NODES, 0)).expect("as many nodes as are allowed");
    let text = refused(&whole(MAX_NODES + 1, 0));
    assert!(text.contains("201 nodes; at most 200 are allowed"), "{text}");

    Graph::parse("chain.yaml", &whole(2, MAX_EDGES / 2 - 1)).expect_err("longer than a file may be");
    let mut edges = "x: &many [".to_owned();
    edges.push_str(&"{to: n1, while: visits(n0) < 1}, ".repeat(500));
    let yaml = whole(5, 0).replace(
        "done: [{else: n1}]",
        &format!("done: &many [{}{{else: n1}}]", &edges[10..]),
    );
    let yaml = yaml
        .replace("done: [{else: n2}]", "done: *many")
        .replace("done: [{else: n3}]", "done: *many");
    let yaml = yaml.replace("done: [{else: n4}]", "done: *many");
    let text = refused(&yaml);
    assert!(text.contains("2005 edges; at most 2000 are allowed"), "{text}");

    let mut options = "options:\n".to_owned();
    for option in 0..=MAX_OPTIONS {
        let _ = writeln!(options, "  o{option}: {{default: 1, min: 0, max: 2, description: o}}");
    }
    let text = refused(&whole(2, 0).replace("start:", &format!("{options}start:")));
    assert!(text.contains("101 options; at most 100 are allowed"), "{text}");
}

#[test]
fn a_file_that_is_too_long_is_not_read() {
    let yaml = chain(2, 0);
    let padded = |bytes: usize| format!("{yaml}#{}", " ".repeat(bytes - yaml.len() - 1));
    Graph::parse("chain.yaml", &padded(MAX_GRAPH_BYTES)).expect("as long as a file may be");
    let text = refused(&padded(MAX_GRAPH_BYTES + 1));
    assert_eq!(text, "big.yaml: the file has 65537 bytes; a graph has at most 65536");
}

#[test]
fn collections_that_nest_or_multiply_are_refused() {
    for opening in ["[", "{a: ", "- "] {
        let text = refused(&format!("name: {}", opening.repeat(2_000)));
        assert!(text.len() < 1024, "{text}");
    }
    // Each line names the line before ten times: 10^9 texts in the end.
    let mut bomb = "name: bomb\nx0: &x0 [a, a, a, a, a, a, a, a, a, a]\n".to_owned();
    for line in 1..9 {
        let names = format!("*x{}, ", line - 1).repeat(10);
        let _ = writeln!(bomb, "x{line}: &x{line} [{names}]");
    }
    refused(&bomb);
    let mut edges = chain(2, 0).replace("done: [{else: n1}]", "done: &x [{else: n1}, *x0, *x0]");
    edges.push_str(&bomb);
    assert!(refused(&edges).len() < 1024);
}

#[test]
fn a_walk_that_could_take_too_many_steps_is_refused() {
    let rounds = |rounds: &str| {
        chain(2, 1)
            .replace("< 1", rounds)
            .replace("nodes:\n", "limits: {recursion: none}\nnodes:\n")
    };
    Graph::parse("chain.yaml", &rounds("< 5000")).expect("ten thousand steps");
    let text = refused(&rounds("< 5001"));
    assert!(
        text.contains("can take more than 10000 steps; lower the limits that its conditions compare with, or set"),
        "{text}"
    );
}

/// A ring of nodes, each of which goes on or back while it has few visits: many combinations of visits.
fn ring(nodes: usize) -> String {
    let mut yaml = chain(nodes, 0).replace("nodes:\n", "limits: {recursion: none}\nnodes:\n");
    for node in 0..nodes {
        let next = (node + 1) % nodes;
        let from = format!("  n{node}:\n    done: [");
        let back = format!("{from}{{to: n{next}, while: visits(n{next}) < 9}}, ");
        yaml = yaml.replace(&from, &back);
    }
    yaml.replace("action: pass", "action: retrieve, top_k: 3")
        .replace("    done: ", "    passages: n0\n    no_passages: n1\n    unavailable: ")
}

/// A ring with more states than are looked at.
fn costly_ring() -> String {
    ring(40)
        .replace(
            "passages: n0",
            "passages: [{to: n0, while: visits(n0) < 90}, {else: finish(abstained)}]",
        )
        .replace(
            "no_passages: n1",
            "no_passages: [{to: n1, while: visits(n1) < 90}, {else: finish(abstained)}]",
        )
}

#[test]
fn a_search_ends_at_its_number_of_states_and_says_what_to_do() {
    let yaml = costly_ring();
    let mut effort = Effort::default();
    let text = Graph::parse_within("ring.yaml", &yaml, &mut effort)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("more than 100000 states; lower the limits that its conditions compare with"),
        "{text}"
    );
    assert_eq!(effort.spent(), MAX_STATES);
}

#[test]
fn a_check_ends_with_its_caller_or_its_deadline() {
    let yaml = costly_ring();
    let gone = Scope {
        deadline: Deadline::after(std::time::Duration::from_secs(3600)),
        cancel: CancellationToken::new(),
    };
    gone.cancel.cancel();
    let late = Scope {
        deadline: Deadline::after(std::time::Duration::ZERO),
        cancel: CancellationToken::new(),
    };
    for scope in [gone, late] {
        let mut effort = Effort::within(scope);
        let text = Graph::parse_within("ring.yaml", &yaml, &mut effort)
            .unwrap_err()
            .to_string();
        assert!(text.contains("not checked to its end"), "{text}");
        assert!(effort.spent() < 1_000, "{}", effort.spent());
    }
}

#[test]
fn many_mistakes_are_counted_and_long_names_are_cut() {
    let long = "x".repeat(20_000);
    let text = refused(&chain(2, 0).replace("else: n1", &format!("else: {long}")));
    assert!(text.contains("(20000 bytes)") && text.len() < 1024, "{text}");

    let padded = chain(2, 1).replacen("visits(n0) < 1", &format!("visits(n0) < {:>300}", 1), 1);
    let text = refused(&padded);
    assert!(
        text.contains("expected `visits(NODE) <= LIMIT`") && text.len() < 1024,
        "{text}"
    );

    let mut yaml = chain(150, 0).replace("action: pass", "action: paas");
    yaml.push_str("    dome: n0\n");
    let invalid = Graph::parse("wrong.yaml", &yaml).unwrap_err();
    assert_eq!(invalid.findings.len(), 101);
    assert_eq!(invalid.findings[100].message, "50 more; correct these first");
    let brief = invalid.brief(1024);
    assert!(brief.len() < 1100, "{}", brief.len());
    assert!(
        brief.starts_with("line ") && brief.ends_with("more, which ValidateGraph lists"),
        "{brief}"
    );
}

#[test]
fn what_the_built_in_graphs_need_is_a_small_part_of_what_is_allowed() {
    for graph in Catalog::load(None).unwrap().iter() {
        let edges = graph
            .nodes()
            .flat_map(|(_, node)| node.routes())
            .flat_map(|(_, route)| route.edges());
        let edges = edges.count();
        assert!(graph.source().len() * 10 < MAX_GRAPH_BYTES, "{}", graph.name());
        assert!(
            graph.nodes().len() * 10 < MAX_NODES && edges * 10 < MAX_EDGES,
            "{}: {edges}",
            graph.name()
        );
        assert!(graph.options().len() * 5 < MAX_OPTIONS, "{}", graph.name());
        let mut effort = Effort::default();
        graph
            .worst_case_within(&Options::defaults(graph.options()), &mut effort)
            .unwrap();
        let once = effort.spent();
        graph.formulas_within(&mut effort);
        let together = effort.spent();
        println!(
            "{}: {once} states, {together} with its formulas, {edges} edges",
            graph.name()
        );
        assert!(once * 10 < MAX_STATES, "{}: {once}", graph.name());
        assert!(together < 5 * MAX_STATES, "{}: {together}", graph.name());
    }
}
