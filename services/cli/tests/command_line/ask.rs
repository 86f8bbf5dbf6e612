//! What `emend ask` says where something is wrong, before it does any work.

use std::{io::Write as _, net::TcpListener, process::Stdio, thread};

use super::{ASKED, Place, stderr, stdout};

#[test]
fn a_question_is_read_from_standard_input() {
    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    let mut asking = place.emend(&["ask", "--docs", docs, "-"]);
    asking
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = asking.spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{ASKED}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("25 days"), "{}", stdout(&output));
}

#[test]
fn a_large_folder_is_answered_from_by_its_words_until_it_is_embedded() {
    let place = Place::new();
    let line = |number| {
        format!(
            "The depot has {number} bolts of size {} in drawer {}.\n",
            number % 7,
            number % 90
        )
    };
    let filler: String = (0..16_000).map(line).collect();
    std::fs::write(place.docs.path().join("depot.txt"), filler).unwrap();
    let first = place.ask(&["--", ASKED]);
    let (out, err) = (stdout(&first), stderr(&first));
    assert_eq!(first.status.code(), Some(0), "{out}{err}");
    assert!(out.contains("25 days"), "{out}{err}");
    assert!(
        err.contains("2 ingested") && err.contains("They are found by their words until they are embedded"),
        "{err}"
    );
    // All was embedded before the first one ended.
    let again = place.ask(&["--", ASKED]);
    let err = stderr(&again);
    assert!(err.contains("2 unchanged") && !err.contains("by their words"), "{err}");
}

#[test]
fn what_is_wrong_with_a_question_is_said_before_a_document_is_stored() {
    let place = Place::new();
    for (wrong, says) in [
        (&["--graph", "self-rga"][..], "did you mean `self-rag`?"),
        (&["--option", "max_cuont=1"], "max_cuont"),
        (&["--option", "web_fallback=2"], "2 is outside 0 to 1"),
        (&["-k", "0"], "top_k"),
        (&["--llm-model", "some-model"], "--llm-url is not set"),
        (&["--llm-url", "not a url", "--llm-model", "some-model"], "not a url"),
    ] {
        let output = place.ask(&[wrong, &["--", ASKED]].concat());
        let err = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{wrong:?}: {err}");
        assert!(err.contains(says) && !err.contains("ingested"), "{wrong:?}: {err}");
    }
    let output = place.ask(&["--", ASKED]);
    let err = stderr(&output);
    assert!(err.contains("1 ingested"), "nothing was stored before: {err}");
}

#[test]
fn errors_are_json_where_json_is_asked_for() {
    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    for (arguments, status, code) in [
        (
            &["--docs", docs, "--json", "--graph", "self-rga", "--", ASKED][..],
            1,
            "NOT_FOUND",
        ),
        (
            &["--docs", docs, "--json=events", "-k", "0", "--", ASKED],
            1,
            "INVALID_ARGUMENT",
        ),
        (&["--docs", "/no/such/folder", "--json", "--", ASKED], 1, "COMMAND"),
        (&["--docs", docs, "--json", "--", " "], 2, "COMMAND"),
        (&["--dosc", docs, "--json", "--", ASKED], 2, "COMMAND"),
    ] {
        let output = place.emend(&[&["ask"], arguments].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
        let error: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(error["error"]["code"], code, "{error}");
        assert!(!error["error"]["message"].as_str().unwrap().is_empty(), "{error}");
        assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
    }
    let output = place.ask(&["--json", "-k", "0", "--", ASKED]);
    let error: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        error["error"]["fields"][0]["field"], "question.options[top_k]",
        "{error}"
    );
}

/// A server that answers every connection with a page of HTTP/1.1, for as long as the test runs.
fn web_page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for socket in listener.incoming() {
            let page = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            // A caller that is gone does not read it.
            socket.unwrap().write_all(page.as_bytes()).ok();
        }
    });
    url
}

#[test]
fn a_url_that_is_no_orchestrator_is_named_with_what_to_do() {
    let place = Place::new();
    let output = place
        .emend(&["ask", "--url", &web_page(), "--", ASKED])
        .output()
        .unwrap();
    let err = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(
        err.contains("is not an orchestrator") && err.contains("emend up"),
        "{err}"
    );
}

#[test]
fn a_failed_service_has_an_exit_status_of_its_own_and_is_named_first() {
    let place = Place::new();
    let arguments = ["--llm-url", "http://127.0.0.1:1/v1", "--llm-model", "some-model", "--"];
    let failed = place.ask(&[&arguments[..], &[ASKED]].concat());
    let (out, err) = (stdout(&failed), stderr(&failed));
    assert_eq!(failed.status.code(), Some(4), "{out}{err}");
    assert!(out.starts_with("failed by self-corrective-rag"), "{out}");
    assert!(
        err.contains("error: the generator failed (MODEL_UNAVAILABLE)")
            && err.contains("check that the generator runs"),
        "{err}"
    );

    let failed = place.ask(&[&["--json"], &arguments[..], &[ASKED]].concat());
    let result: serde_json::Value = serde_json::from_str(&stdout(&failed)).unwrap();
    assert_eq!(failed.status.code(), Some(4));
    assert_eq!(result["status"], "WALK_STATUS_FAILED");
    assert_eq!(result["failure"]["service"], "generator", "{result}");
    assert_eq!(result["failure"]["reason"], "MODEL_UNAVAILABLE", "{result}");
    assert!(
        stderr(&failed).starts_with("error: the generator failed"),
        "{}",
        stderr(&failed)
    );
}

#[test]
fn the_web_is_searched_where_the_documents_do_not_answer_unless_it_is_off() {
    let place = Place::new();
    let pages = tempfile::tempdir().unwrap();
    std::fs::write(
        pages.path().join("comet.md"),
        "---\nurl: https://sky.example/comet\n---\n# Comets\n\nThe comet Arend passes near Jupiter every eight years.\n",
    )
    .unwrap();
    let pages = pages.path().to_str().unwrap();
    let asked = ["--web-folder", pages, "--", "Which comet passes near Jupiter?"];
    let output = place.ask(&asked);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(
        out.contains("Arend") && out.contains("[1] web: https://sky.example/comet"),
        "{out}"
    );

    let output = place.ask(&[&["--web", "off"], &asked[..]].concat());
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(3), "{out}{err}");
    assert!(!out.contains("Arend") && !out.contains("web:"), "{out}");
    // There is a provider: how to have one is no advice here.
    assert!(
        err.contains("the web is off for this question") && !(out + &err).contains("--web-folder DIR"),
        "{err}"
    );
}

#[test]
fn an_abstention_shows_each_error_once_and_the_advice_that_fits() {
    let place = Place::new();
    let output = place.ask(&["--", "Which comet passes near Jupiter?"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let shown = stderr(&output) + &stdout(&output);
    assert_eq!(shown.matches("--web-folder DIR").count(), 1, "{shown}");
    assert!(!shown.contains("emend-web-search"), "{shown}");
}
