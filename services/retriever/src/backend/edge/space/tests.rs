use super::*;

#[test]
fn a_nearly_full_disk_is_rejected_with_its_folder_and_sizes() {
    let folder = Path::new("/data/emend/default");
    assert!(Space(|_| Ok(200 << 20)).for_document(folder, 10 << 20).is_ok());
    let error = Space(|_| Ok(100 << 20))
        .for_document(folder, 10 << 20)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "no room left for data folder /data/emend/default: 100 MiB are free and 156 MiB are needed; free some space"
    );
}

#[test]
fn the_free_space_of_the_real_disk_is_read() {
    let space = Space::default();
    assert!(space.for_document(&std::env::temp_dir(), 0).is_ok());
    assert!(space.for_document(&std::env::temp_dir(), u64::MAX / 2).is_err());
}

#[test]
fn documents_can_be_removed_when_none_can_be_added() {
    let folder = Path::new("/data/emend/default");
    let space = Space(|_| Ok(50 << 20));
    assert!(space.for_document(folder, 1).is_err() && space.for_upkeep(folder).is_ok());
    assert!(Space(|_| Ok(1 << 20)).for_upkeep(folder).is_err());
}
