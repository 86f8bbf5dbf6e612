//! Every contract says how its stubs are called in the languages that cannot tell by themselves, and the packages are whole.

use std::collections::BTreeMap;
use std::fs;

use crate::root;

#[test]
fn every_contract_has_the_options_of_the_languages() {
    let folder = root().join("proto/emend/v1");
    let expected = BTreeMap::from([
        ("csharp_namespace", "\"Emend.V1\""),
        ("go_package", "\"emend/v1;emendv1\""),
        ("java_multiple_files", "true"),
        ("java_package", "\"emend.v1\""),
    ]);
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "proto") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let options = text.lines().filter_map(|line| {
            let (name, value) = line.strip_prefix("option ")?.strip_suffix(';')?.split_once(" = ")?;
            Some((name, value))
        });
        assert_eq!(options.collect::<BTreeMap<_, _>>(), expected, "{}", path.display());
        count += 1;
    }
    assert!(count >= 8, "{count} contracts");
}

/// A package is published from its own folder, with the licence that it has there.
#[test]
fn the_packages_have_the_licence_of_the_repository() {
    let licence = fs::read(root().join("LICENSE")).unwrap();
    for package in ["python", "typescript"] {
        let copy = fs::read(root().join("proto").join(package).join("LICENSE")).unwrap();
        assert!(copy == licence, "proto/{package}/LICENSE is another text than LICENSE");
    }
}
