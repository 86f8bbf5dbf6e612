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
    // Room for all that is read, so that nothing waits for a receiver.
    let (sender, mut receiver) = mpsc::channel(3);
    let mut read = |sources: &[Source]| {
        assert!(read_all(
            sources,
            &Arc::default(),
            &IngestRequest::default(),
            &sender,
            &Mutex::default(),
            &bar
        ));
        let mut documents = 0;
        while receiver.try_recv().is_ok() {
            documents += 1;
        }
        (documents, bar.position(), bar.message())
    };
    let (documents, bytes, message) = read(&found.sources[..1]);
    assert_eq!((documents, bytes), (1, 10));
    assert!(message.ends_with("a.md"), "{message}");
    let (documents, bytes, message) = read(&found.sources);
    assert_eq!((documents, bytes), (3, 10 + lines.len() as u64));
    assert!(message.ends_with("b.jsonl"), "{message}");
}
