use clap::Parser as _;

use super::*;
use crate::args::{Arguments, Command, name_and_value};

fn parsed(line: &[&str]) -> AskOptions {
    let arguments = Arguments::parse_from([&["emend", "ask"], line].concat());
    let Command::Ask(options) = arguments.command else {
        panic!("not ask")
    };
    *options
}

#[test]
fn an_option_needs_a_name_and_a_number() {
    assert_eq!(name_and_value("max_count=2"), Ok(("max_count".to_owned(), 2.0)));
    assert!(name_and_value("max_count").is_err_and(|e| e.contains("NAME=VALUE")));
    assert!(name_and_value("max_count=two").is_err_and(|e| e.contains("not a number")));
}

#[test]
fn the_web_is_on_unless_it_is_switched_off() {
    assert_eq!(parsed(&["why?"]).web, Web::On);
    assert_eq!(parsed(&["--web", "on", "why?"]).web, Web::On);
    assert_eq!(parsed(&["--web", "off", "why?"]).web, Web::Off);
    let wrong = Arguments::try_parse_from(["emend", "ask", "--web", "no", "why?"])
        .unwrap_err()
        .to_string();
    assert!(wrong.contains("'no'") && wrong.contains("off"), "{wrong}");
}

#[test]
fn json_alone_means_the_result_and_leaves_the_question_alone() {
    let options = parsed(&["--json", "why?"]);
    assert_eq!(
        (options.json, options.question.as_deref()),
        (Some(Json::Result), Some("why?"))
    );
}

fn asked(line: &[&str]) -> Result<(String, Vec<PathBuf>), String> {
    let (question, docs) = parsed(line).question_and_docs()?;
    Ok((question.unwrap(), docs))
}

#[test]
fn the_last_word_after_docs_is_the_question() {
    let expected = Ok(("why?".to_owned(), vec![PathBuf::from("a.md"), PathBuf::from("b.md")]));
    assert_eq!(asked(&["--docs", "a.md", "b.md", "why?"]), expected);
    assert_eq!(asked(&["--docs", "a.md", "b.md", "--", "why?"]), expected);
    assert_eq!(asked(&["why?", "--docs", "a.md", "b.md"]), expected);
    assert_eq!(
        asked(&["--docs", "a.md", "b.md", "--graph", "self-rag", "why?"]),
        expected
    );
    assert_eq!(asked(&["--docs", "a.md", "--docs", "b.md", "--", "why?"]), expected);
}

#[test]
fn a_path_is_no_question() {
    let here = env!("CARGO_MANIFEST_DIR");
    assert!(asked(&["--docs", "why?"]).is_err_and(|error| error.contains("no question")));
    assert!(asked(&["--docs", "a.md", here]).is_err_and(|error| error.contains("no question")));
}

#[test]
fn an_empty_word_is_an_empty_question_and_no_path() {
    assert_eq!(
        asked(&["--docs", "a.md", ""]),
        Ok((String::new(), vec![PathBuf::from("a.md")]))
    );
    assert!(asked(&["--docs", "", "--", "why?"]).is_err_and(|error| error.contains("empty path")));
    assert_eq!(asked(&["--docs", "a.md", "-"]).unwrap().0, "-");
}

#[test]
fn a_budget_is_what_was_given_and_nothing_else() {
    assert_eq!(parsed(&["why?"]).budget.message(), None);
    let options = parsed(&["--max-web-searches", "0", "--max-time", "1m 30s", "why?"]);
    let budget = options.budget.message().unwrap();
    assert_eq!((budget.web_searches, budget.steps), (Some(0), None));
    assert_eq!(budget.time.unwrap().seconds, 90);
}

#[test]
fn the_deadline_leaves_the_budget_its_time_unless_it_was_given() {
    assert_eq!(parsed(&["why?"]).deadline(), DEFAULT_TIMEOUT);
    assert_eq!(parsed(&["--max-time", "10s", "why?"]).deadline(), DEFAULT_TIMEOUT);
    let long = parsed(&["--max-time", "2m", "why?"]).deadline();
    assert_eq!(long, Duration::from_secs(125));
    let short = parsed(&["--max-time", "2m", "--timeout", "3s", "why?"]).deadline();
    assert_eq!(short, Duration::from_secs(3));
}

#[test]
fn a_budget_that_allows_nothing_is_refused() {
    for wrong in [["--max-steps", "0"], ["--max-time", "0s"], ["--max-time", "soon"]] {
        let line = [&["emend", "ask"], &wrong[..], &["why?"]].concat();
        assert!(Arguments::try_parse_from(line).is_err(), "{wrong:?}");
    }
    let line = [
        "emend",
        "ask",
        "--graph",
        "self-rag",
        "--graph-file",
        "mine.yaml",
        "why?",
    ];
    assert!(Arguments::try_parse_from(line).is_err());
}
