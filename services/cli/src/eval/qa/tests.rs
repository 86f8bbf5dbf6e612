use clap::Parser as _;

use super::*;
use crate::args::{Arguments, Command, EvalCommand};

fn backends_of(more: &[&str]) -> Backends {
    let words = [&["emend", "eval", "qa", "--data", "d", "--embedder", "hashed"], more].concat();
    match Arguments::parse_from(words).command {
        Command::Eval(EvalCommand::Qa(options)) => backends(&options),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_backends_are_those_that_the_services_take() {
    let embedded = backends_of(&[]);
    assert_eq!(
        (embedded.embedder.as_str(), embedded.grader.as_str()),
        ("hashed", "embedded")
    );
    let model = backends_of(&["--llm-url", "http://x/v1", "--llm-model", "m", "--grader", "embedded"]);
    assert_eq!(
        [model.generator.as_str(), model.grader.as_str(), model.rewriter.as_str()],
        ["llm", "embedded", "llm"]
    );
    assert_eq!(model.llm_model.as_deref(), Some("m"));
}
