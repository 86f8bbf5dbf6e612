use super::*;

fn read_lines(task: Task, lines: &str) -> Result<Vec<LabelledPair>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.jsonl");
    fs::write(&path, lines).unwrap();
    read(&path, task)
}

#[test]
fn a_line_becomes_a_pair() {
    let line = r#"{"query":"q","passage":"p","relevant":true,"constructed":true,"lang":"ko","kind":"x"}"#;
    let pairs = read_lines(Task::Relevance, line).unwrap();
    assert_eq!(
        (pairs[0].labels.as_slice(), pairs[0].constructed),
        ([true].as_slice(), true)
    );
    assert_eq!(pairs[0].lang.as_deref(), Some("ko"));
    let line = r#"{"question":null,"evidence":"e","claim":"c","supported":false}"#;
    assert_eq!(read_lines(Task::Groundedness, line).unwrap()[0].evidence, "e");
    let line = r#"{"question":"When?","passage":"It rains. It opened in 1902.","answers":["1902"]}"#;
    assert_eq!(read_lines(Task::Answer, line).unwrap()[0].labels, [false, true]);
}

#[test]
fn a_wrong_line_is_named_with_what_it_lacks() {
    let error = read_lines(Task::Usefulness, "\n{\"question\":\"q\",\"answer\":\"a\"}").unwrap_err();
    let words = format!("{error:#}");
    assert!(words.contains("made.jsonl:2") && words.contains("`useful`"), "{words}");
    assert!(read_lines(Task::Relevance, "").is_err());
}

#[test]
fn a_folder_is_read_by_task() {
    let root = tempfile::tempdir().unwrap();
    assert!(
        folder(root.path())
            .unwrap_err()
            .to_string()
            .contains("relevance/NAME.jsonl")
    );
    fs::create_dir(root.path().join("usefulness")).unwrap();
    fs::write(root.path().join("usefulness/en.jsonl"), "").unwrap();
    fs::write(root.path().join("usefulness/SOURCE.md"), "").unwrap();
    let files = folder(root.path()).unwrap();
    assert_eq!(files.keys().collect::<Vec<_>>(), [&(Task::Usefulness, "en".to_owned())]);
}
