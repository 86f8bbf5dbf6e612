use super::*;

/// A folder with a set `a`, and what is wrong with it.
fn wrong(questions: &str, wanted: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.corpus_local.jsonl"), "").unwrap();
    fs::write(folder.path().join("a.questions.jsonl"), questions).unwrap();
    let wanted: Vec<_> = wanted.iter().map(|&name| name.to_owned()).collect();
    format!("{:#}", question_sets(&[folder.path().to_owned()], &wanted).unwrap_err())
}

#[test]
fn a_set_needs_its_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let questions = "{\"question\":\"q\",\"expect\":\"none\"}\n\n\
            {\"id\":\"two\",\"lang\":\"ko\",\"question\":\"r\",\"expect\":\"local\",\"answers\":[\"x\"]}\n";
    fs::write(folder.path().join("a.questions.jsonl"), questions).unwrap();
    let folders = [folder.path().to_owned()];
    assert!(
        question_sets(&folders, &[])
            .unwrap_err()
            .to_string()
            .contains("a.corpus_local.jsonl")
    );
    fs::write(folder.path().join("a.corpus_local.jsonl"), "").unwrap();
    let sets = question_sets(&folders, &[]).unwrap();
    assert_eq!((sets[0].name.as_str(), sets[0].cases.len()), ("a", 2));
    assert_eq!(sets[0].cases[0].key(), ("a", "1"));
    assert_eq!(sets[0].cases[0].lang, "und");
    assert_eq!(sets[0].cases[1].key(), ("a", "two"));
    assert_eq!(sets[0].cases[1].expect, Expect::Local);
    assert!(sets[0].web.is_none());
    let twice = [folder.path().to_owned(), folder.path().to_owned()];
    let error = question_sets(&twice, &[]).unwrap_err().to_string();
    assert!(error.contains("two question sets `a`"), "{error}");
}

#[test]
fn a_set_in_several_languages_is_one_for_each_asked_and_each_read() {
    let folder = tempfile::tempdir().unwrap();
    let line = r#"{"question":{"en":"q","zh":"w"},"answers":{"en":["x"],"zh":["y"]},"expect":"local"}"#;
    fs::write(folder.path().join("a.questions.jsonl"), format!("{line}\n{line}\n")).unwrap();
    fs::write(folder.path().join("a.corpus_en.jsonl"), "").unwrap();
    let folders = [folder.path().to_owned()];
    let missing = question_sets(&folders, &[]).unwrap_err().to_string();
    assert!(missing.contains("a.corpus_zh.jsonl is missing"), "{missing}");
    fs::write(folder.path().join("a.corpus_zh.jsonl"), "").unwrap();
    let sets = question_sets(&folders, &[]).unwrap();
    let names: Vec<_> = sets.iter().map(|set| set.name.as_str()).collect();
    assert_eq!(names, ["a.en-en", "a.en-zh", "a.zh-en", "a.zh-zh"]);
    assert!(sets[1].local.ends_with("a.corpus_zh.jsonl"));
    assert_eq!(sets[1].cases[1].key(), ("a.en-zh", "2"));
    assert_eq!(question_sets(&folders, &["a.zh-en".to_owned()]).unwrap().len(), 1);
}

#[test]
fn a_bad_line_is_named() {
    let good = "{\"id\":\"one\",\"question\":\"q\",\"expect\":\"none\"}\n";
    let moon = wrong("{\"question\":\"q\",\"expect\":\"moon\"}", &[]);
    assert!(moon.contains("a.questions.jsonl:1"), "{moon}");
    let unanswered = wrong("{\"question\":\"q\",\"expect\":\"web\",\"answers\":[\" \"]}", &[]);
    assert!(unanswered.contains("of kind web and has no answers"), "{unanswered}");
    let again = wrong(&good.repeat(2), &[]);
    assert!(
        again.contains("a.questions.jsonl:2") && again.contains("`one`"),
        "{again}"
    );
    let unknown = wrong(good, &["b"]);
    assert!(unknown.contains("`b`; known: a"), "{unknown}");
}

#[test]
fn the_corpus_may_be_a_folder_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let questions = r#"{"question":"q","expect":"local","answers":["x"],"gold_doc_ids":["hr/leave.md"]}"#;
    fs::write(folder.path().join("a.questions.jsonl"), questions).unwrap();
    fs::create_dir_all(folder.path().join("a.documents/hr")).unwrap();
    let folders = [folder.path().to_owned()];
    let missing = question_sets(&folders, &[]).unwrap_err().to_string();
    assert!(missing.contains("the question `1` names `hr/leave.md`"), "{missing}");
    let file = folder.path().join("a.documents/hr/leave.md");
    fs::write(&file, "x").unwrap();
    let sets = question_sets(&folders, &[]).unwrap();
    assert!(sets[0].local.ends_with("a.documents"));
    let file = fs::canonicalize(file).unwrap();
    assert_eq!(sets[0].cases[0].gold_doc_ids, [file.to_string_lossy()]);
}
