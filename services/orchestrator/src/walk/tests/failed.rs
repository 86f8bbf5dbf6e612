//! A service that fails is not the documents not answering.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use emend_core::{Code, Deadline};
use emend_proto::v1::{GradeUsefulnessResponse, Relevance, RetrieveResponse, Support, WalkStatus};

use super::{
    super::{
        Events, WalkMetrics,
        scripted::{Scripted, abstained, answer, documents_graded, down, passage, supported},
        services::{Dependency, Failure},
        walk,
    },
    ask, path, status, walk_request_of,
};
use crate::graph::Graph;

const GRAPHS: [&str; 4] = ["plain-rag", "self-rag", "self-corrective-rag", "corrective-rag-binary"];

fn refused<T>(dependency: Dependency) -> Result<T, Failure> {
    Err(Failure::new(
        dependency,
        Code::FailedPrecondition,
        "the server refused the API key",
    ))
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_fails_the_walk_and_says_what_to_do() {
    for graph in GRAPHS {
        let services = Scripted::default()
            .grade_documents(|_| refused(Dependency::Grader))
            .rewrite(|_| refused(Dependency::Rewriter))
            .generate(|_| refused(Dependency::Generator));
        let result = ask(graph, &services).await;
        assert_eq!(status(&result), WalkStatus::Failed, "{graph}");
        let failure = result.failure.unwrap();
        assert_eq!(
            (failure.service.as_str(), failure.code.as_str(), failure.cause.as_str()),
            ("generator", "FAILED_PRECONDITION", "the server refused the API key"),
            "{graph}"
        );
        assert_eq!(
            failure.advice,
            "check the API key, the URL and the name of the language model that the generator uses"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_another_try_healed_is_none() {
    let first = AtomicBool::new(true);
    let services = Scripted::default()
        .retrieve(move |request| {
            if first.swap(false, Ordering::Relaxed) {
                return down(Dependency::Retriever);
            }
            Ok(RetrieveResponse {
                passages: vec![passage(&request.query)],
            })
        })
        .generate(|_| Ok(abstained()));
    // The retriever fails, the web is read, and then the documents are searched after all.
    let result = ask("self-corrective-rag", &services).await;
    assert_eq!(result.steps[0].outcome, "unavailable");
    assert!(path(&result).contains(&"retrieve_more"), "{:?}", path(&result));
    assert_eq!(status(&result), WalkStatus::Abstained);
    assert!(result.failure.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_abstention_without_a_web_search_is_one() {
    for nothing in [true, false] {
        let services = Scripted::default()
            .search(|_| down(Dependency::WebSearch))
            .generate(|_| Ok(abstained()))
            .grade_documents(move |request| {
                Ok(documents_graded(request, |_| match nothing {
                    true => Relevance::Irrelevant,
                    false => Relevance::Relevant,
                }))
            });
        for graph in ["self-corrective-rag", "corrective-rag", "corrective-rag-binary"] {
            let result = ask(graph, &services).await;
            assert_eq!(status(&result), WalkStatus::Abstained, "{graph}");
            assert!(result.failure.is_none() && !result.answer.is_empty(), "{graph}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_stands_although_the_generator_fails_later() {
    let services = Scripted::default()
        .grade_groundedness(|request| Ok(supported(request, Support::NotSupported)))
        .generate({
            let first = AtomicBool::new(true);
            move |_| match first.swap(false, Ordering::Relaxed) {
                true => Ok(answer("It was built in 1790.")),
                false => down(Dependency::Generator),
            }
        });
    let result = ask("self-corrective-rag", &services).await;
    assert_eq!(
        (status(&result), result.answer.as_str()),
        (WalkStatus::Unverified, "It was built in 1790.")
    );
    assert!(result.failure.is_none());
}

#[tokio::test(start_paused = true)]
async fn both_grades_that_fail_are_reported_and_the_same_error_once() {
    let groundedness = |_: &_| {
        Err(Failure::new(
            Dependency::Grader,
            Code::Internal,
            "groundedness cannot be graded",
        ))
    };
    let usefulness = |_: &_| {
        Ok(GradeUsefulnessResponse {
            error: "usefulness cannot be graded".to_owned(),
            ..GradeUsefulnessResponse::default()
        })
    };
    for graph in ["self-reflective-rag", "self-rag"] {
        let error = async |services: Scripted| {
            let result = ask(graph, &services).await;
            let graded = ["generate_segment", "grade_generation"];
            let step = result.steps.iter().find(|step| graded.contains(&step.action.as_str()));
            step.unwrap().error.clone()
        };
        let services = Scripted::default()
            .grade_groundedness(groundedness)
            .grade_usefulness(usefulness);
        assert_eq!(
            error(services).await,
            "grader: groundedness cannot be graded; grader: usefulness cannot be graded",
            "{graph}"
        );
        let services = Scripted::default()
            .grade_groundedness(|_| down(Dependency::Grader))
            .grade_usefulness(|_| down(Dependency::Grader));
        assert_eq!(error(services).await, "grader: connection refused", "{graph}");
    }
}

#[tokio::test(start_paused = true)]
async fn r7_an_answer_without_evidence_ranks_as_not_supported() {
    let yaml = "
name: twice
description: Answers from nothing, and then from documents.
start: generate_without_documents
nodes:
  generate_without_documents: {action: generate_without_documents}
  grade_groundedness: {action: grade_groundedness}
  retrieve: {action: retrieve, top_k: 2}
  generate: {action: generate}
  grade_generation: {action: grade_generation}
edges:
  generate_without_documents:
    generated: grade_groundedness
    abstained: finish(abstained)
    unavailable: finish(abstained)
  grade_groundedness:
    supported: finish(unverified)
    not_supported: retrieve
    unavailable: finish(unverified)
  retrieve:
    passages: generate
    no_passages: finish(unverified)
    unavailable: finish(unverified)
  generate:
    generated: grade_generation
    abstained: finish(unverified)
    stalled: finish(unverified)
    no_documents: finish(unverified)
    unavailable: finish(unverified)
  grade_generation:
    useful: finish(answered)
    not_supported: finish(unverified)
    not_useful: finish(unverified)
    unavailable: finish(unverified)
";
    let graph = Arc::new(Graph::parse("twice.yaml", yaml).unwrap());
    let services = Scripted::default().grade_groundedness(|request| Ok(supported(request, Support::NotSupported)));
    let deadline = Deadline::after(Duration::from_secs(60));
    let (events, metrics) = (Events::none(), WalkMetrics::default());
    let result = walk(walk_request_of(graph, &[]), &services, deadline, &events, &metrics)
        .await
        .unwrap();
    // Neither is supported: the one that was written from documents is the later one.
    assert_eq!(
        (status(&result), result.answer.as_str()),
        (WalkStatus::Unverified, "Answer 2.")
    );
}
