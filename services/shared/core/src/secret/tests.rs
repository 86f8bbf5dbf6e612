use super::*;

#[test]
fn a_secret_is_read_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    fs::write(&file, " sk-1234\n").unwrap();
    let secret = Secret::from_file_or_env(Some(&file), "EMEND_TEST_NO_SUCH_KEY")
        .unwrap()
        .unwrap();
    assert_eq!(secret.reveal(), "sk-1234");
    assert_eq!(format!("{secret:?}"), "Secret(***)");
    assert_eq!(Secret::from_file_or_env(None, "EMEND_TEST_NO_SUCH_KEY").unwrap(), None);
    // Every process has one.
    assert!(Secret::from_file_or_env(None, "PATH").unwrap().is_some());
}

#[test]
fn a_file_without_a_secret_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    assert_eq!(
        Secret::from_file_or_env(Some(&file), "PATH").unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    fs::write(&file, "\n").unwrap();
    assert_eq!(
        Secret::from_file_or_env(Some(&file), "PATH").unwrap_err().kind(),
        io::ErrorKind::InvalidData
    );
}
