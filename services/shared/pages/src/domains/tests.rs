use super::*;

fn domain(text: &str) -> Domain {
    Domain::parse(text).unwrap()
}

#[test]
fn spellings_of_a_domain_are_one() {
    for text in [
        "Example.COM",
        "example.com.",
        "*.example.com",
        ".example.com",
        " example.com ",
    ] {
        assert_eq!(domain(text), domain("example.com"), "{text}");
    }
    assert_eq!(domain("bücher.example"), domain("xn--bcher-kva.EXAMPLE"));
    assert!(domain("食べ物.jp").to_string().starts_with("xn--"));
}

#[test]
fn what_is_no_domain_is_refused_with_an_example() {
    for text in [
        "",
        ".",
        "https://example.com",
        "example.com/path",
        "example.com:80",
        "exa mple.com",
        "a..b",
        "user@example.com",
    ] {
        let error = Domain::parse(text).unwrap_err().to_string();
        assert!(error.contains("like example.com"), "{text}: {error}");
    }
}

#[test]
fn subdomains_belong_and_lookalikes_do_not() {
    for (name, within) in [
        ("example.com", true),
        ("www.example.com", true),
        ("a.b.example.com", true),
        ("notexample.com", false),
        ("com", false),
        ("example.com.evil.net", false),
    ] {
        assert_eq!(domain(name).is_within(&domain("example.com")), within, "{name}");
    }
    assert!(!domain("1.2.3.4").is_within(&domain("2.3.4.5")) && domain("127.0.0.1").is_within(&domain("127.0.0.1")));
}

#[test]
fn blocked_wins_over_allowed_and_files_have_no_domain() {
    let filter = DomainFilter {
        allowed: vec![domain("example.com")],
        blocked: vec![domain("ads.example.com")],
    };
    assert!(filter.admits(Some(&domain("docs.example.com"))));
    assert!(!filter.admits(Some(&domain("x.ads.example.com"))));
    assert!(!filter.admits(Some(&domain("example.org"))) && !filter.admits(None));
    let file = Domain::of(&Url::parse("file:///pages/a.html").unwrap());
    assert!(file.is_none() && DomainFilter::default().admits(None));
    assert_eq!(
        Domain::of(&Url::parse("https://WWW.Example.com/a").unwrap()),
        Some(domain("www.example.com"))
    );
}
