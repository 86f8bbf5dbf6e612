use std::time::Duration;

use emend_proto::v1::{GradedPassage, Origin, Passage, Usage, WalkResult, WalkStatus};
use tonic::Status;

use super::*;
use crate::score::tests::{case, result};

fn graphs() -> Vec<String> {
    vec!["base".to_owned(), "other".to_owned()]
}

fn walk<'a>(case: &'a Case, graph: &'a str, result: WalkResult, ms: u64) -> Walk<'a> {
    Walk::judge(case, graph, Ok(result), Duration::from_millis(ms))
}

fn from_the_web(mut result: WalkResult) -> WalkResult {
    let passage = Passage {
        origin: Origin::Web.into(),
        ..Passage::default()
    };
    result.documents = vec![GradedPassage {
        passage: Some(passage),
        ..GradedPassage::default()
    }];
    result
}

fn kind<'a>(groups: &'a [Group], by: By, name: &str, expect: &str) -> &'a [Metrics] {
    let group = groups
        .iter()
        .find(|group| group.by == by && group.name == name)
        .unwrap();
    &group.kinds.iter().find(|kind| kind.expect == expect).unwrap().graphs
}

#[test]
fn what_was_done_rightly_and_wrongly_is_counted_by_kind() {
    let cases = [
        case("l1", "en", Expect::Local, &["x"]),
        case("l2", "en", Expect::Local, &["x"]),
        case("w1", "en", Expect::Web, &["x"]),
        case("n1", "en", Expect::None, &[]),
        case("a1", "en", Expect::Absent, &[]),
    ];
    let walks = [
        walk(
            &cases[0],
            "base",
            from_the_web(result(WalkStatus::Answered, "x", 2)),
            10,
        ),
        walk(&cases[1], "base", result(WalkStatus::Abstained, "", 4), 20),
        walk(
            &cases[2],
            "base",
            from_the_web(result(WalkStatus::Unverified, "not y", 9)),
            30,
        ),
        walk(&cases[3], "base", result(WalkStatus::Abstained, "", 1), 40),
        walk(&cases[4], "base", result(WalkStatus::Ungrounded, "x", 4), 1000),
    ];
    let groups = groups(&walks, &[], &graphs()[..1]);
    let all = &kind(&groups, By::All, "all", "all")[0];
    assert_eq!(all.questions, 5);
    assert_eq!(all.correct, Share::new(2, 5));
    assert_eq!(all.contains, Share::new(1, 3), "only of questions with an answer");
    assert_eq!(all.exact, Share::new(1, 3));
    assert!((all.f1.unwrap() - 1.0 / 3.0).abs() < 1e-12, "{:?}", all.f1);
    assert_eq!(
        Ending::ALL.map(|ending| all.ending(ending).count),
        [1, 1, 1, 2, 0],
        "answered, unverified, ungrounded, abstained, failed"
    );
    assert_eq!(all.abstained_rightly, Share::new(1, 2));
    assert_eq!(all.abstained_wrongly, Share::new(1, 3));
    assert_eq!(all.web_rightly, Share::new(1, 1));
    assert_eq!(all.web_wrongly, Share::new(1, 2));
    assert_eq!((all.steps_mean, all.steps_max), (Some(4.0), 9));
    assert_eq!((all.latency_p50_ms, all.latency_p95_ms), (Some(30.0), Some(1000.0)));
    assert!(all.difference.is_none());

    let kinds: Vec<_> = groups[0].kinds.iter().map(|kind| kind.expect).collect();
    assert_eq!(kinds, ["local", "web", "none", "absent", "all"]);
    let local = &kind(&groups, By::All, "all", "local")[0];
    assert_eq!((local.correct, local.abstained_rightly.share), (Share::new(1, 2), None));
    let none = &kind(&groups, By::All, "all", "none")[0];
    assert_eq!((none.correct, none.f1), (Share::new(1, 1), None));
}

#[test]
fn a_failure_is_not_correct_and_costs_nothing() {
    let cases = [
        case("1", "en", Expect::Local, &["x"]),
        case("2", "en", Expect::None, &[]),
    ];
    let mut answered = result(WalkStatus::Answered, "x", 6);
    answered.usage = Some(Usage {
        model_calls: 3,
        input_tokens: 100,
        output_tokens: 20,
    });
    let walks = [
        walk(&cases[0], "base", answered, 10),
        Walk::judge(
            &cases[1],
            "base",
            Err(Status::internal("gone")),
            Duration::from_secs(60),
        ),
    ];
    let groups = groups(&walks, &[], &graphs()[..1]);
    let all = &kind(&groups, By::All, "all", "all")[0];
    assert_eq!((all.correct, all.errors), (Share::new(1, 2), Share::new(1, 2)));
    assert_eq!((all.steps_mean, all.latency_p95_ms), (Some(6.0), Some(10.0)));
    assert_eq!((all.model_calls_mean, all.tokens_mean), (Some(3.0), Some(120.0)));
}

#[test]
fn the_difference_is_over_the_questions_that_both_walked() {
    let ids = ["1", "2", "3", "4"];
    let cases = ids.map(|id| case(id, "en", Expect::Local, &["x"]));
    let right = || result(WalkStatus::Answered, "x", 1);
    let wrong = || result(WalkStatus::Answered, "y", 1);
    let walks = [
        walk(&cases[0], "base", right(), 1),
        walk(&cases[1], "base", wrong(), 1),
        walk(&cases[2], "base", wrong(), 1),
        // In any order, and without the first: what the baseline alone got right does not count against it.
        walk(&cases[2], "other", right(), 1),
        walk(&cases[1], "other", right(), 1),
        walk(&cases[3], "other", right(), 1),
    ];
    let groups = groups(&walks, &[], &graphs());
    let all = kind(&groups, By::All, "all", "all");
    assert!(all[0].difference.is_none(), "the first is the baseline");
    let difference = all[1].difference.unwrap();
    assert_eq!((difference.questions, difference.better, difference.worse), (2, 2, 0));
    assert!((difference.points - 100.0).abs() < 1e-9);
    assert!(difference.low < difference.points && difference.high >= difference.points - 1e-9);
}

#[test]
fn sets_and_languages_are_apart() {
    let mut cases = [
        case("1", "en", Expect::Local, &["x"]),
        case("1", "ko", Expect::Local, &["가"]),
        case("2", "ko", Expect::None, &[]),
    ];
    cases[1].set = "other".to_owned();
    cases[2].set = "other".to_owned();
    let walks: Vec<_> = cases
        .iter()
        .map(|case| walk(case, "base", result(WalkStatus::Answered, "x", 1), 1))
        .collect();
    let ranked = [
        Ranked {
            case: &cases[0],
            rank: Ok(Some(0)),
        },
        Ranked {
            case: &cases[1],
            rank: Ok(Some(4)),
        },
    ];
    let groups = groups(&walks, &ranked, &graphs()[..1]);
    let names: Vec<_> = groups.iter().map(|group| (group.by, group.name.as_str())).collect();
    assert_eq!(
        names,
        [
            (By::All, "all"),
            (By::Set, "made-up"),
            (By::Set, "other"),
            (By::Lang, "en"),
            (By::Lang, "ko")
        ]
    );
    let count = |by, name| kind(&groups, by, name, "all")[0].correct;
    assert_eq!(count(By::Set, "made-up"), Share::new(1, 1));
    assert_eq!(count(By::Set, "other"), Share::new(0, 2));
    assert_eq!(count(By::Lang, "ko"), Share::new(0, 2));
    let hits: Vec<_> = groups
        .iter()
        .map(|group| (group.retrieval.hit_at_1, group.retrieval.hit_at_5))
        .collect();
    assert_eq!(hits[0], (Share::new(1, 2), Share::new(2, 2)));
    assert_eq!(hits[2], (Share::new(0, 1), Share::new(1, 1)));
}

#[test]
fn a_search_that_failed_is_no_miss() {
    let local = case("1", "en", Expect::Local, &["x"]);
    let ranks = [Ok(Some(1)), Ok(None), Err("gone".to_owned())];
    let ranked = ranks.map(|rank| Ranked { case: &local, rank });
    let found = Retrieval::of(&ranked.iter().collect::<Vec<_>>());
    assert_eq!((found.hit_at_1, found.hit_at_5), (Share::new(0, 2), Share::new(1, 2)));
    assert_eq!(found.errors, 1);
}

#[test]
fn the_most_frequent_failures_come_first_and_are_few() {
    let cases: Vec<_> = (0..7)
        .map(|number| case(&number.to_string(), "en", Expect::None, &[]))
        .collect();
    let messages = ["a", "b", "c", "d", "d", "c", "d"];
    let failed = |(case, message)| Walk::judge(case, "base", Err(Status::internal(message)), Duration::ZERO);
    let walks: Vec<_> = cases.iter().zip(messages).map(failed).collect();
    let found: Vec<_> = failures(&walks, &graphs())
        .into_iter()
        .map(|failure| (failure.graph, failure.message, failure.walks))
        .collect();
    let expected = [("Internal: d", 3), ("Internal: c", 2), ("Internal: a", 1)];
    let expected = expected.map(|(message, walks)| ("base".to_owned(), message.to_owned(), walks));
    assert_eq!(found, expected);
}

#[test]
fn a_quantile_is_one_of_the_values() {
    let values: Vec<f64> = (1..=20).map(f64::from).collect();
    assert_eq!(quantile(&values, 0.5), Some(10.0));
    assert_eq!(quantile(&values, 0.95), Some(19.0));
    assert_eq!(quantile(&values, 1.0), Some(20.0));
    assert_eq!(quantile(&[7.0], 0.05), Some(7.0));
    assert_eq!(quantile(&[], 0.5), None);
}
