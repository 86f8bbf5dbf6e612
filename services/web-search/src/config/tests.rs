use super::*;

#[test]
fn a_folder_alone_means_the_provider_folder() {
    assert_eq!(Options::default().providers(), []);
    assert_eq!(Options::default().service.listen.port(), 50055);
    let with = |arguments: &[&str]| Options::parse_from([&["emend-web-search"], arguments].concat()).providers();
    assert_eq!(with(&["--folder", "pages"]), [ProviderKind::Folder]);
    assert_eq!(
        with(&["--folder", "pages", "--web-provider", "none"]),
        [ProviderKind::None]
    );
    assert_eq!(
        with(&["--searxng-url", "http://localhost:8888"]),
        [ProviderKind::Searxng]
    );
    assert_eq!(
        with(&["--folder", "pages", "--web-provider", "searxng,folder"]),
        [ProviderKind::Searxng, ProviderKind::Folder]
    );
}

#[test]
fn an_unknown_provider_lists_the_known_ones() {
    let error = Options::try_parse_from(["emend-web-search", "--web-provider", "altavista"])
        .unwrap_err()
        .to_string();
    assert!(error.contains("folder") && error.contains("none"), "{error}");
}

#[test]
fn each_engine_is_used_at_its_rate() {
    let arguments = ["emend-web-search", "--web-rate", "2/m,tavily=5/s"];
    let options = Options::try_parse_from(arguments).unwrap();
    let rate = |engine| options.web_settings(engine).rate.to_string();
    assert_eq!(
        (rate(ProviderKind::Tavily), rate(ProviderKind::Brave)),
        ("5/s".to_owned(), "2/m".to_owned())
    );
    let error = Options::try_parse_from(["emend-web-search", "--web-rate", "google=5/s"])
        .unwrap_err()
        .to_string();
    assert!(error.contains("--web-rate") && error.contains("tavily"), "{error}");
    let mut help = Vec::new();
    <Options as clap::CommandFactory>::command()
        .write_long_help(&mut help)
        .unwrap();
    assert!(String::from_utf8(help).unwrap().contains("1/s,tavily=5/s"));
}
