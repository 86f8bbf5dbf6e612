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
