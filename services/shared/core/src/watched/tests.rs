use super::*;

struct Number(PathBuf);

impl Source for Number {
    type Value = u32;
    type Error = std::num::ParseIntError;
    const NAME: &'static str = "number";

    fn files(&self) -> Vec<PathBuf> {
        vec![self.0.clone()]
    }

    fn read(&self) -> Result<u32, Self::Error> {
        fs::read_to_string(&self.0).unwrap_or_default().parse()
    }
}

#[test]
fn a_changed_file_is_read_again_and_a_wrong_one_changes_nothing() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "1").unwrap();
    let watched = Watched::read(Number(file.path().to_owned())).unwrap();
    assert!(!watched.refresh().unwrap());
    let before = watched.current();
    fs::write(file.path(), "22").unwrap();
    assert!(watched.refresh().unwrap());
    assert_eq!((*before, *watched.current()), (1, 22));
    fs::write(file.path(), "many").unwrap();
    assert!(watched.refresh().is_err());
    assert_eq!(*watched.current(), 22);
    assert!(!watched.refresh().unwrap(), "one change is reported once");
    assert!(!Watched::<Number>::fixed(3).refresh().unwrap());
}

#[tokio::test(start_paused = true)]
async fn nobody_has_to_ask() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "1").unwrap();
    let watched = Watched::read(Number(file.path().to_owned())).unwrap();
    fs::write(file.path(), "22").unwrap();
    for _ in 0..100 {
        tokio::time::sleep(INTERVAL).await;
    }
    assert_eq!(*watched.current(), 22);
}
