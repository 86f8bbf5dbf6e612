//! The scripts of the differential test once more, for the real orchestrator with its services behind real sockets.

use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::{Running, question, v1};
use crate::walk::tests::differential::{by_the_model, limits, options, scripts, services};

/// Scripts for each graph.
const SCRIPTS: usize = 40;

#[tokio::test]
async fn over_the_wire_every_graph_walks_as_its_model() {
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    let catalog = crate::catalog::Catalog::load(None).unwrap();
    for graph in catalog.iter().map(|graph| graph.name().to_owned()) {
        for _ in 0..SCRIPTS {
            let script = scripts().new_tree(&mut runner).unwrap().current();
            let limits = limits().new_tree(&mut runner).unwrap().current();
            let (nodes, end) = by_the_model(&graph, &script, limits);

            let mut running = Running::with(services(&script), &[]).await;
            let asked = v1::Question {
                graph: graph.clone(),
                options: options(&graph, limits)
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect(),
                ..question("Since when does the lighthouse stand?")
            };
            let case = format!("{graph} {script:?} {limits:?}");
            let result = running.ask(asked).await.unwrap();
            assert_eq!(result.status(), end, "{case}");
            let path: Vec<&str> = result.steps.iter().map(|step| step.node.as_str()).collect();
            assert_eq!(path, nodes, "{case}");
            running.stop().await;
        }
    }
}
