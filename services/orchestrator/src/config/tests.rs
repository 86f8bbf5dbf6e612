use super::*;

#[test]
fn the_defaults_are_those_of_a_laptop() {
    let options = Options::default();
    assert_eq!(options.service.listen.to_string(), "127.0.0.1:50050");
    assert_eq!(options.service.default_timeout.as_secs(), 60);
    assert_eq!(options.services.grader_url, "http://127.0.0.1:50052");
    assert_eq!(options.default_graph, "self-corrective-rag");
}

#[test]
fn flags_win() {
    let options = Options::parse_from([
        "emend-orchestrator",
        "--listen",
        "127.0.0.1:1",
        "--default-graph",
        "plain-rag",
    ]);
    assert_eq!(options.service.listen.port(), 1);
    assert_eq!(options.default_graph, "plain-rag");
}
