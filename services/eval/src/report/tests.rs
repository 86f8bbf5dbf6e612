use std::{collections::BTreeSet, num::NonZeroUsize};

use emend_proto::v1::{GradedPassage, Origin, Passage, WalkStatus};
use html5ever::tendril::TendrilSink as _;
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::*;
use crate::{
    data::{Case, Expect},
    score::tests::{case, result},
};

const GRAPHS: [&str; 2] = ["plain-rag", "self-corrective-rag"];

/// A question that would do harm on a page, and an answer that would on a terminal.
const HOSTILE: &str = "Who wrote <script>alert(1)</script> & \"that\"?";

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (set, lang, expect, answer, count) in [
        ("village", "en", Expect::Local, "1873", 12),
        ("village", "en", Expect::Web, "Lund", 6),
        ("village", "en", Expect::None, "", 6),
        ("마을", "ko", Expect::Local, "등대", 5),
        ("마을", "ko", Expect::Absent, "등대", 3),
        ("마을", "en", Expect::Web, "lighthouse", 1),
    ] {
        for number in 1..=count {
            let id = format!("{}-{number}", expect.name());
            let mut one = case(&id, lang, expect, &[answer]);
            set.clone_into(&mut one.set);
            if lang == "en" && number == 1 {
                HOSTILE.clone_into(&mut one.question);
            }
            cases.push(one);
        }
    }
    cases
}

/// The baseline answers everything and every second right; the other walks longer, abstains and uses the web.
fn walks(cases: &[Case]) -> Vec<Walk<'_>> {
    let mut walks = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let answer = match (index % 2, case.lang.as_str()) {
            (0, "ko") => "등대는 마을에 있다.".to_owned(),
            (0, _) => "It was built by Lund in １８７３.".to_owned(),
            _ => format!("</td><script>x</script>\u{1b}[31m{index}"),
        };
        let found = result(WalkStatus::Answered, &answer, 2);
        let took = Duration::from_millis(40 + index as u64);
        walks.push(Walk::judge(case, GRAPHS[0], Ok(found), took));
        let outcome = match case.expect {
            Expect::Local if index == 3 => Err(Status::unavailable("the <grader> is gone\u{1b}[2J")),
            Expect::Local if index % 5 == 4 => Ok(result(WalkStatus::Unverified, &answer, 11)),
            Expect::Local => Ok(result(WalkStatus::Answered, "등대 1873", 4)),
            Expect::Web => {
                let mut found = result(WalkStatus::Answered, "Ansgar Lund", 9);
                let passage = Passage {
                    origin: Origin::Web.into(),
                    ..Passage::default()
                };
                found.documents = vec![GradedPassage {
                    passage: Some(passage),
                    ..GradedPassage::default()
                }];
                Ok(found)
            }
            Expect::None | Expect::Absent => Ok(result(WalkStatus::Abstained, "The documents do not say.", 7)),
        };
        let took = Duration::from_millis(300 + 10 * index as u64);
        walks.push(Walk::judge(case, GRAPHS[1], outcome, took));
    }
    walks
}

fn plan() -> Plan {
    let graphs = GRAPHS.map(str::to_owned).to_vec();
    Plan::new(graphs, NonZeroUsize::MIN.saturating_add(3), CancellationToken::new()).unwrap()
}

fn backends() -> Backends {
    Backends {
        embedder: "hashed".to_owned(),
        generator: "embedded".to_owned(),
        grader: "embedded".to_owned(),
        rewriter: "embedded".to_owned(),
        llm_model: None,
    }
}

fn report(walks: &[Walk<'_>], cases: &[Case], partial: bool) -> Report {
    let command = [
        "/bin/emend",
        "eval",
        "qa",
        "--data",
        "it's here",
        "--llm-api-key",
        "sk-1",
    ];
    let command = command.map(str::to_owned).into_iter();
    let timeout = Duration::from_secs(60);
    let run = Run::new(&plan(), timeout, backends(), command, SystemTime::UNIX_EPOCH, partial);
    assert_eq!(run.date, "1970-01-01T00:00:00Z");
    let set = |name: &str, questions: usize, available: usize| SetReport {
        name: name.to_owned(),
        questions,
        available,
        documents: 30,
        new_passages: 45,
        ingest_seconds: 1.5,
    };
    let sets = vec![set("village", 24, 500), set("마을", 9, 9)];
    let local = cases.iter().filter(|case| case.expect == Expect::Local);
    let ranked: Vec<_> = local
        .enumerate()
        .map(|(index, case)| Ranked {
            case,
            rank: Ok((index % 4 != 3).then_some(index % 3)),
        })
        .collect();
    let mut speed = Vec::new();
    for (set, walks) in [("village", 24), ("마을", 9)] {
        speed.push(Speed::new(set, GRAPHS[0], walks, Duration::from_secs(2)));
        speed.push(Speed::new(set, GRAPHS[1], walks, Duration::from_secs(8)));
    }
    Report::new(run, sets, walks, &ranked, speed)
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn the_table_fits_a_terminal() {
    let cases = cases();
    let walks = walks(&cases);
    let coloured = table::text(&report(&walks, &cases, false));
    let text = plain(&coloured);
    assert!(coloured.contains("\u{1b}[1m"), "bold where there are colours");
    assert!(!text.contains('\u{1b}'), "and nothing from a service");
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_partial_report_says_so() {
    let cases = cases();
    let walks = walks(&cases);
    let some = report(&walks[..5], &cases, true);
    assert!(plain(&table::text(&some)).starts_with("partial: "));
    assert!(html::page(&some, &walks[..5]).unwrap().contains("Partial: "));
    assert_eq!(serde_json::to_value(&some).unwrap()["partial"], true);
    let all = report(&walks, &cases, false);
    assert!(!plain(&table::text(&all)).contains("partial"));
    assert!(!html::page(&all, &walks).unwrap().contains("Partial"));
}

#[test]
fn a_language_that_is_just_a_set_is_not_shown_twice() {
    let mixed = cases();
    let shown = |cases: &[Case]| {
        let walks = walks(cases);
        let report = report(&walks, cases, false);
        report.shown().map(|group| group.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&mixed), ["all", "village", "마을", "en", "ko"]);
    let mut apart = mixed;
    apart.retain(|case| (case.set == "village") == (case.lang == "en"));
    assert_eq!(shown(&apart), ["all", "village", "마을"]);
    apart.retain(|case| case.lang == "en");
    assert_eq!(shown(&apart), ["all"]);
}

/// Every key with the way to it.
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                found.insert(format!("{path}.{key}"));
                keys(value, &format!("{path}.{key}"), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, &format!("{path}[]"), found)),
        _ => {}
    }
}

#[test]
fn the_keys_of_the_json_are_stable() {
    let cases = cases();
    let walks = walks(&cases);
    let json = serde_json::to_value(report(&walks, &cases, false)).unwrap();
    let mut found = BTreeSet::new();
    keys(&json, "", &mut found);
    keys(&serde_json::to_value(&walks[0]).unwrap(), "(line)", &mut found);
    insta::assert_snapshot!(found.into_iter().collect::<Vec<_>>().join("\n"));
    assert_eq!(json["schema"], 2);
    let metrics = &json["groups"][0]["kinds"][0];
    assert_eq!(metrics["expect"], "local");
    assert_eq!(metrics["graphs"][0]["graph"], "plain-rag");
    assert_eq!(metrics["graphs"][0]["correct"]["of"], 17);
}

#[test]
fn secrets_are_not_in_the_command() {
    let words = |words: &[&str]| shown(words.iter().map(|&word| word.to_owned()));
    assert_eq!(
        words(&[
            "/x/emend",
            "--llm-api-key",
            "sk-1",
            "--data",
            "a b",
            "--embedder-api-key=sk-2",
            "it's"
        ]),
        "emend --llm-api-key *** --data 'a b' --embedder-api-key=*** 'it'\\''s'"
    );
    assert_eq!(words(&["emend", "--llm-api-key"]), "emend --llm-api-key");
    assert_eq!(
        words(&[
            "emend",
            "--llm-url",
            "http://u:hidden@host/v1",
            "--embedder-url=http://u:hidden@host/v1"
        ]),
        "emend --llm-url http://host/v1 --embedder-url=http://host/v1"
    );
}

/// A page as a browser reads it, and what it found wrong.
fn parse(page: &str) -> RcDom {
    let sink = html5ever::parse_document(RcDom::default(), html5ever::ParseOpts::default());
    sink.one(page)
}

/// The elements of a name, in order.
fn elements(node: &Handle, name: &str, found: &mut Vec<Handle>) {
    if let NodeData::Element { name: own, .. } = &node.data
        && &*own.local == name
    {
        found.push(node.clone());
    }
    for child in node.children.borrow().iter() {
        elements(child, name, found);
    }
}

fn all(node: &Handle, name: &str) -> Vec<Handle> {
    let mut found = Vec::new();
    elements(node, name, &mut found);
    found
}

fn attribute(node: &Handle, name: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    let attrs = attrs.borrow();
    let found = attrs.iter().find(|attribute| &*attribute.name.local == name);
    found.map(|attribute| attribute.value.to_string())
}

fn said(node: &Handle) -> String {
    let mut text = match &node.data {
        NodeData::Text { contents } => contents.borrow().to_string(),
        _ => String::new(),
    };
    for child in node.children.borrow().iter() {
        text.push_str(&said(child));
    }
    text
}

#[test]
fn the_page_is_whole_and_nothing_on_it_runs() {
    let cases = cases();
    let walks = walks(&cases);
    let report = report(&walks, &cases, false);
    let page = html::page(&report, &walks).unwrap();
    let dom = parse(&page);
    assert!(dom.errors.borrow().is_empty(), "{:?}", dom.errors.borrow());
    let document = &dom.document;
    for name in ["script", "link", "img", "iframe", "object"] {
        assert!(all(document, name).is_empty(), "{name}");
    }
    assert!(!page.contains("://"), "nothing is fetched");
    assert!(!page.contains('\u{1b}'));

    let rows = all(document, "table")
        .into_iter()
        .find(|table| attribute(table, "id").as_deref() == Some("wrong"))
        .map(|table| all(&all(&table, "tbody")[0], "tr"))
        .unwrap();
    let wrong: Vec<_> = walks.iter().filter(|walk| !walk.correct).collect();
    assert_eq!(rows.len(), wrong.len());
    let texts: Vec<_> = rows.iter().map(said).collect();
    let hostile = texts.iter().find(|text| text.contains(HOSTILE)).unwrap();
    assert!(hostile.contains("village"), "{hostile}");
    assert!(
        texts.iter().any(|text| text.contains("</td><script>x</script>")),
        "shown as it was written"
    );
    for walk in wrong {
        let row = texts
            .iter()
            .find(|text| text.contains(walk.graph) && text.contains(&format!("{} {}", walk.case.set, walk.case.id)))
            .unwrap();
        assert!(row.contains(walk.status.name()), "{row}");
    }
    assert!(said(document).contains("the <grader> is gone"));
    assert!(said(document).contains("'it'\\''s here'") && !page.contains("sk-1"));
}

#[test]
fn every_plot_says_what_it_shows_and_has_its_numbers() {
    let cases = cases();
    let walks = walks(&cases);
    let page = html::page(&report(&walks, &cases, false), &walks).unwrap();
    let dom = parse(&page);
    let figures = all(&dom.document, "figure");
    assert_eq!(figures.len(), 3);
    let mut ids = BTreeSet::new();
    for figure in &figures {
        let svg = &all(figure, "svg")[0];
        let labelled = attribute(svg, "aria-labelledby").unwrap();
        for (id, name) in labelled.split(' ').zip(["title", "desc"]) {
            let of = all(svg, name);
            assert_eq!(attribute(&of[0], "id").as_deref(), Some(id));
            assert!(!said(&of[0]).is_empty());
            assert!(ids.insert(id.to_owned()), "{id} is there twice");
        }
        let rows = all(&all(figure, "tbody")[0], "tr");
        assert!(rows.len() > 1);
    }
    let bars = said(&figures[0]);
    assert!(bars.contains("local, plain-rag: ") && bars.contains("absent"), "{bars}");
    assert!(said(&figures[1]).contains("self-corrective-rag, abstained: "));
}

#[test]
fn a_long_list_of_wrong_questions_is_cut_evenly() {
    let many: Vec<_> = (0..300)
        .map(|number| case(&format!("{number:03}"), "en", Expect::Local, &["x"]))
        .collect();
    let mut walks = Vec::new();
    for case in &many {
        let wrong = || Ok(result(WalkStatus::Answered, "y", 1));
        walks.push(Walk::judge(case, GRAPHS[0], wrong(), Duration::ZERO));
        walks.push(Walk::judge(case, GRAPHS[1], wrong(), Duration::ZERO));
    }
    let page = html::page(&report(&walks, &many, false), &walks).unwrap();
    let dom = parse(&page);
    let table = all(&dom.document, "table").pop().unwrap();
    let rows = all(&all(&table, "tbody")[0], "tr");
    let of = |graph: &str| rows.iter().filter(|row| said(row).contains(graph)).count();
    assert_eq!((of(GRAPHS[0]), of(GRAPHS[1])), (100, 100));
    assert!(said(&dom.document).contains("200 of 600, spread evenly over the graphs"));
}
