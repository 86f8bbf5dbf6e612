use super::*;

fn stored(id: &str, source: &str, owner: &str) -> StoredDocument {
    StoredDocument {
        id: id.to_owned(),
        source: source.to_owned(),
        owner: owner.to_owned(),
        ..StoredDocument::default()
    }
}

fn removed(prune: Prune, unread: &[&str], incomplete: &[&'static str]) -> Vec<&'static str> {
    let seen = HashSet::from(["/docs/a.md".to_owned()]);
    let roots = [
        "/docs",
        "/one/f.jsonl",
        "https://b.example/",
        "https://b.example/sitemap.xml",
    ]
    .map(PathBuf::from);
    let unread: Vec<PathBuf> = unread.iter().map(PathBuf::from).collect();
    let pruning = Pruning {
        prune,
        seen: &seen,
        roots: &roots,
        unread: &unread,
        incomplete: incomplete.iter().map(Path::new).collect(),
    };
    let file = |path: &'static str| (path, stored(path, path, ""));
    let all = [
        file("/docs/a.md"),
        file("/docs/gone.md"),
        file("/docs/sub/gone.md"),
        file("/docs-old/b.md"),
        ("r1", stored("r1", "https://a.example/1", "/docs/r.jsonl")),
        ("r2", stored("r2", "/docs/r.jsonl:7", "")),
        ("r3", stored("r3", "https://a.example/3", "/one/f.jsonl")),
        ("r4", stored("r4", "https://a.example/4", "")),
        (
            "page",
            stored("page", "https://a.example/page", "https://a.example/sitemap.xml"),
        ),
        file("https://b.example/other"),
        file("https://b.example/"),
        (
            "named",
            stored("named", "https://b.example/named", "https://b.example/sitemap.xml"),
        ),
    ];
    let gone = all.iter().filter(|(_, document)| pruning.removes(document));
    gone.map(|(name, _)| *name).collect()
}

const PAGES: [&str; 2] = ["https://b.example/", "named"];

#[test]
fn only_what_came_from_the_paths_is_removed_unless_the_collection_mirrors_them() {
    assert!(removed(Prune::Nothing, &[], &[]).is_empty());
    let owned = removed(Prune::Owned, &[], &[]);
    assert_eq!(owned[..5], ["/docs/gone.md", "/docs/sub/gone.md", "r1", "r2", "r3"]);
    assert_eq!(owned[5..], PAGES, "a page is within no other");
    let all = removed(Prune::Everything, &[], &[]);
    assert_eq!(all.len(), 11, "{all:?}");
}

#[test]
fn what_could_not_be_looked_at_keeps_its_documents() {
    let kept = removed(Prune::Owned, &["/docs/sub"], &[]);
    assert_eq!(kept[..4], ["/docs/gone.md", "r1", "r2", "r3"]);
    assert_eq!(removed(Prune::Owned, &["/docs"], &[])[0], "r3");
    let kept = removed(Prune::Owned, &[], &["/one/f.jsonl", "/docs/r.jsonl"]);
    assert_eq!(kept[..2], ["/docs/gone.md", "/docs/sub/gone.md"]);
    assert_eq!(kept[2..], PAGES);
    let mirrored = removed(Prune::Everything, &[], &["/docs/r.jsonl"]);
    assert!(!mirrored.contains(&"r1") && !mirrored.contains(&"r4"), "{mirrored:?}");
    assert!(mirrored.contains(&"/docs-old/b.md"));
}
