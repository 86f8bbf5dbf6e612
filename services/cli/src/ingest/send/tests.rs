use super::*;
use crate::documents::{Reading, find};

#[test]
fn the_bar_counts_the_bytes_of_files_and_names_the_one_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "{\"id\": \"1\", \"text\": \"one\"}\n{\"id\": \"2\", \"text\": \"two\"}\n";
    std::fs::write(folder.path().join("a.md"), "0123456789").unwrap();
    std::fs::write(folder.path().join("b.jsonl"), lines).unwrap();
    let found = find(&[folder.path().to_owned()], &Reading::default()).unwrap();
    let bar = ProgressBar::hidden();
    let (sender, mut receiver) = mpsc::channel(1);
    let seen = bar.clone();
    let taking = std::thread::spawn(move || {
        let mut positions = Vec::new();
        while receiver.blocking_recv().is_some() {
            positions.push(seen.position());
        }
        positions
    });
    assert!(read_all(
        &found.sources,
        &Arc::default(),
        "c",
        &sender,
        &Mutex::default(),
        &bar
    ));
    drop(sender);
    let positions = taking.join().unwrap();
    assert_eq!(positions.len(), 3);
    assert!(positions.is_sorted() && positions[0] <= 10, "{positions:?}");
    assert_eq!(bar.position(), 10 + lines.len() as u64);
    assert!(bar.message().ends_with("b.jsonl"), "{}", bar.message());
}
