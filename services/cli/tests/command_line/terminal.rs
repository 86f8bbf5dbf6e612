//! What documents, graphs and arguments may write to a terminal: text, and nothing that it obeys.

use std::{fs, os::unix::ffi::OsStrExt as _, path::Path, process::Output};

use super::{ASKED, Place};

/// What a hostile text holds: it writes the clipboard, sets the title, rings, colours, moves the cursor, and turns the
/// direction of writing.
const HOSTILE: &str = "\u{1b}]52;c;aGk=\u{7}\u{1b}]0;owned\u{1b}\\\u{9b}31m\u{9d}52;c;aGk=\u{9c}\u{1b}[2J\u{1b}[1;1H\u{7f}\u{8}\u{202e}\u{2066}\r";

/// Text enough that control characters are few in it: what is full of them is no document.
const FILLER: &str = include_str!("terminal.rs");

/// The characters that a terminal would obey, but for lines, tabs and, where it was asked for, colours of our own.
fn obeyed(bytes: &[u8], coloured: bool) -> Vec<char> {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut found = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let colour = || {
            let parameters = rest.as_str().strip_prefix('[')?;
            let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            parameters[end..].starts_with('m').then(|| &parameters[end + 1..])
        };
        match c {
            '\n' | '\t' => {}
            '\u{1b}' if coloured && let Some(left) = colour() => rest = left.chars(),
            c if c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => found.push(c),
            _ => {}
        }
    }
    found
}

/// Runs the command in a pipe, and as on a terminal that shows colours.
fn shows_no_control(place: &Place, arguments: &[&str], says: &str) -> Output {
    let plain = place.emend(arguments).output().unwrap();
    let coloured = place.emend(arguments).env("CLICOLOR_FORCE", "1").output().unwrap();
    for (output, in_colour) in [(&plain, false), (&coloured, true)] {
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            let found = obeyed(bytes, in_colour);
            let text = String::from_utf8_lossy(bytes);
            assert!(found.is_empty(), "{arguments:?} {name}: {found:?} in {text:?}");
        }
    }
    let all = [plain.stdout.as_slice(), &plain.stderr].concat();
    let all = String::from_utf8_lossy(&all);
    assert!(all.contains(says), "{arguments:?} does not say {says:?}: {all}");
    plain
}

/// A file whose title, headings and text are hostile, and one with such a name.
fn hostile_document(folder: &Path) {
    let name = [b"evil".as_slice(), HOSTILE.as_bytes(), b"\nforged: 1 ingested.md"].concat();
    let text = format!(
        "# Leave{HOSTILE}\n\nEvery employee{HOSTILE} has 25 days of paid leave a year{HOSTILE}. Leave is approved by the \
         lead.\n\n## Travel{HOSTILE}\n\nTrains are booked in second class.\n\n{FILLER}"
    );
    fs::write(folder.join("leave.md"), text).unwrap();
    // No document can have such a name, and the report shows why.
    fs::write(folder.join(std::ffi::OsStr::from_bytes(&name)), FILLER).unwrap();
}

#[test]
fn a_document_writes_nothing_to_the_terminal_but_text() {
    let place = Place::new();
    fs::remove_file(place.docs.path().join("leave.md")).unwrap();
    hostile_document(place.docs.path());
    // A document of JSON Lines names its own id, title and source.
    let line = serde_json::json!({
        "id": format!("id{HOSTILE}"), "title": format!("title{HOSTILE}"), "text": format!("Paid leave{HOSTILE} is 25 days a year.\n\n{FILLER}"),
    });
    fs::write(
        place.docs.path().join("more.jsonl"),
        format!("{line}\nnot json{HOSTILE}\n"),
    )
    .unwrap();
    let docs = place.docs.path().to_str().unwrap();
    for more in [
        &["-v"][..],
        &["-vv", "--graph", "corrective-rag"],
        &["--json"],
        &["--json=events"],
    ] {
        let arguments = [&["ask", "--docs", docs], more, &["--", ASKED]].concat();
        let output = shows_no_control(&place, &arguments, "25 days");
        assert_eq!(output.status.code(), Some(0));
    }
    let output = shows_no_control(&place, &["ask", "--json", "--docs", docs, "--", ASKED], "25 days");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let passages = result["documents"].to_string();
    let exact = serde_json::to_string("\u{9b}31m").unwrap();
    assert!(
        passages.contains(exact.trim_matches('"')),
        "JSON keeps the text as it is: {passages}"
    );
}

#[test]
fn names_of_files_that_are_stored_skipped_and_refused_are_shown_as_text() {
    let place = Place::new();
    hostile_document(place.docs.path());
    let name = [b"picture".as_slice(), HOSTILE.as_bytes(), b".png"].concat();
    fs::write(
        place.docs.path().join(std::ffi::OsStr::from_bytes(&name)),
        b"\x89PNG\0\0",
    )
    .unwrap();
    let name = [b"broken".as_slice(), HOSTILE.as_bytes(), b".pdf"].concat();
    fs::write(
        place.docs.path().join(std::ffi::OsStr::from_bytes(&name)),
        b"%PDF-1.4 broken",
    )
    .unwrap();
    let docs = place.docs.path().to_str().unwrap();
    for json in [&[][..], &["--json"]] {
        let arguments = [&["ingest", "-v", docs], json].concat();
        shows_no_control(&place, &arguments, "ingested");
    }
    let missing = format!("missing{HOSTILE}");
    shows_no_control(&place, &["ingest", &missing], "missing␛");
    let error = shows_no_control(&place, &["ask", "--json", "--docs", &missing, "--", ASKED], "missing");
    serde_json::from_slice::<serde_json::Value>(&error.stdout).unwrap();
}

#[test]
fn errors_of_graphs_and_options_are_shown_as_text() {
    let place = Place::new();
    let docs = place.docs.path().to_str().unwrap();
    let option = format!("opt{HOSTILE}=1");
    shows_no_control(
        &place,
        &["ask", "--docs", docs, "--option", &option, "--", ASKED],
        "opt␛",
    );
    let value = format!("max_count={HOSTILE}");
    shows_no_control(
        &place,
        &["ask", "--docs", docs, "--option", &value, "--", ASKED],
        "max_count",
    );
    let graph = format!("graph{HOSTILE}");
    shows_no_control(
        &place,
        &["ask", "--docs", docs, "--graph", &graph, "--", ASKED],
        "graph␛",
    );
    shows_no_control(&place, &["graph", "show", &graph], "graph␛");
    shows_no_control(&place, &["ask", &format!("--no-such{HOSTILE}")], "no-such");

    let escaped = HOSTILE.escape_unicode().to_string();
    let escaped: String = escaped.split("\\u{").skip(1).fold(String::new(), |all, code| {
        format!(
            "{all}\\u{:04X}",
            u32::from_str_radix(code.trim_end_matches('}'), 16).unwrap()
        )
    });
    let show = place
        .emend(&["graph", "show", "plain-rag", "--format", "yaml"])
        .output()
        .unwrap();
    let yaml = String::from_utf8(show.stdout).unwrap();
    let yaml = yaml.replacen("description: ", &format!("description: \"{escaped}\"\nx: "), 1);
    let file = place.docs.path().join("mine.yaml");
    fs::write(
        &file,
        yaml.replacen("nodes:", &format!("nodes:\n  \"n{escaped}\": {{ action: no }}"), 1),
    )
    .unwrap();
    let file = file.to_str().unwrap();
    for arguments in [&["graph", "check", file][..], &["graph", "show", file]] {
        shows_no_control(&place, arguments, "mine.yaml");
    }
    shows_no_control(&place, &["graph", "check", "--json", file], "findings");
    shows_no_control(
        &place,
        &["ask", "--docs", docs, "--graph-file", file, "--", ASKED],
        "mine.yaml",
    );
}

#[test]
fn what_is_stored_is_shown_as_text() {
    let place = Place::new();
    fs::remove_file(place.docs.path().join("leave.md")).unwrap();
    hostile_document(place.docs.path());
    let docs = place.docs.path().to_str().unwrap();
    shows_no_control(&place, &["ingest", docs], "ingested");
    let id = place.docs.path().join("leave.md");
    let id = id.to_str().unwrap();
    for json in [&[][..], &["--json"]] {
        let run = |arguments: &[&str], says: &str| shows_no_control(&place, &[arguments, json].concat(), says);
        run(&["documents", "list"], "leave.md");
        run(&["documents", "show", id], "25 days");
        run(&["documents", "show", "--chunks", id], "25 days");
        run(&["documents", "show", &format!("no{HOSTILE}")], "no");
        run(&["collections", "list"], "default");
        run(&["collections", "describe", "default"], "default");
        run(&["collections", "describe", &format!("no{HOSTILE}")], "no");
        run(&["collections", "repair", "default"], "");
    }
    shows_no_control(&place, &["collections", "export", "default"], "leave.md");
    shows_no_control(&place, &["collections", "import", &format!("no{HOSTILE}")], "no␛");
    shows_no_control(
        &place,
        &["collections", "delete", "-y", &format!("no{HOSTILE}")],
        "invalid request",
    );
    let found = ["ask", "-vv", "--graph", "plain-rag", "-c", "default", "--", ASKED];
    shows_no_control(&place, &found, "25 days");
}

#[test]
fn walks_and_what_is_said_of_them_are_shown_as_text() {
    let place = Place::new();
    fs::remove_file(place.docs.path().join("leave.md")).unwrap();
    hostile_document(place.docs.path());
    let docs = place.docs.path().to_str().unwrap();
    let asked = format!("{ASKED}{HOSTILE}");
    let walked = shows_no_control(&place, &["ask", "--json", "--docs", docs, "--", &asked], "25 days");
    let walk = place.data.path().join("walk.json");
    fs::write(&walk, &walked.stdout).unwrap();
    let walk = walk.to_str().unwrap();
    shows_no_control(&place, &["trace", walk], "retrieve");
    shows_no_control(&place, &["trace", &format!("no{HOSTILE}")], "no␛");
    let hostile = format!("no{HOSTILE}");
    for (more, says) in [
        (&[][..], "the path is that of the record"),
        (&["--threshold", "relevant=0.9999"], "relevant"),
        (&["--graph", "plain-rag"], "the path turned"),
        (&["--graph", &hostile], "no␛"),
        (&["--option", &format!("{hostile}=1")], "no␛"),
        (&["--json"], "events"),
    ] {
        shows_no_control(&place, &[&["replay", walk], more].concat(), says);
    }
    // A file of somebody else, whose walk says anything.
    let mut forged: serde_json::Value = serde_json::from_slice(&walked.stdout).unwrap();
    for (place, text) in [("graph", HOSTILE), ("reason", HOSTILE)] {
        forged[place] = text.into();
    }
    for step in forged["steps"].as_array_mut().unwrap() {
        for field in ["node", "action", "outcome", "summary", "error", "query"] {
            step[field] = format!("forged{HOSTILE}").into();
        }
    }
    for call in forged["record"]["calls"].as_array_mut().unwrap() {
        call["method"] = format!("forged{HOSTILE}").into();
    }
    let file = place.data.path().join("forged.json");
    fs::write(&file, forged.to_string()).unwrap();
    shows_no_control(&place, &["trace", file.to_str().unwrap()], "forged␛");
    shows_no_control(&place, &["replay", file.to_str().unwrap()], "");

    let folder = place.data.path().join("feedback");
    let folder = folder.to_str().unwrap();
    let record = [
        "feedback",
        "record",
        "--feedback-dir",
        folder,
        "--verdict",
        "right",
        "--question",
        &asked,
    ];
    let of_result = ["--result", walk, "--comment", HOSTILE, "--relevant", "1"];
    shows_no_control(&place, &[&record[..], &of_result].concat(), "");
    shows_no_control(&place, &[&record[..], &["--answer", HOSTILE, "--json"]].concat(), "id");
    shows_no_control(&place, &[&record[..], &["--result", &hostile]].concat(), "no␛");
    let out = place.data.path().join("pairs");
    let export = [
        "feedback",
        "export",
        "--feedback-dir",
        folder,
        "--out",
        out.to_str().unwrap(),
    ];
    shows_no_control(&place, &export, "1");
    shows_no_control(
        &place,
        &["feedback", "export", "--feedback-dir", &hostile, "--out", folder],
        "no␛",
    );
}

/// The colours of a text, in order.
fn colours(text: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(text).unwrap();
    let begun = text.split('\u{1b}').skip(1);
    begun.map(|rest| rest[..=rest.find('m').unwrap()].to_owned()).collect()
}

#[test]
fn a_colour_of_a_document_is_none_of_ours() {
    let clean = super::LEAVE.to_owned();
    let hostile = clean
        .replace("25 days", "\u{1b}[31m25 days\u{1b}[0m")
        .replace("# Leave", "# Leave\u{1b}[32m")
        .replace("Leave is approved", "\u{1b}[1mLeave is approved");
    let runs = [clean, hostile].map(|text| {
        let place = Place::new();
        fs::write(place.docs.path().join("leave.md"), text).unwrap();
        let docs = place.docs.path().to_str().unwrap();
        let run = |arguments: &[&str]| {
            let output = place.emend(arguments).env("CLICOLOR_FORCE", "1").output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", super::stderr(&output));
            [output.stdout, output.stderr]
        };
        let asked = run(&["ask", "-v", "--graph", "self-rag", "--docs", docs, "--", ASKED]);
        let walk = run(&["ask", "--json", "--graph", "self-rag", "--docs", docs, "--", ASKED]);
        let file = place.data.path().join("walk.json");
        fs::write(&file, &walk[0]).unwrap();
        run(&["ingest", docs]);
        let id = place.docs.path().join("leave.md");
        let shown = [
            asked,
            run(&["trace", file.to_str().unwrap()]),
            run(&["replay", file.to_str().unwrap()]),
            run(&["ask", "-vv", "--graph", "plain-rag", "-c", "default", "--", ASKED]),
            run(&["documents", "list"]),
            run(&["documents", "show", id.to_str().unwrap()]),
            run(&["documents", "show", "--chunks", id.to_str().unwrap()]),
        ];
        shown.map(|written| written.map(|text| colours(&text)))
    });
    let [clean, hostile] = runs;
    assert!(
        clean.iter().flatten().any(|colours| !colours.is_empty()),
        "nothing is coloured"
    );
    assert_eq!(hostile, clean);
}

#[test]
fn a_set_of_questions_is_measured_and_shown_as_text() {
    let (place, data) = (Place::new(), tempfile::tempdir().unwrap());
    let set = [b"set".as_slice(), HOSTILE.as_bytes()].concat();
    let write = |name: &str, line: serde_json::Value| {
        let name = [set.as_slice(), name.as_bytes()].concat();
        fs::write(
            data.path().join(std::ffi::OsStr::from_bytes(&name)),
            format!("{line}\n"),
        )
        .unwrap();
    };
    write(
        ".corpus_local.jsonl",
        serde_json::json!({"doc_id": "d", "title": HOSTILE, "text": format!("Leave{HOSTILE} is 25 days.")}),
    );
    write(
        ".questions.jsonl",
        serde_json::json!({"id": HOSTILE, "expect": "local", "question": "How long is leave?", "answers": ["25 days"],
            "gold_doc_ids": ["d"], "lang": "en"}),
    );
    let folder = data.path().to_str().unwrap();
    shows_no_control(
        &place,
        &["eval", "qa", "--data", folder, "--graphs", "plain-rag"],
        "invalid request",
    );
    shows_no_control(
        &place,
        &["eval", "qa", "--json", "--data", folder, "--graphs", "plain-rag"],
        "invalid request",
    );
    shows_no_control(
        &place,
        &["eval", "qa", "--data", folder, "--graphs", &format!("no{HOSTILE}")],
        "no␛",
    );
}
