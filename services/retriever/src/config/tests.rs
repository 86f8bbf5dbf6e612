use super::*;

fn with(arguments: &[&str]) -> Options {
    Options::parse_from([&["emend-retriever"], arguments].concat())
}

#[test]
fn defaults_are_those_of_the_manual() {
    let options = Options::default();
    assert_eq!(options.service.listen.port(), 50051);
    let settings = options.split_settings("e5", 510).unwrap();
    assert_eq!(
        settings,
        SplitSettings {
            chunk: 250,
            overlap: 0,
            section: 1000
        }
    );
    assert!(options.data_folder().unwrap().ends_with("emend/collections"));
    assert_eq!(
        with(&["--data-dir", "/srv/emend"]).data_folder().unwrap(),
        PathBuf::from("/srv/emend")
    );
}

#[test]
fn sizes_that_do_not_go_together_are_refused() {
    let error = |arguments: &[&str]| with(arguments).split_settings("e5", 510).unwrap_err().to_string();
    assert_eq!(
        error(&["--chunk-overlap", "250"]),
        "--chunk-overlap 250 must be less than --chunk-tokens 250"
    );
    assert_eq!(
        error(&["--parent-tokens", "100"]),
        "--parent-tokens 100 must be at least --chunk-tokens 250"
    );
    assert_eq!(
        error(&["--chunk-tokens", "600"]),
        "--chunk-tokens 600 is more than embedder e5 reads (510): lower it"
    );
}
