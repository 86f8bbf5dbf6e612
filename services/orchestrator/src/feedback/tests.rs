use emend_core::{Code, Deadline};
use tokio_util::sync::CancellationToken;

use super::*;

fn scope() -> Scope {
    Scope {
        deadline: Deadline::after(Duration::from_secs(60)),
        cancel: CancellationToken::new(),
    }
}

fn feedback(question: &str) -> Feedback {
    Feedback {
        question: question.to_owned(),
        answer: "25 days".to_owned(),
        verdict: FeedbackVerdict::Right.into(),
        status: WalkStatus::Answered.into(),
        passages: vec![FeedbackPassage {
            id: "leave.md#p0".to_owned(),
            text: "25 days\nof leave".to_owned(),
            cited: true,
            relevant: Some(true),
            ..FeedbackPassage::default()
        }],
        ..Feedback::default()
    }
}

fn read(folder: &Path) -> Vec<Kept> {
    let mut all = Vec::new();
    let broken = FeedbackFolder::read::<FeedbackError>(folder, |kept| {
        all.push(kept);
        Ok(())
    });
    assert_eq!(broken.unwrap(), 0);
    all
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn what_is_recorded_is_read_back_and_is_its_owners_alone() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("new/feedback");
    let kept = FeedbackFolder::open(&folder).unwrap();
    let id = kept.record(feedback("How many?"), &scope()).await.unwrap();
    let all = read(&folder);
    assert_eq!((all.len(), &all[0].id, all[0].verdict), (1, &id, Verdict::Right));
    assert_eq!(all[0].status, "WALK_STATUS_ANSWERED");
    assert_eq!(all[0].passages[0].text, "25 days\nof leave");
    assert!(all[0].recorded_at.ends_with('Z'), "{}", all[0].recorded_at);
    #[cfg(unix)]
    assert_eq!((mode(&folder), mode(&folder.join("feedback.jsonl"))), (0o700, 0o600));
}

#[tokio::test]
async fn files_are_bounded_and_the_oldest_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut kept = FeedbackFolder::open(folder.path()).unwrap();
    kept.max_file_bytes = 1000;
    for number in 0..60 {
        kept.record(feedback(&format!("question {number}")), &scope())
            .await
            .unwrap();
    }
    let files: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let sizes = files.iter().map(|file| fs::metadata(file).unwrap().len());
    assert!(sizes.max().unwrap() <= 1000);
    let jsonl = files
        .iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    assert_eq!(jsonl.count(), MAX_FILES);
    let questions: Vec<String> = read(folder.path()).into_iter().map(|kept| kept.question).collect();
    let last: Vec<String> = (60 - questions.len()..60)
        .map(|number| format!("question {number}"))
        .collect();
    assert_eq!(questions, last, "the last ones, in their order");
}

#[tokio::test]
async fn writers_at_once_do_not_mix_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    // As two processes would.
    let both = [
        FeedbackFolder::open(folder.path()).unwrap(),
        FeedbackFolder::open(folder.path()).unwrap(),
    ];
    let scope = scope();
    let writing = (0..12).map(|number| both[number % 2].record(feedback(&"q".repeat(5000)), &scope));
    for recorded in futures::future::join_all(writing).await {
        recorded.unwrap();
    }
    assert_eq!(read(folder.path()).len(), 12);
}

#[tokio::test]
async fn a_line_that_a_crash_cut_off_does_not_spoil_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let kept = FeedbackFolder::open(folder.path()).unwrap();
    kept.record(feedback("one"), &scope()).await.unwrap();
    let path = folder.path().join("feedback.jsonl");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], &whole[..40]].concat()).unwrap();
    kept.record(feedback("two"), &scope()).await.unwrap();
    let mut questions = Vec::new();
    let broken = FeedbackFolder::read::<FeedbackError>(folder.path(), |kept| {
        questions.push(kept.question);
        Ok(())
    });
    assert_eq!(
        (broken.unwrap(), questions),
        (1, vec!["one".to_owned(), "two".to_owned()])
    );

    fs::write(&path, "{\"id\": 1}\n").unwrap();
    let refused = FeedbackFolder::read::<FeedbackError>(folder.path(), |_| Ok(())).unwrap_err();
    assert!(refused.to_string().contains("feedback.jsonl:1"), "{refused}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_said() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = FeedbackFolder::open(&file).unwrap_err();
    assert!(
        refused.code() == Code::FailedPrecondition && refused.to_string().contains("--feedback-dir"),
        "{refused}"
    );
    let missing = FeedbackFolder::read::<FeedbackError>(&place.path().join("none"), |_| Ok(()));
    assert!(missing.is_err());
}
