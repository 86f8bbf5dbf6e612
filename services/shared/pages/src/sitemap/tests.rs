use std::io::Write as _;

use emend_testkit::http_server::{HttpAnswer, HttpServer};

use super::*;
use crate::PageSettings;

fn at(url: &str) -> Url {
    Url::parse(url).unwrap()
}

fn read(text: &str) -> Result<File, SitemapError> {
    parse(text, &at("https://example.com/sitemap.xml"))
}

#[test]
fn addresses_are_read_whatever_stands_beside_them() {
    let text = "\u{feff}<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
        <url><loc>\n https://example.com/a?x=1&amp;y=2 \n</loc><lastmod>2026-01-01</lastmod>\
        <image:image><image:loc>https://example.com/i.png</image:loc></image:image></url>\
        <url><loc><![CDATA[https://example.com/b]]></loc></url></urlset>";
    let expected = ["https://example.com/a?x=1&y=2", "https://example.com/b"].map(str::to_owned);
    assert_eq!(read(text).unwrap(), File::Pages(expected.into()));
    let index = "<sitemapindex><sitemap><loc>https://example.com/1.xml</loc></sitemap></sitemapindex>";
    assert_eq!(
        read(index).unwrap(),
        File::Index(vec!["https://example.com/1.xml".to_owned()])
    );
    let lines = "https://example.com/a\n\n https://example.com/b\n";
    assert_eq!(
        read(lines).unwrap(),
        File::Pages(vec!["https://example.com/a".into(), "https://example.com/b".into()])
    );
}

#[test]
fn what_is_no_sitemap_or_too_large_is_refused() {
    let deep = "<a>".repeat(MAX_DEPTH + 1);
    let many = format!(
        "<urlset>{}</urlset>",
        "<url><loc>https://example.com/</loc></url>".repeat(MAX_SITEMAP_PAGES + 1)
    );
    for (text, says) in [
        ("", "neither"),
        ("words", "neither"),
        ("<html></html>", "<html>"),
        ("<urlset><url>", "ends within"),
        (&deep, "too deep"),
        (&many, "more than 50000 pages"),
    ] {
        let refused = read(text).unwrap_err().to_string();
        assert!(refused.contains(says), "{says}: {refused}");
    }
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..=MAX_SITEMAP_BYTES >> 20 {
        bomb.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let refused = unpacked(&bomb.finish().unwrap(), &at("https://example.com/")).unwrap_err();
    assert!(
        matches!(refused, SitemapError::TooLarge { what: "bytes", .. }),
        "{refused}"
    );
}

#[test]
fn a_sitemap_names_pages_of_its_own_site_only() {
    let sitemap = at("https://www.example.com/sitemap.xml");
    for fine in [
        "https://www.example.com/a",
        "https://example.com/a",
        "http://docs.example.com/a#b",
    ] {
        assert!(own(fine, &sitemap).is_ok_and(|url| url.fragment().is_none()), "{fine}");
    }
    let long = format!("https://example.com/{}", "x".repeat(MAX_URL_BYTES));
    for odd in [
        "https://example.org/",
        "https://badexample.com/",
        "ftp://example.com/",
        "/a",
        "file:///etc/passwd",
        &long,
    ] {
        assert!(own(odd, &sitemap).is_err(), "{odd}");
    }
}

/// A site whose robots.txt allows everything, at 127.0.0.1.
async fn site(pages: &'static [(&'static str, &'static str)]) -> (HttpServer, PageFetcher) {
    let server = HttpServer::start(move |_, request| {
        let path = request.head.split(' ').nth(1).unwrap_or_default().to_owned();
        let host = request
            .head
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .unwrap_or_default()
            .to_owned();
        match pages.iter().find(|(name, _)| *name == path) {
            Some((_, body)) => HttpAnswer::response(
                "200 OK",
                "content-type: application/xml\r\n",
                &body.replace("HOST", &host),
            ),
            None => HttpAnswer::response("404 Not Found", "", ""),
        }
    })
    .await;
    let settings = PageSettings {
        domains: DomainFilter::default(),
        ports: vec![at(server.url()).port().unwrap()],
        allowed_networks: vec!["127.0.0.1/32".parse().unwrap()],
        max_bytes: MAX_SITEMAP_BYTES,
        ignores_robots: false,
    };
    (server, PageFetcher::new(settings).unwrap())
}

#[tokio::test]
async fn an_index_is_followed_one_level_down() {
    let (server, fetcher) = site(&[
        (
            "/index.xml",
            "<sitemapindex><sitemap><loc>http://HOST/1.xml</loc></sitemap><sitemap><loc>http://HOST/2.xml</loc></sitemap>\
             <sitemap><loc>http://HOST/index.xml</loc></sitemap><sitemap><loc>http://other.example/3.xml</loc></sitemap></sitemapindex>",
        ),
        ("/1.xml", "<urlset><url><loc>http://HOST/a</loc></url><url><loc>http://HOST/b</loc></url></urlset>"),
        ("/2.xml", "<urlset><url><loc>http://HOST/b</loc></url><url><loc>nowhere</loc></url></urlset>"),
    ])
    .await;
    let index = at(&format!("{}/index.xml", server.url()));
    let listed = fetch(&fetcher, &index, &DomainFilter::default()).await.unwrap();
    let paths: Vec<&str> = listed.pages.iter().map(Url::path).collect();
    assert_eq!(paths, ["/a", "/b"]);
    let reasons: Vec<&str> = listed.left_out.iter().map(|(_, reason)| *reason).collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(
        reasons[0].contains("no address") && reasons[1].contains("index within") && reasons[2].contains("another site")
    );

    let missing = fetch(
        &fetcher,
        &at(&format!("{}/none.xml", server.url())),
        &DomainFilter::default(),
    )
    .await;
    assert!(missing.unwrap_err().to_string().contains("HTTP 404"));
}

#[tokio::test]
async fn what_is_not_public_is_not_asked() {
    let (server, fetcher) = site(&[("/s.xml", "<urlset></urlset>")]).await;
    let strict = PageFetcher::new(PageSettings {
        domains: DomainFilter::default(),
        ports: vec![at(server.url()).port().unwrap()],
        allowed_networks: Vec::new(),
        max_bytes: MAX_SITEMAP_BYTES,
        ignores_robots: false,
    })
    .unwrap();
    let url = at(&format!("{}/s.xml", server.url()));
    let refused = fetch(&strict, &url, &DomainFilter::default()).await.unwrap_err();
    assert!(refused.to_string().contains("not public"), "{refused}");
    assert!(server.requests().is_empty());
    assert!(fetch(&fetcher, &url, &DomainFilter::default()).await.is_ok());
}

#[tokio::test]
async fn no_file_of_an_index_leads_to_an_address_that_is_not_public() {
    let (server, _) = site(&[
        (
            "/name.xml",
            "<sitemapindex><sitemap><loc>http://inside.HOST/secret.xml</loc></sitemap></sitemapindex>",
        ),
        (
            "/number.xml",
            "<sitemapindex><sitemap><loc>http://127.0.0.1/secret.xml</loc></sitemap></sitemapindex>",
        ),
        ("/secret.xml", "<urlset></urlset>"),
    ])
    .await;
    let port = at(server.url()).port().unwrap();
    // The site itself is at an address that is allowed, and no other name of it is.
    let lookup: crate::Lookup = std::sync::Arc::new(|name| {
        let last = if name == "site.example" { 1 } else { 9 };
        Box::pin(async move { Ok(vec![[127, 0, 0, last].into()]) })
    });
    let fetcher = PageFetcher::resolving_with(
        PageSettings {
            domains: DomainFilter::default(),
            ports: vec![port],
            allowed_networks: vec!["127.0.0.1/32".parse().unwrap()],
            max_bytes: MAX_SITEMAP_BYTES,
            ignores_robots: true,
        },
        lookup,
    )
    .unwrap();
    let listed = async |file: &str| {
        let url = at(&format!("http://site.example:{port}/{file}"));
        fetch(&fetcher, &url, &DomainFilter::default()).await
    };
    let error = listed("name.xml").await.unwrap_err();
    let SitemapError::Page { url, source } = error else {
        panic!("{error}");
    };
    assert!(url.starts_with("http://inside.site.example"), "{url}");
    assert!(matches!(source, PageError::NotPublic), "{source}");
    // An address in numbers is of another site than a name.
    let number = listed("number.xml").await.unwrap();
    assert!(
        number.pages.is_empty() && number.left_out[0].1.contains("another site"),
        "{number:?}"
    );
    assert_eq!(server.seen().requests, 2);
}
