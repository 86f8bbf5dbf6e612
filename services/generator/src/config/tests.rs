use super::*;

#[test]
fn the_default_needs_no_server() {
    let options = Options::parse_from(["emend-generator"]);
    assert_eq!(options.backend, BackendKind::Extractive);
    assert_eq!(options.service.listen.port(), 50053);
    let options = Options::parse_from(["emend-generator", "--backend", "openai"]);
    assert_eq!(options.backend, BackendKind::OpenAi);
}
