//! Random graphs. In valid ones no walk exceeds the worst case, whatever its outcomes. Invalid ones
//! are rejected. Neither panics.

use std::fmt::Write as _;

use fastrand::Rng;

use crate::graph::{Action, Effort, EvidenceCounts, Graph, Options, Outcome, Target, check::check, load::load};

const GRAPHS: u64 = 100_000;

/// The settings that an action requires.
fn settings(action: Action, rng: &mut Rng) -> String {
    let number = |rng: &mut Rng| rng.u32(1..=5);
    match action {
        Action::Retrieve => format!(", top_k: {}", number(rng)),
        Action::WebSearch if rng.bool() => format!(", fill_to: {}", number(rng)),
        Action::WebSearch | Action::RefineAndSearch => format!(", max_results: {}", number(rng)),
        Action::GenerateSegment => format!(", beam_width: {}", number(rng)),
        _ => String::new(),
    }
}

/// A graph that is valid by construction: each node leads to the next, and back only while the node
/// it leads back to has few visits, which bounds every cycle.
fn valid(rng: &mut Rng) -> String {
    let count = rng.usize(2..=4);
    let actions: Vec<Action> = (0..count)
        .map(|_| Action::ALL[rng.usize(..Action::ALL.len())])
        .collect();
    let limit = if rng.bool() {
        "none".to_owned()
    } else {
        rng.u32(1..=20).to_string()
    };
    let mut yaml = format!("name: random\ndescription: random\nlimits: {{recursion: {limit}}}\nstart: n0\nnodes:\n");
    for (index, action) in actions.iter().enumerate() {
        let settings = settings(*action, rng);
        let _ = writeln!(yaml, "  n{index}: {{action: {action}{settings}}}");
    }
    yaml.push_str("edges:\n");
    for (index, action) in actions.iter().enumerate() {
        let _ = writeln!(yaml, "  n{index}:");
        let forward = |rng: &mut Rng| {
            let to = rng.usize(index + 1..=count);
            if to == count {
                "finish(unverified)".to_owned()
            } else {
                format!("n{to}")
            }
        };
        for (place, outcome) in action.outcomes().map(Outcome::name).enumerate() {
            if place == 0 {
                // Every node is reached from the one before it.
                let to = if index + 1 == count {
                    "finish(answered)".to_owned()
                } else {
                    format!("n{}", index + 1)
                };
                let _ = writeln!(yaml, "    {outcome}: {to}");
            } else if rng.bool() {
                let back = rng.usize(..=index);
                let comparison = if rng.bool() { "<" } else { "<=" };
                let most = rng.u32(0..=3);
                let forward = forward(rng);
                let _ = writeln!(
                    yaml,
                    "    {outcome}: [{{to: n{back}, while: visits(n{back}) {comparison} {most}}}, {{else: {forward}}}]"
                );
            } else {
                let forward = forward(rng);
                let _ = writeln!(yaml, "    {outcome}: {forward}");
            }
        }
    }
    yaml
}

/// Walks with the outcomes that an adversary picks: at random, or always such that the walk goes back if it can.
fn adversarial_walk(graph: &Graph, rng: &mut Rng, most: u64) -> (u64, u64, u64) {
    let options = Options::defaults(graph.options());
    let limit = graph
        .limits()
        .recursion
        .map_or(u64::MAX, |limit| limit.count(&options).into());
    let stubborn = rng.bool();
    let mut visits = vec![0; graph.nodes().len()];
    let mut evidence = EvidenceCounts::default();
    let (mut steps, mut calls, mut searches) = (0, 0, 0);
    let mut node = graph.start();
    while steps < limit && steps <= most {
        steps += 1;
        visits[node.index()] += 1;
        let config = graph.node(node).config();
        let cost = evidence.cost(config, &options);
        let ways: Vec<(Outcome, Target)> = graph
            .node(node)
            .routes()
            .map(|(outcome, route)| (outcome, route.choose(&visits, &options).1))
            .collect();
        let back = |(_, target): &&(Outcome, Target)| matches!(target, Target::Node(to) if *to <= node);
        let picked = ways.iter().rfind(back).filter(|_| stubborn);
        let (outcome, target) = *picked.unwrap_or(&ways[rng.usize(..ways.len())]);
        if outcome.name() != "no_documents" {
            calls += cost.model_calls;
            searches += cost.web_searches;
        }
        evidence = evidence.after(config, outcome, &options);
        match target {
            Target::Node(to) => node = to,
            Target::Finish(_) => break,
        }
    }
    (steps, calls, searches)
}

#[test]
fn r1_no_walk_of_a_valid_graph_exceeds_its_bound() {
    let mut rng = Rng::with_seed(1);
    let mut walked = 0;
    for _ in 0..GRAPHS {
        let yaml = valid(&mut rng);
        // What is checked is the graph; reading files has tests of its own.
        let graph = Graph::parse("random.yaml", &yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
        let options = Options::defaults(graph.options());
        let worst = graph.worst_case(&options).unwrap();
        for _ in 0..3 {
            let (steps, calls, searches) = adversarial_walk(&graph, &mut rng, worst.steps);
            assert!(steps <= worst.steps, "{steps} > {worst:?}\n{yaml}");
            assert!(calls <= worst.model_calls, "{calls} > {worst:?}\n{yaml}");
            assert!(searches <= worst.web_searches, "{searches} > {worst:?}\n{yaml}");
            walked += u64::from(steps > 8);
        }
    }
    assert!(walked > GRAPHS / 50, "only {walked} walks went far");
}

/// One fault in a valid graph.
fn spoilt(yaml: &str, rng: &mut Rng) -> String {
    let lines: Vec<&str> = yaml.lines().collect();
    let at = |word: &str, rng: &mut Rng| {
        let found: Vec<usize> = (0..lines.len()).filter(|line| lines[*line].contains(word)).collect();
        found.get(rng.usize(..found.len().max(1))).copied()
    };
    let replaced = |line: usize, text: &str| -> String {
        let mut lines = lines.clone();
        lines[line] = text;
        lines.join("\n")
    };
    let finish = at("finish(", rng).unwrap();
    match rng.u8(..8) {
        // An outcome without an edge.
        0 => replaced(finish, ""),
        // An unknown status.
        1 => replaced(finish, &lines[finish].replace("finish(", "finish(un")),
        // A node that is not there.
        2 => replaced(
            finish,
            &lines[finish]
                .replace("finish(answered)", "n9")
                .replace("finish(unverified)", "n9"),
        ),
        // A start that is not there.
        3 => yaml.replace("start: n0", "start: n7"),
        // A node that nothing leads to.
        4 => yaml.replace(
            "edges:\n",
            "  n8: {action: pass}\nedges:\n  n8:\n    done: finish(abstained)\n",
        ),
        // An option that nothing reads.
        5 => yaml.replace(
            "start:",
            "options:\n  idle: {default: 1, min: 0, max: 2, description: idle}\nstart:",
        ),
        // An unknown setting.
        6 => yaml.replace("nodes:\n", "nodes:\n  n9: {action: retrieve, topk: 3}\n"),
        // No way to the end: the last node goes round for ever.
        _ => {
            let last = lines.iter().filter(|line| line.starts_with("  n")).count() / 2 - 1;
            let mut yaml = yaml.replace("recursion: none", "recursion: 9");
            for end in ["finish(answered)", "finish(unverified)"] {
                yaml = yaml.replace(end, &format!("n{last}"));
            }
            yaml
        }
    }
}

#[test]
fn r1_invalid_graphs_are_refused_and_none_panics() {
    let mut rng = Rng::with_seed(2);
    for _ in 0..GRAPHS {
        let yaml = valid(&mut rng);
        let spoilt = spoilt(&yaml, &mut rng);
        let refused = match load(&spoilt) {
            Err(findings) => findings,
            Ok(graph) => check(&graph, &mut Effort::default()),
        };
        assert!(!refused.is_empty(), "{spoilt}");
        assert!(refused.iter().all(|finding| !finding.message.is_empty()));
    }
}

#[test]
fn text_that_is_no_graph_never_panics() {
    let mut rng = Rng::with_seed(3);
    for _ in 0..GRAPHS / 10 {
        let mut bytes = valid(&mut rng).into_bytes();
        for _ in 0..rng.usize(1..6) {
            let place = rng.usize(..bytes.len());
            match rng.u8(..3) {
                0 => bytes[place] = rng.u8(..),
                1 => drop(bytes.remove(place)),
                _ => bytes.insert(place, b"{}[]:,-&*#\n \"'|>%@`"[rng.usize(..19)]),
            }
        }
        // It returns, valid or not.
        let _ = Graph::parse("random.yaml", &String::from_utf8_lossy(&bytes));
    }
}
