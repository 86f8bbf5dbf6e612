use emend_proto::v1::{Step, StepStarted, WalkEvent, walk_event::Event};

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
    assert_eq!(walk(&format!("{whole:#}")).unwrap(), result());
    let started = Event::StepStarted(StepStarted::default());
    let lines = format!("{}\n{}\n", event(started), event(Event::Finished(result())));
    assert_eq!(walk(&lines).unwrap(), result());
}

#[test]
fn what_holds_no_walk_is_refused() {
    for wrong in ["", "{", "[]", "{\"answer\": \"x\"}", "{\"steps\": 1}"] {
        assert!(walk(wrong).is_err(), "{wrong}");
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
