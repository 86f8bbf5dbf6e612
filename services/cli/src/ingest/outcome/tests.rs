use super::*;

fn line(source: &str) -> Skipped {
    Skipped {
        source: source.to_owned(),
        reason: "is longer than 40 MiB".to_owned(),
        kind: FileKind::LongLine,
    }
}

#[test]
fn a_file_that_is_read_again_has_no_earlier_failures() {
    let mut outcome = Outcome::default();
    for failed in ["/a.jsonl", "/a.jsonl:7", "/a.jsonl.md", "/a.jsonl:b", "/b.jsonl:7"] {
        outcome.fail(failed, "broken");
    }
    for long in ["/a.jsonl:8", "/a.jsonl:9", "/b.jsonl:8"] {
        outcome.skip(&line(long));
    }
    outcome.skip(&Skipped {
        kind: FileKind::Image,
        ..line("/a.jsonl:8.png")
    });
    outcome.forget(Path::new("/a.jsonl"));
    let failed: Vec<&String> = outcome.failed.keys().collect();
    assert_eq!(failed, ["/a.jsonl.md", "/a.jsonl:b", "/b.jsonl:7"]);
    let summary = outcome.summary();
    let reason = "is longer than 40 MiB";
    assert_eq!(
        summary["skipped"],
        json!({"/a.jsonl:8.png": reason, "/b.jsonl:8": reason})
    );
    assert_eq!(summary["skippedKinds"], json!({"image": 1, "long_line": 1}));
    outcome.forget(Path::new("/b.jsonl"));
    assert_eq!(outcome.skipped_kinds().to_string(), "1 image (.png)");
}
