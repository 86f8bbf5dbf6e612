use rustyline::history::DefaultHistory;

use super::*;

fn completed(line: &str) -> (usize, Vec<String>) {
    let completions = Completions {
        files: FilenameCompleter::new(),
        graphs: vec!["self-rag".to_owned(), "plain-rag".to_owned()],
    };
    let history = DefaultHistory::new();
    let (start, found) = completions.complete(line, line.len(), &Context::new(&history)).unwrap();
    (start, found.into_iter().map(|pair| pair.replacement).collect())
}

#[test]
fn commands_graphs_and_files_are_completed_and_questions_are_not() {
    assert_eq!(completed("/gr"), (1, vec!["graph".to_owned()]));
    assert_eq!(completed("/graph self"), (7, vec!["self-rag".to_owned()]));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("leave.md"), "").unwrap();
    let (_, found) = completed(&format!("/docs {}/le", folder.path().display()));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(completed("Who approves le").1, Vec::<String>::new());
    assert_eq!(completed("/new x").1, Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn lines_are_kept_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let file = kept_in(&folder.path().join("deeper")).unwrap();
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}
