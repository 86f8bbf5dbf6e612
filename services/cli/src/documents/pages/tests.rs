use super::*;

fn settings() -> PageSettings {
    PageSettings {
        domains: DomainFilter::default(),
        ports: vec![80, 443],
        allowed_networks: Vec::new(),
        max_bytes: 1,
        ignores_robots: false,
    }
}

#[test]
fn an_argument_is_an_address_by_its_scheme() {
    for (argument, expected) in [
        ("https://example.com", true),
        ("HTTP://example.com/a", true),
        ("http:/a", false),
        ("./https", false),
        ("ünï", false),
    ] {
        assert_eq!(is_address(Path::new(argument)), expected, "{argument}");
    }
}

#[tokio::test]
async fn pages_that_must_not_be_fetched_say_what_to_do() {
    let pages = ["http://127.0.0.1/", "http://[::1]/", "http://127.0.0.1:81/"].map(PathBuf::from);
    let mut found = Found::default();
    Addresses::new(&pages, &[], settings())
        .unwrap()
        .find(&mut found)
        .await
        .unwrap();
    let mut reasons = Vec::new();
    for page in &found.pages {
        match page.read(&CancellationToken::new()).await {
            Err(NoPage::Failed(skipped)) => reasons.push(skipped.reason),
            _ => panic!("{page:?} was fetched"),
        }
    }
    assert!(
        reasons[0].contains("not public; --web-allow-networks") && reasons[1].contains("not public"),
        "{reasons:?}"
    );
    assert!(reasons[2].contains("--web-ports"), "{reasons:?}");
    let refused = Addresses::new(&["https://".into()], &[], settings())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("`https://` is no address"), "{refused}");
    let refused = Addresses::new(&[], &["file:///etc/passwd".to_owned()], settings())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("neither http nor https"), "{refused}");
}
