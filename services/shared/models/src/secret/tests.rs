use std::fs;

use super::*;

#[test]
fn a_key_is_read_from_a_file_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    fs::write(&file, " sk-secret\r\n").unwrap();
    let key = ApiKey::read(&file).unwrap();
    assert_eq!(
        (key.reveal(), format!("{key:?}").as_str()),
        ("sk-secret", "ApiKey(***)")
    );
    fs::write(&file, "one\n\n three \n").unwrap();
    let keys = ApiKey::read_lines(&file).unwrap();
    assert_eq!(
        keys.iter().map(ApiKey::reveal).collect::<Vec<_>>(),
        ["one", "", "three"]
    );
    for unusable in [" \n".to_owned(), "x".repeat(MAX_KEY_FILE as usize + 1)] {
        fs::write(&file, unusable).unwrap();
        assert!(ApiKey::read(&file).is_err());
    }
    assert!(ApiKey::read(&folder.path().join("none")).is_err());
}
