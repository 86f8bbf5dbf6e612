use emend_proto::v1::Origin;

use super::*;
use emend_pages::{Domain, DomainFilter};

const SETTINGS: FolderSettings = FolderSettings {
    check_every: Duration::ZERO,
    passage_chars: 300,
};

async fn folder(pages: &[(&str, &str)]) -> (tempfile::TempDir, Folder) {
    let saved = tempfile::tempdir().unwrap();
    for (name, content) in pages {
        std::fs::write(saved.path().join(name), content).unwrap();
    }
    let folder = Folder::open(saved.path().to_owned(), SETTINGS).await.unwrap();
    (saved, folder)
}

async fn search(folder: &Folder, query: &str, max_results: usize) -> Vec<Passage> {
    let search = Search {
        query: query.to_owned(),
        max_results,
        domains: DomainFilter::default(),
    };
    folder.search(search, emend_testkit::scope()).await.unwrap().passages
}

#[tokio::test]
async fn passages_say_where_they_are_from() {
    let html = "<title>Kettles</title><link rel=canonical href=https://shop.example/kettle><p>A kettle boils water in two minutes.";
    let (_saved, folder) = folder(&[("k.html", html), ("p.txt", "Pans fry eggs.")]).await;
    let found = search(&folder, "How fast does a kettle boil?", 4).await;
    let [passage] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(passage.source, "https://shop.example/kettle");
    assert_eq!(
        (passage.document_id.as_str(), passage.title.as_str()),
        ("https://shop.example/kettle", "Kettles")
    );
    assert_eq!(passage.text, "A kettle boils water in two minutes.");
    assert_eq!(passage.origin(), Origin::Web);
    assert!(passage.score > 0.0 && passage.retrieved_at.is_some() && passage.span.is_none());
    assert_eq!(search(&folder, "kettle", 4).await[0].id, passage.id);
}

#[tokio::test]
async fn the_window_that_fits_is_returned_and_not_the_page() {
    let filler = "Nothing of note happened in the garden on that day. ".repeat(20);
    let page = format!("{filler}The telescope has a mirror of nine metres. {filler}");
    let (_saved, folder) = folder(&[("day.txt", &page)]).await;
    let found = search(&folder, "How big is the telescope's mirror?", 1).await;
    assert!(
        found[0].text.contains("nine metres") && found[0].text.chars().count() <= 300,
        "{}",
        found[0].text
    );
}

#[tokio::test]
async fn each_page_comes_once_before_any_comes_twice() {
    let filler = "Nothing of note happened in the garden on that day. ".repeat(12);
    let long = format!("The mirror of the telescope is large. {filler}A telescope needs a mirror. {filler}");
    let (_saved, folder) = folder(&[("a.txt", &long), ("b.txt", &format!("A mirror hangs here. {filler}"))]).await;
    let titles = |found: Vec<Passage>| found.into_iter().map(|passage| passage.title).collect::<Vec<_>>();
    assert_eq!(titles(search(&folder, "telescope mirror", 2).await), ["a", "b"]);
    assert_eq!(titles(search(&folder, "telescope mirror", 3).await), ["a", "a", "b"]);
    let found = search(&folder, "telescope mirror", 50).await;
    assert!(
        found.len() <= 1 + crate::backend::choice::PASSAGES_A_PAGE && found.is_sorted_by(|a, b| a.score >= b.score)
    );
}

#[tokio::test]
async fn a_page_saved_twice_is_returned_once() {
    let page = "---\nurl: https://a.example/x\n---\nKettles boil water.";
    let (_saved, folder) = folder(&[("one.md", page), ("two.md", page)]).await;
    assert_eq!(search(&folder, "kettles", 10).await.len(), 1);
}

#[tokio::test]
async fn domains_are_kept_to() {
    let page = |url: &str| format!("---\nurl: {url}\n---\nKettles boil water at {url}");
    let (a, b) = (page("https://www.a.example/x"), page("https://b.example/x"));
    let (_saved, folder) = folder(&[("a.md", &a), ("b.md", &b), ("c.md", "Kettles boil water.")]).await;
    let domain = |text: &str| vec![Domain::parse(text).unwrap()];
    for (domains, expected) in [
        (
            DomainFilter {
                allowed: domain("A.example"),
                blocked: vec![],
            },
            vec!["www.a.example"],
        ),
        (
            DomainFilter {
                allowed: vec![],
                blocked: domain("a.example"),
            },
            vec!["", "b.example"],
        ),
        (
            DomainFilter {
                allowed: domain("b.example"),
                blocked: domain("b.example"),
            },
            vec![],
        ),
    ] {
        let found = folder
            .search(
                Search {
                    query: "kettles".to_owned(),
                    max_results: 10,
                    domains,
                },
                emend_testkit::scope(),
            )
            .await
            .unwrap()
            .passages;
        let mut hosts: Vec<_> = found
            .iter()
            .map(|passage| {
                url::Url::parse(&passage.source)
                    .unwrap()
                    .host_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect();
        hosts.sort();
        assert_eq!(hosts, expected);
    }
}

#[tokio::test]
async fn a_page_that_is_added_is_found() {
    let (saved, folder) = folder(&[("a.txt", "Pans fry eggs.")]).await;
    assert!(search(&folder, "kettles", 4).await.is_empty());
    std::fs::write(saved.path().join("b.txt"), "Kettles boil water.").unwrap();
    assert_eq!(search(&folder, "kettles", 4).await.len(), 1);
}

#[tokio::test]
async fn the_folder_is_not_looked_at_before_it_is_time() {
    let (saved, _) = folder(&[("a.txt", "Pans fry eggs.")]).await;
    let settings = FolderSettings {
        check_every: Duration::from_secs(3600),
        ..SETTINGS
    };
    let folder = Folder::open(saved.path().to_owned(), settings).await.unwrap();
    std::fs::write(saved.path().join("b.txt"), "Kettles boil water.").unwrap();
    assert!(search(&folder, "kettles", 4).await.is_empty());
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let error = Folder::open(PathBuf::from("/nowhere/pages"), SETTINGS)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("/nowhere/pages"), "{error}");
}
