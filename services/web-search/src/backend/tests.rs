use std::path::PathBuf;

use clap::Parser as _;
use emend_core::error_chain;

use super::*;

/// What must not stand in an error.
const KEY: &str = "pl4nted-key";

fn options(arguments: &[&str]) -> Options {
    Options::try_parse_from([&["emend-web-search"], arguments].concat()).unwrap()
}

/// Why no provider can be loaded.
async fn refused(arguments: &[&str]) -> LoadError {
    load(&options(arguments))
        .await
        .map(|provider| provider.name())
        .unwrap_err()
}

/// A file of this content.
fn file(content: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content).unwrap();
    file
}

#[test]
fn a_key_is_that_of_its_file_or_else_of_the_environment() {
    let file = file(format!("  {KEY}\n").as_bytes());
    let read = key(Some(file.path()), "PATH", ProviderKind::Tavily).unwrap();
    assert_eq!(read.reveal(), KEY);
    assert!(!format!("{read:?}").contains(KEY));
    // A variable that every process has.
    let found = key(None, "PATH", ProviderKind::Brave).unwrap();
    assert_eq!(found.reveal(), std::env::var("PATH").unwrap().trim());
}

#[test]
fn a_key_that_is_missing_says_where_it_could_be() {
    let error = key(None, "EMEND_NO_SUCH_KEY", ProviderKind::Brave).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, LoadError::NoKey { provider: "brave", .. }), "{text}");
    assert!(
        text.contains("EMEND_NO_SUCH_KEY") && text.contains("--brave-api-key-file"),
        "{text}"
    );
}

#[tokio::test]
async fn a_file_that_holds_no_key_is_refused_and_named_without_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("{KEY}\n").repeat(100_000);
    let (empty, binary, long) = (
        file(b" \n"),
        file(&[KEY.as_bytes(), &[0xff, 0xfe]].concat()),
        file(long.as_bytes()),
    );
    for (path, why) in [
        (folder.path().join("none"), "No such file"),
        (folder.path().to_owned(), "directory"),
        (empty.path().to_owned(), "the file is empty"),
        (binary.path().to_owned(), "UTF-8"),
        (long.path().to_owned(), "at most"),
    ] {
        for (provider, flag) in [("tavily", "--tavily-api-key-file"), ("brave", "--brave-api-key-file")] {
            let error = refused(&["--web-provider", provider, flag, path.to_str().unwrap()]).await;
            let text = error_chain(&error);
            assert!(matches!(error, LoadError::KeyFile { .. }), "{text}");
            assert!(text.contains(path.to_str().unwrap()) && text.contains(why), "{text}");
            assert!(!text.contains(KEY), "{text}");
        }
    }
}

#[tokio::test]
async fn a_key_that_no_header_can_carry_is_refused_and_not_shown() {
    let odd = file(format!("{KEY}\n{KEY}").as_bytes());
    let path = odd.path().to_str().unwrap();
    for (engine, flag) in [("brave", "--brave-api-key-file"), ("tavily", "--tavily-api-key-file")] {
        let error = refused(&["--web-provider", engine, flag, path]).await;
        assert!(
            matches!(error, LoadError::Key { provider } if provider == engine) && !error.to_string().contains(KEY),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_engine_needs_an_address() {
    let error = refused(&["--web-provider", "searxng"]).await;
    assert!(matches!(error, LoadError::NoAddress), "{error}");
    let key = file(KEY.as_bytes());
    let key = key.path().to_str().unwrap();
    for arguments in [
        &["--web-provider", "searxng", "--searxng-url", "ftp://a.example"][..],
        &[
            "--web-provider",
            "tavily",
            "--tavily-api-key-file",
            key,
            "--tavily-url",
            "",
        ],
        &[
            "--web-provider",
            "brave",
            "--brave-api-key-file",
            key,
            "--brave-url",
            "a.example",
        ],
    ] {
        let error = refused(arguments).await;
        assert!(
            matches!(error, LoadError::Address { provider, .. } if provider == arguments[1]),
            "{error}"
        );
    }
}

#[tokio::test]
async fn what_is_configured_is_loaded() {
    let key = file(KEY.as_bytes());
    let key = key.path().to_str().unwrap();
    let keys = ["--brave-api-key-file", key, "--tavily-api-key-file", key];
    for (providers, name) in [
        ("brave", "brave"),
        ("none", "none"),
        ("brave,tavily", "chain"),
        ("none,tavily", "tavily"),
    ] {
        let arguments = [&["--web-provider", providers], &keys[..]].concat();
        let provider = load(&options(&arguments)).await.unwrap();
        assert_eq!(provider.name(), name, "{providers}");
    }
    let shown = format!("{:?}", options(&keys));
    assert!(
        shown.contains(&format!("{:?}", PathBuf::from(key))) && !shown.contains(KEY),
        "{shown}"
    );
}
