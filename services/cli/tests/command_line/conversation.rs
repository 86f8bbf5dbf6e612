//! `emend ask` without a question, on a terminal of its own.

use std::{fs, io::Read as _, net::TcpListener, os::unix::fs::PermissionsExt as _, sync::mpsc, thread};

use rexpect::session::{PtySession, spawn_command};

use super::{ASKED, Place, stderr};

/// A guard against hanging, never a measure.
const HANG_MS: u64 = 120_000;

/// A conversation over the documents of a place.
fn talk(place: &Place, more: &[&str]) -> PtySession {
    let docs = place.docs.path().to_str().unwrap();
    let mut command = place.emend(&[&["ask", "--docs", docs][..], more].concat());
    command.env("TERM", "xterm").env("NO_COLOR", "1").env("LANG", "C.UTF-8");
    let mut session = spawn_command(command, Some(HANG_MS)).unwrap();
    session.exp_string("/help lists commands").unwrap();
    session.exp_string("? ").unwrap();
    session
}

/// Writes a line, waits for what comes of it in this order, and for the next prompt.
fn say(session: &mut PtySession, line: &str, answers: &[&str]) {
    session.send_line(line).unwrap();
    for answer in answers.iter().chain(&["? "]) {
        session.exp_string(answer).unwrap();
    }
}

/// Ends the input at a prompt, and makes sure that the program ends well.
fn ended(mut session: PtySession) {
    session.send_control('d').unwrap();
    session.exp_eof().unwrap();
    let status = format!("{:?}", session.process().wait().unwrap());
    assert!(status.starts_with("Exited(") && status.ends_with(", 0)"), "{status}");
}

#[test]
fn a_follow_up_goes_on_with_what_was_said_and_commands_are_obeyed() {
    let place = Place::new();
    let mut session = talk(&place, &[]);
    let answers = ["25 days of paid leave a year. [1]", "answered by self-corrective-rag"];
    say(&mut session, ASKED, &answers);
    // The services are the same, and the question is made to stand on its own.
    let answers = ["condense", "by self-corrective-rag", "asked as: And who approves it?"];
    say(&mut session, "And who approves it?", &answers);
    say(
        &mut session,
        "/sources",
        &["[1] ", "Leave is approved by the team lead"],
    );
    say(&mut session, "/trace", &["condense", "finalize_response"]);
    say(&mut session, "/grpah self-rag", &["did you mean `graph`"]);
    say(&mut session, "/graph self-rga", &["self-rag"]);
    say(&mut session, "/graph plain-rag", &["answers come by plain-rag"]);
    let other = tempfile::tempdir().unwrap();
    fs::write(
        other.path().join("canteen.md"),
        "The canteen closes at three in the afternoon.",
    )
    .unwrap();
    say(
        &mut session,
        &format!("/docs {}", other.path().display()),
        &["1 ingested"],
    );
    say(&mut session, "/new", &["a new conversation"]);
    session.send_line("When does the canteen close?").unwrap();
    let (before, _) = session.exp_regex("three in the afternoon").unwrap();
    assert!(!before.contains("condense"), "nothing was said before: {before}");
    session.exp_string("by plain-rag").unwrap();
    session.exp_string("? ").unwrap();
    ended(session);
}

#[test]
fn wide_characters_are_edited_and_lines_are_kept_for_their_owner() {
    let place = Place::new();
    let mut session = talk(&place, &[]);
    // A mistake is taken back, another is mended with the arrow key, and the beginning comes last.
    let typed = "휴가는 멷\u{7f}며일\u{1b}[D칠 \u{5}인가\u{1}연차 ";
    say(&mut session, typed, &["by self-corrective-rag"]);
    session.send("dropped").unwrap();
    session.send_control('c').unwrap();
    session.exp_string("\n").unwrap();
    session.exp_string("? ").unwrap();
    ended(session);
    let file = place.data.path().join(".local/share/emend/ask_history");
    let kept = fs::read_to_string(&file).unwrap();
    assert!(kept.lines().any(|line| line == "연차 휴가는 며칠 일인가"), "{kept}");
    assert!(!kept.contains("dropped"), "{kept}");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn earlier_lines_come_back_with_the_arrow_key_also_in_the_next_conversation() {
    const UP: &str = "\u{1b}[A";
    let place = Place::new();
    let answer = ["25 days of paid leave a year. [1]", "answered by self-corrective-rag"];
    let mut session = talk(&place, &[]);
    say(&mut session, ASKED, &answer);
    say(&mut session, "/graph plain-rag", &["answers come by plain-rag"]);
    say(
        &mut session,
        "/graph self-corrective-rag",
        &["answers come by self-corrective-rag"],
    );
    say(&mut session, &UP.repeat(3), &answer);
    ended(session);
    let mut session = talk(&place, &[]);
    say(&mut session, UP, &answer);
    ended(session);
}

#[test]
fn an_interrupt_calls_off_the_walk_and_not_the_conversation() {
    let place = Place::new();
    // A model that is asked and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut open = Vec::new();
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut asked = [0; 16];
            if connection.read(&mut asked).unwrap_or_default() > 0 {
                tell.send(()).ok();
            }
            open.push(connection);
        }
    });
    let model = [
        "--llm-url",
        &url,
        "--llm-model",
        "m",
        "--grader",
        "embedded",
        "--rewriter",
        "embedded",
    ];
    let mut session = talk(&place, &model);
    session.send_line(ASKED).unwrap();
    told.recv().unwrap();
    session.send_control('c').unwrap();
    session.exp_string("the walk was called off").unwrap();
    session.exp_string("? ").unwrap();
    say(&mut session, "/help", &["/sources", "Ctrl-D"]);
    ended(session);
}

#[test]
fn without_a_terminal_there_has_to_be_a_question() {
    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    for arguments in [&["ask"][..], &["ask", "--docs", docs]] {
        let output = place.emend(arguments).output().unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("there is no question"), "{error}");
    }
}
