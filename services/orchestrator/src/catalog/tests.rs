use super::*;

#[test]
fn every_built_in_graph_loads() {
    let catalog = Catalog::load(None).unwrap();
    let names: Vec<&str> = catalog.iter().map(|graph| graph.name()).collect();
    assert_eq!(
        names,
        [
            "corrective-rag",
            "corrective-rag-binary",
            "plain-rag",
            "self-corrective-rag",
            "self-rag",
            "self-rag-final-grade",
            "self-rag-tutorial",
            "self-reflective-rag",
        ]
    );
}

#[test]
fn r17_an_unknown_graph_lists_the_known_ones() {
    let error = Catalog::load(None).unwrap().get("self-rga").unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown graph `self-rga`; did you mean `self-rag`?; the graphs are corrective-rag, \
             corrective-rag-binary, plain-rag, self-corrective-rag, self-rag, self-rag-final-grade, self-rag-tutorial, \
             self-reflective-rag"
    );
}

#[test]
fn a_file_of_the_folder_replaces_the_built_in_graph_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = BUILT_IN[0].1.replace("default: 4", "default: 7");
    fs::write(folder.path().join("mine.yaml"), &yaml).unwrap();
    fs::write(folder.path().join("notes.txt"), "not a graph").unwrap();
    let catalog = Catalog::load(Some(folder.path())).unwrap();
    assert_eq!(catalog.get("plain-rag").unwrap().options()[0].default, Some(7.0));
    assert_eq!(catalog.iter().count(), 8);

    fs::write(folder.path().join("other.yaml"), &yaml).unwrap();
    assert!(matches!(
        Catalog::load(Some(folder.path())),
        Err(CatalogError::Duplicate { .. })
    ));
}

#[test]
fn every_invalid_file_is_named_with_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = BUILT_IN[0].1;
    fs::write(
        folder.path().join("a.yaml"),
        yaml.replace("start: retrieve", "start: retreive"),
    )
    .unwrap();
    fs::write(
        folder.path().join("b.yaml"),
        yaml.replace("{action: generate}", "{action: genrate}"),
    )
    .unwrap();
    let error = Catalog::load(Some(folder.path())).unwrap_err().to_string();
    assert!(
        error.contains("a.yaml:10: unknown node `retreive`; did you mean `retrieve`?"),
        "{error}"
    );
    assert!(
        error.contains("b.yaml:14: node `generate`: unknown `action`: `genrate`; did you mean `generate`?"),
        "{error}"
    );
}

#[test]
fn a_missing_folder_is_an_error_that_names_it() {
    let error = Catalog::load(Some(Path::new("/nonexistent/graphs"))).unwrap_err();
    assert_eq!(error.to_string(), "cannot read /nonexistent/graphs; check --graphs-dir");
}

#[test]
fn a_changed_folder_is_read_again_and_a_wrong_file_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.yaml");
    let yaml = BUILT_IN[0].1;
    fs::write(&file, yaml).unwrap();
    let live = load_live(Some(folder.path())).unwrap();
    let default = || live.current().get("plain-rag").unwrap().options()[0].default;
    assert!(!live.refresh().unwrap());
    assert_eq!(default(), Some(4.0));

    let before = live.current();
    fs::write(&file, yaml.replace("default: 4", "default: 17")).unwrap();
    assert!(live.refresh().unwrap());
    assert_eq!(default(), Some(17.0));
    // A reload does not change a catalog that was read before.
    assert_eq!(before.get("plain-rag").unwrap().options()[0].default, Some(4.0));

    fs::write(&file, "name: plain-rag").unwrap();
    assert!(live.refresh().is_err());
    assert_eq!(default(), Some(17.0));

    fs::remove_file(&file).unwrap();
    assert!(live.refresh().unwrap());
    assert_eq!(default(), Some(4.0));
}
