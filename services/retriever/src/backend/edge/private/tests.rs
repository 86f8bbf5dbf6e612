use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn folders_are_created_for_their_owner_alone() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("above/collections");
    create_folder(&folder).unwrap();
    for path in [&folder, folder.parent().unwrap()] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
    }
    assert_eq!(open_to_others(&folder).unwrap(), None);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    create_folder(&folder).unwrap();
    assert_eq!(open_to_others(&folder).unwrap(), Some(0o755));
}
