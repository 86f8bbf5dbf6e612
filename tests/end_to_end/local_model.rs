//! Walks whose grader, generator and rewriter ask a language model in this process: one with random weights, whose text is
//! noise, and one that never says a word. What they are for is that every walk ends, within its bound, and says what it
//! could not grade.

use std::path::Path;

use emend_cli::cluster::{Component, Plan};
use emend_proto::v1::{
    GradeDocumentsRequest, GradeGroundednessRequest, GradeUsefulnessRequest, ListGraphsRequest, Passage, Relevance,
    RewritePurpose, RewriteRequest, Support, WalkResult, WalkStatus, rewriter_service_client::RewriterServiceClient,
};
use emend_testkit::tiny_gguf::Tiny;
use emend_tests::{Fixture, question};

const LIGHTHOUSE: &str = "The Torvik lighthouse was built in 1873 by the engineer Ansgar Lund. It stands on a granite \
    skerry north of the harbour.";
const BAKERY: &str = "The village bakery sells rye bread on Tuesdays.";
const QUESTION: &str = "Who built the Torvik lighthouse in 1873?";

/// A village whose services ask the model in this file.
#[expect(clippy::expect_used, reason = "what a test cannot have fails it")]
async fn village(model: &Path, grader: &str) -> Fixture {
    let model = model.to_str().expect("a UTF-8 path");
    let local = format!("local:{model}");
    let grader = if grader == "cascade" { grader } else { &local };
    let flags = [
        "--generator",
        &local,
        "--rewriter",
        &local,
        "--grader",
        grader,
        "--llm-local",
        model,
        "--llm-max-tokens",
        "24",
        "--llm-seed",
        "7",
    ];
    let fixture = Fixture::with_flags(Plan::default(), &flags).await;
    fixture
        .ingest("village", &[("lighthouse", LIGHTHOUSE), ("bakery", BAKERY)])
        .await;
    fixture
}

/// The most steps that a walk through this graph takes.
#[expect(clippy::expect_used, reason = "what a test cannot have fails it")]
async fn most_steps(fixture: &Fixture, graph: &str) -> usize {
    let listed = fixture
        .orchestrator()
        .list_graphs(ListGraphsRequest {})
        .await
        .expect("the graphs")
        .into_inner();
    let found = listed.graphs.into_iter().find(|summary| summary.name == graph);
    found.expect(graph).worst_case.expect("a worst case").steps as usize
}

/// The nodes of the walk that asked a model, with the number of their calls.
fn called(result: &WalkResult) -> Vec<(&str, u32)> {
    let calls = |usage: &Option<emend_proto::v1::Usage>| usage.as_ref().map_or(0, |usage| usage.model_calls);
    let steps = result
        .steps
        .iter()
        .map(|step| (step.action.as_str(), calls(&step.usage)));
    steps.filter(|(_, calls)| *calls > 0).collect()
}

#[expect(clippy::expect_used, reason = "what a test cannot have fails it")]
async fn every_walk_ends(tiny: &Tiny, grader: &str, graphs: &[&str]) -> Vec<WalkResult> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = folder.path().join("tiny.gguf");
    tiny.write(&model);
    let fixture = village(&model, grader).await;
    let mut results = Vec::new();
    for graph in graphs {
        let result = fixture.ask(question(QUESTION, graph, "village")).await.expect(graph);
        assert_ne!(result.status(), WalkStatus::Unspecified, "{graph}: {result:?}");
        // Nothing that such a model says can pass.
        assert_ne!(result.status(), WalkStatus::Answered, "{graph}: {result:?}");
        // One that says nothing at all has failed.
        assert_eq!(
            result.answer.is_empty(),
            result.failure.is_some(),
            "{graph}: {result:?}"
        );
        assert!(!result.reason.is_empty(), "{graph}: {result:?}");
        let most = most_steps(&fixture, graph).await;
        assert!(
            result.steps.len() <= most,
            "{graph}: {} steps of {most}",
            result.steps.len()
        );
        for step in result
            .steps
            .iter()
            .filter(|step| step.action.contains("grade_documents"))
        {
            for graded in &step.passages {
                assert_ne!(graded.relevance(), Relevance::Unspecified, "{graph}: {step:?}");
                assert_eq!(
                    graded.score.is_none(),
                    graded.relevance() == Relevance::Ungraded,
                    "{graph}: {step:?}"
                );
            }
        }
        let usage = result.usage.as_ref().expect("what it cost");
        let calls: u32 = called(&result).iter().map(|(_, calls)| calls).sum();
        assert_eq!(usage.model_calls, calls, "{graph}");
        results.push(result);
    }
    fixture.cluster.stop().await;
    results
}

const GRAPHS: [&str; 4] = ["plain-rag", "self-rag", "corrective-rag", "self-corrective-rag"];

#[tokio::test(flavor = "multi_thread")]
async fn walks_with_a_model_of_noise_in_this_process_end_within_their_bounds() {
    for grader in ["local", "cascade"] {
        for (graph, result) in GRAPHS
            .iter()
            .zip(every_walk_ends(&Tiny::default(), grader, &GRAPHS).await)
        {
            let called = called(&result);
            let asked = |action: &str| called.iter().any(|(name, _)| *name == action);
            assert!(asked("generate"), "{grader} {graph}: {called:?}");
            if grader == "local" && *graph == "self-rag" {
                assert!(called.contains(&("grade_documents", 2)), "{called:?}");
                assert!(asked("grade_generation"), "{called:?}");
            }
            let usage = result.usage.as_ref().expect("what it cost");
            assert!(
                usage.input_tokens > 0 && usage.output_tokens > 0,
                "{grader} {graph}: {usage:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn walks_with_a_silent_model_in_this_process_end_within_their_bounds() {
    let silent = Tiny {
        silent: true,
        ..Tiny::default()
    };
    for grader in ["local", "cascade"] {
        for result in every_walk_ends(&silent, grader, &GRAPHS).await {
            let errors: Vec<&str> = result.steps.iter().map(|step| step.error.as_str()).collect();
            assert!(
                errors.iter().any(|error| error.contains("bad reply")),
                "{grader}: {errors:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_service_asks_the_model_in_this_process_and_says_what_it_could_not_grade() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = folder.path().join("tiny.gguf");
    Tiny::default().write(&model);
    let fixture = village(&model, "local").await;
    let passages = |texts: &[&str]| -> Vec<Passage> {
        let passage = |(number, text): (usize, &&str)| Passage {
            id: format!("p{number}"),
            text: (*text).to_owned(),
            ..Passage::default()
        };
        texts.iter().enumerate().map(passage).collect()
    };

    let request = GradeDocumentsRequest {
        question: QUESTION.to_owned(),
        passages: passages(&[LIGHTHOUSE, BAKERY]),
        ..GradeDocumentsRequest::default()
    };
    let graded = fixture
        .grader()
        .grade_documents(request)
        .await
        .expect("grades")
        .into_inner();
    assert_eq!(graded.usage.expect("what it cost").model_calls, 2);
    for grade in &graded.grades {
        assert_eq!((grade.relevance(), grade.score), (Relevance::Ungraded, None));
        assert!(grade.error.contains("is no verdict"), "{grade:?}");
    }

    let request = GradeGroundednessRequest {
        question: QUESTION.to_owned(),
        passages: passages(&[LIGHTHOUSE]),
        answer: "Ansgar Lund built it. It stands on a skerry.".to_owned(),
        sentences: Vec::new(),
    };
    let graded = fixture
        .grader()
        .grade_groundedness(request)
        .await
        .expect("grades")
        .into_inner();
    assert_eq!(graded.usage.expect("what it cost").model_calls, 2);
    assert_eq!((graded.support(), graded.score), (Support::Ungraded, None));
    assert!(
        graded
            .sentences
            .iter()
            .all(|sentence| sentence.support() == Support::Ungraded)
    );

    let request = GradeUsefulnessRequest {
        question: QUESTION.to_owned(),
        answer: "Ansgar Lund, an engineer, built it.".to_owned(),
        ..GradeUsefulnessRequest::default()
    };
    let graded = fixture
        .grader()
        .grade_usefulness(request)
        .await
        .expect("a grade")
        .into_inner();
    assert_eq!(
        (graded.usage.expect("what it cost").model_calls, graded.useful),
        (1, None)
    );
    assert!(graded.error.contains("is no verdict"), "{graded:?}");

    let channel = fixture.cluster.channel(Component::Rewriter).expect("it runs");
    let request = RewriteRequest {
        question: QUESTION.to_owned(),
        failed_queries: vec!["torvik lighthouse".to_owned()],
        purpose: RewritePurpose::Retrieval.into(),
        ..RewriteRequest::default()
    };
    let rewritten = RewriterServiceClient::new(channel)
        .rewrite(request)
        .await
        .expect("a query")
        .into_inner();
    assert!(rewritten.usage.expect("what it cost").model_calls > 0);
    assert!(
        !rewritten.query.is_empty() && rewritten.query != "torvik lighthouse",
        "{rewritten:?}"
    );
    fixture.cluster.stop().await;
}
