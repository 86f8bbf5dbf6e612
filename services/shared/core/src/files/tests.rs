use std::io::{BufReader, Cursor, Read as _};

use super::*;

#[test]
fn a_line_above_the_bound_is_numbered_and_the_others_are_read() {
    let text = "one\n\nthree is long\nfour\r\nfive!";
    // Also where a line comes in pieces.
    for capacity in [1, 3, 64] {
        let reader = BufReader::with_capacity(capacity, Cursor::new(text));
        let lines: Vec<_> = BoundedLines::new(reader, 5).map(|line| line.unwrap()).collect();
        let read: Vec<_> = lines.iter().map(|line| line.bytes.as_deref()).collect();
        let expected: [Option<&[u8]>; 5] = [Some(b"one"), Some(b""), None, Some(b"four\r"), Some(b"five!")];
        assert_eq!(read, expected, "{capacity}");
        assert!(lines.iter().map(|line| line.number).eq(1..=5));
    }
    assert_eq!(BoundedLines::new(Cursor::new(""), 5).count(), 0);
}

#[test]
fn a_long_line_is_not_kept() {
    let endless = io::repeat(b'a').take(1 << 20);
    let mut lines = BoundedLines::new(BufReader::new(endless), 10);
    let line = lines.next().unwrap().unwrap();
    assert_eq!((line.number, line.bytes), (1, None));
    assert!(lines.next().is_none());
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "words").unwrap();
    let mut text = String::new();
    open_regular(&file).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "words");
    // Nobody writes to it: opening it the ordinary way would wait.
    let pipe = folder.path().join("pipe.jsonl");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for other in [&*pipe, Path::new("/dev/zero"), folder.path()] {
        let error = open_regular(other).unwrap_err();
        assert!(
            error.to_string().contains("not a regular file"),
            "{}: {error}",
            other.display()
        );
    }
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(open_regular(&socket).is_err());
}

#[cfg(unix)]
#[test]
fn a_file_behind_a_link_is_not_opened() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["inside", "outside"] {
        std::fs::create_dir(root.join(name)).unwrap();
        std::fs::write(root.join(name).join("a.txt"), name).unwrap();
    }
    let file = root.join("inside/a.txt");
    let read = || open_regular_unlinked(&file).and_then(io::read_to_string);
    assert_eq!(read().unwrap(), "inside");
    assert!(
        open_regular_unlinked(&root)
            .unwrap_err()
            .to_string()
            .contains("not a regular file")
    );

    std::fs::remove_file(&file).unwrap();
    assert_eq!(read().unwrap_err().kind(), io::ErrorKind::NotFound);
    symlink(root.join("outside/a.txt"), &file).unwrap();
    assert!(read().unwrap_err().to_string().contains("became a symbolic link"));
    assert_eq!(open_regular(&file).and_then(io::read_to_string).unwrap(), "outside");

    if cfg!(target_os = "linux") {
        std::fs::remove_dir_all(root.join("inside")).unwrap();
        symlink(root.join("outside"), root.join("inside")).unwrap();
        assert!(
            read().unwrap_err().to_string().contains("became a symbolic link"),
            "a folder"
        );
    }
}
