use super::*;

fn document(headings: &[&[&str]]) -> NewDocument {
    let section = |(start, headings): (u32, &&[&str])| Section {
        start,
        text: "word".to_owned(),
        headings: headings.iter().map(|&heading| heading.to_owned()).collect(),
    };
    NewDocument {
        id: "a".to_owned(),
        fingerprint: [0; 32],
        title: String::new(),
        source: String::new(),
        owner: String::new(),
        metadata: BTreeMap::new(),
        sections: (0..).step_by(4).zip(headings).map(section).collect(),
        chunks: Vec::new(),
    }
}

fn put(catalog: &Catalog, document: &NewDocument) {
    let embedder = EmbedderInfo {
        id: "fixed".to_owned(),
        dimensions: 1,
    };
    let version = catalog.next_version().unwrap();
    catalog.put(&embedder, version, document).unwrap();
}

fn sections(catalog: &Catalog) -> Vec<Section> {
    catalog.snapshot().unwrap().whole("a").unwrap().unwrap().sections
}

/// How many sections there are headings of.
fn kept(catalog: &Catalog) -> u64 {
    catalog.snapshot().unwrap().headings.len().unwrap()
}

#[test]
fn headings_are_kept_of_sections_that_have_any_and_go_with_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::create(&folder.path().join("documents.redb")).unwrap();
    let document = document(&[&[], &["Page 3", "Urlaub › 휴가"], &["Page 3"]]);
    put(&catalog, &document);
    assert_eq!(sections(&catalog), document.sections);
    assert_eq!(kept(&catalog), 2);
    put(&catalog, &document);
    assert_eq!(kept(&catalog), 2);
    catalog.delete(&["a".to_owned()]).unwrap();
    assert_eq!(kept(&catalog), 0);
}

#[test]
fn a_file_from_before_there_were_headings_and_languages_is_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("documents.redb");
    let document = document(&[&["Page 3"]]);
    put(&Catalog::create(&file).unwrap(), &document);
    let database = Database::open(&file).unwrap();
    let transaction = database.begin_write().unwrap();
    assert!(transaction.delete_table(HEADINGS).unwrap());
    assert!(transaction.delete_table(LANGUAGES).unwrap());
    transaction.commit().unwrap();
    drop(database);

    let catalog = Catalog::open(&file).unwrap();
    let old = sections(&catalog);
    assert_eq!((old[0].text.as_str(), old[0].headings.len()), ("word", 0));
    let language = |version| catalog.snapshot().unwrap().language(version, 0).unwrap();
    assert_eq!(language(1), None);
    put(&catalog, &document);
    assert_eq!(sections(&catalog), document.sections);
    assert_eq!(language(2), Some(Language::En));
}
