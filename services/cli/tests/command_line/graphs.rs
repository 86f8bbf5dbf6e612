//! Graphs by name and by file: checked, listed, walked and drawn.

use std::fs;

use super::{ASKED, Place, stderr, stdout};

#[test]
fn a_graph_file_with_a_mistake_is_refused_with_its_line() {
    let place = Place::new();
    let output = place
        .emend(&["graph", "show", "--format", "yaml", "self-rag"])
        .output()
        .unwrap();
    let yaml = stdout(&output);
    let file = place.docs.path().join("mine.yaml");
    fs::write(&file, &yaml).unwrap();
    let output = place
        .emend(&["graph", "check", file.to_str().unwrap()])
        .output()
        .unwrap();
    let lines: Vec<String> = stdout(&output)
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for expected in [
        "steps 28 3·max_count + 5·max_retries + 4",
        "model calls 46 top_k·max_count + top_k·max_retries + top_k + max_count + 4·max_retries + 3",
        "web searches 0",
        "with top_k=4 max_count=3 max_retries=3 recursion_limit=50",
    ] {
        assert!(
            lines.iter().any(|line| line == expected),
            "`{expected}` is not in {lines:#?}"
        );
    }

    fs::write(&file, yaml.replace("none_relevant:", "none_relevent:")).unwrap();
    let output = place
        .emend(&["graph", "check", file.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("mine.yaml:") && stderr(&output).contains("none_relevant"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_graph_is_checked_by_name_for_the_options_in_force_and_as_json() {
    let place = Place::new();
    let check = |more: &[&str]| {
        let arguments = [&["graph", "check", "self-rag", "--json"], more].concat();
        let output = place.emend(&arguments).output().unwrap();
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let figures = |out: &str| -> serde_json::Value { serde_json::from_str(out).unwrap() };
    let (code, out, err) = check(&["--option", "max_count=0", "-o", "max_retries=0"]);
    assert_eq!(code, Some(0), "{err}");
    let checked = figures(&out);
    assert_eq!(checked["worstCase"]["steps"], "4", "{out}");
    assert_eq!(checked["worstCase"]["modelCalls"], "7", "{out}");
    assert_eq!(checked["options"]["max_count"], 0.0, "{out}");
    assert_eq!(
        figures(&check(&[]).1)["worstCase"]["stepsFormula"],
        "3·max_count + 5·max_retries + 4"
    );
    let (code, _, err) = check(&["--option", "max_cuont=1"]);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("max_cuont") && err.contains("did you mean `max_count`"),
        "{err}"
    );

    let file = place.docs.path().join("mine.yaml");
    fs::write(
        &file,
        "name: mine\ndescription: x\nstart: nowhere\nnodes: {}\nedges: {}\n",
    )
    .unwrap();
    let output = place
        .emend(&["graph", "check", "--json", file.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let findings = &figures(&stdout(&output))["findings"];
    assert!(
        findings.as_array().is_some_and(|findings| !findings.is_empty()),
        "{findings}"
    );
}

#[test]
fn formulas_and_options_are_listed_with_the_graphs() {
    let place = Place::new();
    let list = stdout(&place.emend(&["graph", "list"]).output().unwrap());
    assert!(
        list.contains("at most 28 steps (3·max_count + 5·max_retries + 4), 46 model calls (top_k·max_count"),
        "{list}"
    );
    assert!(list.contains("upper_threshold=calibrated"), "{list}");
    let shown = stdout(&place.emend(&["graph", "show", "corrective-rag"]).output().unwrap());
    assert!(shown.contains("3·top_k + 4") && shown.contains("calibrated"), "{shown}");
}

/// A graph file of one's own: `plain-rag` under another name, with another number of passages.
pub(super) fn own_graph(place: &Place) -> String {
    let shown = place
        .emend(&["graph", "show", "--format", "yaml", "plain-rag"])
        .output()
        .unwrap();
    let file = place.data.path().join("mine.yaml");
    let yaml = stdout(&shown).replace("name: plain-rag", "name: mine");
    fs::write(&file, yaml.replace("default: 4", "default: 2")).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_graph_file_of_ones_own_is_walked_and_a_wrong_one_is_refused_before_anything_else() {
    let place = Place::new();
    let file = own_graph(&place);
    let output = place.ask(&["--graph-file", &file, "--json", "--", ASKED]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        (&result["graph"], &result["options"]["top_k"]),
        (&"mine".into(), &2.0.into())
    );

    let yaml = fs::read_to_string(&file).unwrap();
    let wrong = yaml
        .replace("start: retrieve", "start: retreive")
        .replace("{action: generate}", "{action: genrate}");
    fs::write(&file, wrong).unwrap();
    let output = place.ask(&["--graph-file", &file, "--", ASKED]);
    let err = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{err}");
    for expected in ["mine.yaml:10: unknown node `retreive`", "mine.yaml:14: node `generate`"] {
        assert!(
            err.lines().any(|line| line.contains(expected)),
            "no `{expected}` in {err}"
        );
    }
    assert!(err.starts_with(&file) && !err.contains("documents:"), "{err}");
    let output = place.ask(&["--graph-file", &file, "--graph", "self-rag", "--", ASKED]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_walk_is_drawn_on_its_graph_and_on_no_other() {
    let place = Place::new();
    for json in ["--json", "--json=events"] {
        let walked = place.ask(&["--graph", "self-rag", json, "--", ASKED]);
        let file = place.data.path().join("walk.json");
        fs::write(&file, &walked.stdout).unwrap();
        let show = |graph: &str, more: &[&str]| {
            let file = file.to_str().unwrap();
            let arguments = [&["graph", "show", graph, "--walk", file], more].concat();
            place.emend(&arguments).output().unwrap()
        };
        let drawn = show("self-rag", &[]);
        let chart = stdout(&drawn);
        assert_eq!(drawn.status.code(), Some(0), "{}", stderr(&drawn));
        for expected in [
            "retrieve[\"retrieve<br/>step 1\"]",
            "generate -- \"step 3: generated\" --> grade_generation",
            "class retrieve,grade_documents,generate,grade_generation,finish_answered visited",
            "linkStyle 0,1,3,8,12 ",
        ] {
            assert!(chart.contains(expected), "no `{expected}` in {chart}");
        }
        let other = show("plain-rag", &[]);
        assert_eq!(other.status.code(), Some(1));
        assert!(
            stderr(&other).contains("`self-rag`") && stderr(&other).contains("`plain-rag`"),
            "{}",
            stderr(&other)
        );
        assert_eq!(show("self-rag", &["--format", "yaml"]).status.code(), Some(2));
    }
}
