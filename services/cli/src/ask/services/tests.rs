use super::*;

#[test]
fn the_same_paths_have_the_same_collection_in_any_order_and_spelling() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    std::fs::create_dir(&a).unwrap();
    std::fs::create_dir(&b).unwrap();
    let roundabout = b.join("../a");
    let one = collection_of(&[a.clone(), b.clone()], "e5-small").unwrap();
    assert_eq!(
        one,
        collection_of(&[b.clone(), roundabout, a.clone()], "e5-small").unwrap()
    );
    assert_ne!(one, collection_of(std::slice::from_ref(&a), "e5-small").unwrap());
    assert_ne!(one, collection_of(&[a, b], "minilm").unwrap());
}

#[test]
fn an_invalid_collection_name_is_sanitized() {
    assert_eq!(slug(Some(Path::new("/x/사내 규정"))), "files");
    assert_eq!(slug(Some(Path::new("/x/Hand book!.md"))), "Handbook.md");
}
