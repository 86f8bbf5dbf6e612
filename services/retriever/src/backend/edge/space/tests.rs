use super::*;

#[test]
fn a_nearly_full_disk_is_rejected_with_its_folder_and_sizes() {
    let folder = Path::new("/data/emend/default");
    assert!(enough(folder, 200 << 20, 10 << 20).is_ok());
    let error = enough(folder, 100 << 20, 10 << 20).unwrap_err().to_string();
    assert_eq!(
        error,
        "no room left for data folder /data/emend/default: 100 MiB are free and 156 MiB are needed; free some space"
    );
}

#[test]
fn the_free_space_of_the_real_disk_is_read() {
    assert!(require(&std::env::temp_dir(), 0).is_ok());
    assert!(require(&std::env::temp_dir(), u64::MAX / 2).is_err());
}
