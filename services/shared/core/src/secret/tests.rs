use std::fs;

use super::*;

#[test]
fn a_key_is_read_from_a_file_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    fs::write(&file, " sk-secret\r\n").unwrap();
    let key = Secret::read(&file).unwrap();
    assert_eq!(
        (key.reveal(), format!("{key:?}").as_str()),
        ("sk-secret", "Secret(***)")
    );
    fs::write(&file, "one\n\n three \n").unwrap();
    let keys = Secret::read_lines(&file).unwrap();
    assert_eq!(
        keys.iter().map(Secret::reveal).collect::<Vec<_>>(),
        ["one", "", "three"]
    );
    for unusable in [" \n".to_owned(), "x".repeat(MAX_FILE_BYTES as usize + 1)] {
        fs::write(&file, unusable).unwrap();
        assert!(Secret::read(&file).is_err());
    }
    assert!(Secret::read(&folder.path().join("none")).is_err());
}

#[test]
fn a_secret_of_the_environment_is_not_empty() {
    // Every process has the first, and none the second.
    assert!(Secret::from_environment("PATH").is_some());
    assert_eq!(Secret::from_environment("EMEND_TEST_NO_SUCH_KEY"), None);
}
