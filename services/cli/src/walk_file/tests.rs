use std::fs;

use emend_proto::v1::{Step, StepStarted, WalkEvent, WalkRecord, walk_event::Event};

use super::*;

fn result() -> WalkResult {
    WalkResult {
        graph: "self-rag".to_owned(),
        steps: vec![Step {
            node: "retrieve".to_owned(),
            ..Step::default()
        }],
        ..WalkResult::default()
    }
}

fn event(event: Event) -> String {
    let event = WalkEvent {
        elapsed: None,
        event: Some(event),
    };
    json::value("WalkEvent", &event).unwrap().to_string()
}

#[test]
fn both_forms_that_ask_prints_are_read() {
    let whole = json::value("WalkResult", &result()).unwrap();
    assert_eq!(walk(format!("{whole:#}").as_bytes()).unwrap(), result());
    let started = Event::StepStarted(StepStarted::default());
    let lines = format!("{}\n{}\n", event(started), event(Event::Finished(result())));
    assert_eq!(walk(lines.as_bytes()).unwrap(), result());
}

#[test]
fn what_the_page_saves_is_read() {
    let event = WalkEvent {
        elapsed: None,
        event: Some(Event::Finished(result())),
    };
    let event = emend_json::text("WalkEvent", &event).unwrap();
    let saved = |format: u32| format!("{{\"format\": {format}, \"question\": {{}}, \"events\": [{{}}, {event}]}}");
    assert_eq!(walk(saved(1).as_bytes()).unwrap(), result());
    let refused = walk(saved(2).as_bytes()).unwrap_err().to_string();
    assert!(refused.contains("format 2") && refused.contains("reads 1"), "{refused}");
}

#[test]
fn a_record_of_another_version_and_a_file_that_breaks_off_are_refused() {
    let mut newer = result();
    newer.record = Some(WalkRecord {
        version: 2,
        ..WalkRecord::default()
    });
    let newer = json::value("WalkResult", &newer).unwrap().to_string();
    let refused = walk(newer.as_bytes()).unwrap_err().to_string();
    assert!(
        refused.contains("version 2") && refused.contains("reads 1"),
        "{refused}"
    );
    let refused = walk(&newer.as_bytes()[..newer.len() / 2]).unwrap_err().to_string();
    assert!(refused.contains("breaks off in line 1"), "{refused}");
}

#[test]
fn what_holds_no_walk_is_refused() {
    for wrong in ["", "{", "[]", "{\"answer\": \"x\"}", "{\"steps\": 1}"] {
        assert!(walk(wrong.as_bytes()).is_err(), "{wrong}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("walk.json");
    fs::write(&file, "[]").unwrap();
    let error = read(&file).unwrap_err().to_string();
    assert!(
        error.contains("walk.json holds no walk") && error.contains("emend ask --json"),
        "{error}"
    );
}
