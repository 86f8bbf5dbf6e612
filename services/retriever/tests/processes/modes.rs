//! What is stored is for its owner alone.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use emend_proto::v1::{Document, IngestRequest, IngestStatus};

use crate::{RETRIEVER, start};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn the_data_folder_and_its_collections_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("data");
    // A folder that is there stays as it is.
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    for (root, expected) in [(root, "700"), (open, "755")] {
        // What others may do is not left to the umask.
        let mut command = Command::new("sh");
        command.args(["-c", "umask 0; exec \"$0\" \"$@\"", RETRIEVER]);
        let (mut child, mut client) = start(command, &root, &[]);
        let request = IngestRequest {
            collection: "handbook".to_owned(),
            document: Some(Document {
                id: "tides.md".to_owned(),
                content: b"Tides rise twice a day.".to_vec(),
                ..Document::default()
            }),
            ..IngestRequest::default()
        };
        let mut answers = client.ingest(tokio_stream::iter([request])).await.unwrap().into_inner();
        let answer = answers.message().await.unwrap().unwrap();
        assert_eq!(answer.status(), IngestStatus::Ingested, "{}", answer.error);
        let collections: Vec<_> = fs::read_dir(&root)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        assert!(!collections.is_empty(), "no collection in {}", root.display());
        assert_eq!(format!("{:o}", mode(&root)), expected);
        for path in &collections {
            assert_eq!(format!("{:o}", mode(path)), "700", "{}", path.display());
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
