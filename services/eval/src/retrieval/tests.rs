use std::path::PathBuf;

use super::*;

/// Finds the document that a query names, second in a dense search and first in any other; fails on `broken`.
struct Named;

impl Searcher for Named {
    async fn retrieve(&self, request: RetrieveRequest) -> Result<Vec<Passage>, Status> {
        assert_eq!((request.collection.as_str(), request.top_k), ("notes", Some(10)));
        if request.query == "broken" {
            return Err(Status::unavailable("no"));
        }
        let passage = |id: &str| Passage {
            document_id: id.to_owned(),
            ..Passage::default()
        };
        let mut found = vec![passage(&request.query), passage("other")];
        if request.mode() == SearchMode::Dense {
            found.reverse();
        }
        Ok(found)
    }
}

fn case(question: &str, gold: &str, expect: Expect) -> Case {
    Case {
        set: "set".to_owned(),
        id: question.to_owned(),
        lang: "en".to_owned(),
        question: question.to_owned(),
        gold_doc_ids: vec![gold.to_owned()],
        expect,
        ..Case::default()
    }
}

async fn rows() -> Vec<Row> {
    let set = QuestionSet {
        name: "set".to_owned(),
        cases: vec![
            case("a", "a", Expect::Local),
            case("b", "elsewhere", Expect::Local),
            case("broken", "a", Expect::Local),
            case("c", "c", Expect::Web),
        ],
        local: PathBuf::new(),
        web: None,
    };
    let modes = [SearchMode::Dense, SearchMode::Sparse];
    let concurrent = NonZeroUsize::new(2).unwrap();
    measure(
        &Named,
        &set,
        "notes",
        &modes,
        concurrent,
        &CancellationToken::new(),
        &(),
    )
    .await
}

#[tokio::test]
async fn each_mode_is_measured_on_the_local_questions() {
    let rows = rows().await;
    let figures: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row.mode,
                row.questions,
                row.hit_at_1,
                row.hit_at_5,
                row.mrr_at_10,
                row.errors,
            )
        })
        .collect();
    assert_eq!(
        figures,
        [
            ("dense", 2, Some(0.0), Some(0.5), Some(0.25), 1),
            ("sparse", 2, Some(0.5), Some(0.5), Some(0.5), 1),
        ]
    );
}

#[tokio::test]
async fn several_sets_have_a_mean_and_a_line_each() {
    let mut all = rows().await;
    let mut others = rows().await;
    for row in &mut others {
        row.set = "another".to_owned();
        row.hit_at_5 = Some(1.0);
    }
    all.extend(others);
    let report = Report::new(all);
    assert!(!report.is_empty());
    let means: Vec<_> = report.rows.iter().filter(|row| row.set == "mean").collect();
    assert_eq!(means.len(), 2);
    assert_eq!((means[0].mode, means[0].hit_at_5), ("dense", Some(0.75)));
    let text = report.text();
    assert_eq!(text.lines().count(), 7, "{text}");
    assert!(text.contains("another  sparse") && text.contains("0.750"), "{text}");
}
