//! Services that are down or slow, and callers that are in a hurry or gone.

use std::time::Duration;

use emend_proto::v1::{Relevance, WalkStatus};
use tokio::time::Instant;

use super::{
    super::{
        scripted::{Scripted, documents_graded, down, useful},
        services::Dependency,
    },
    ask, ask_with, path, status,
};

const LONG: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn a_retriever_that_is_down_leads_to_the_web() {
    let services = Scripted::default().retrieve(|_| down(Dependency::Retriever));
    let result = ask("self-corrective-rag", &services).await;
    assert_eq!(
        path(&result),
        [
            "retrieve",
            "web_search",
            "grade_web_results",
            "generate",
            "grade_generation",
            "finalize_response"
        ]
    );
    assert_eq!(result.steps[0].error, "retriever: connection refused");
    // It passed its grading, and yet nobody knows what the documents say.
    assert_eq!(status(&result), WalkStatus::Unverified);
}

#[tokio::test(start_paused = true)]
async fn a_walk_without_a_retriever_fails_and_names_it() {
    for graph in ["plain-rag", "self-rag", "self-corrective-rag", "corrective-rag-binary"] {
        let services = Scripted::default()
            .retrieve(|_| down(Dependency::Retriever))
            .search(|_| down(Dependency::WebSearch));
        let result = ask(graph, &services).await;
        assert_eq!(status(&result), WalkStatus::Failed, "{graph}");
        let failure = result.failure.unwrap();
        assert_eq!(
            (failure.service.as_str(), failure.code.as_str(), failure.cause.as_str()),
            ("retriever", "UNAVAILABLE", "connection refused"),
            "{graph}"
        );
        assert!(result.answer.is_empty() && result.message.is_none(), "{graph}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retriever_that_goes_down_later_leaves_the_best_answer() {
    let services = Scripted::default()
        .retrieve({
            let first = std::sync::atomic::AtomicBool::new(true);
            move |request| {
                if first.swap(false, std::sync::atomic::Ordering::Relaxed) {
                    Ok(emend_proto::v1::RetrieveResponse {
                        passages: vec![super::super::scripted::passage(&request.query)],
                    })
                } else {
                    down(Dependency::Retriever)
                }
            }
        })
        .grade_usefulness(|_| Ok(useful(false)));
    let result = ask("self-rag", &services).await;
    assert_eq!(
        (status(&result), result.answer.as_str()),
        (WalkStatus::Unverified, "Answer 1.")
    );
    assert_eq!(
        result.reason,
        "`retrieve` ended in `unavailable`: retriever: connection refused"
    );
}

#[tokio::test(start_paused = true)]
async fn a_grader_that_is_down_leaves_an_unverified_answer() {
    for graph in ["self-rag", "self-corrective-rag", "corrective-rag-binary"] {
        let services = Scripted::default()
            .grade_documents(|_| down(Dependency::Grader))
            .grade_groundedness(|_| down(Dependency::Grader))
            .grade_usefulness(|_| down(Dependency::Grader));
        let result = ask(graph, &services).await;
        assert_eq!(
            (status(&result), result.answer.as_str()),
            (WalkStatus::Unverified, "Answer 1."),
            "{graph}"
        );
        assert!(
            result.reason.contains("grader: connection refused"),
            "{}",
            result.reason
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_rewriter_that_is_down_is_visible_and_no_error() {
    let services = Scripted::default()
        .rewrite(|_| down(Dependency::Rewriter))
        .grade_documents(|request| Ok(documents_graded(request, |_| Relevance::Irrelevant)));
    let result = ask("self-rag", &services).await;
    // The graph has no other way on: it is the rewriter that the walk ends for.
    assert_eq!(status(&result), WalkStatus::Failed);
    assert_eq!(result.failure.unwrap().service, "rewriter");
    assert_eq!(
        result.reason,
        "`rewrite` ended in `unavailable`: rewriter: connection refused"
    );
    // The default graph has: more passages for the same query.
    let result = ask("self-corrective-rag", &services.search(|_| down(Dependency::WebSearch))).await;
    assert_eq!(
        path(&result)[2..],
        [
            "rewrite",
            "retrieve_more",
            "grade_documents",
            "rewrite",
            "web_search",
            "finalize_response"
        ]
    );
    assert_eq!(status(&result), WalkStatus::Abstained);
    // For the web the question itself will do.
    let services = Scripted::default()
        .rewrite(|_| down(Dependency::Rewriter))
        .grade_documents(|request| Ok(documents_graded(request, |_| Relevance::Irrelevant)));
    let result = ask("corrective-rag-binary", &services).await;
    assert_eq!(
        path(&result)[2..5],
        ["rewrite_for_web", "web_search", "grade_web_results"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_walk_without_a_generator_fails_with_the_reason() {
    for graph in ["plain-rag", "self-rag", "self-corrective-rag", "corrective-rag-binary"] {
        let services = Scripted::default().generate(|_| down(Dependency::Generator));
        let result = ask(graph, &services).await;
        assert_eq!(status(&result), WalkStatus::Failed, "{graph}");
        assert_eq!(
            result.reason,
            "`generate` ended in `unavailable`: generator: connection refused"
        );
        let failure = result.failure.unwrap();
        assert_eq!(
            (failure.service.as_str(), failure.code.as_str(), failure.cause.as_str()),
            ("generator", "UNAVAILABLE", "connection refused")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r11_a_slow_grader_costs_the_grades_and_not_the_answer() {
    let services = Scripted::default().takes(Dependency::Grader, LONG);
    let began = Instant::now();
    let result = ask_with("self-rag", &[], &services, Duration::from_secs(10))
        .await
        .unwrap();
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(
        (status(&result), result.answer.as_str()),
        (WalkStatus::Unverified, "Answer 1.")
    );
    assert!(result.reason.contains("grader: no answer in time"), "{}", result.reason);
}

#[tokio::test(start_paused = true)]
async fn r11_whatever_hangs_the_result_comes_before_the_deadline() {
    for graph in ["plain-rag", "self-rag", "self-corrective-rag", "corrective-rag-binary"] {
        for slow in [
            Dependency::Retriever,
            Dependency::Grader,
            Dependency::Generator,
            Dependency::Rewriter,
            Dependency::WebSearch,
        ] {
            let services = Scripted::default()
                .takes(slow, LONG)
                .grade_documents(|request| Ok(documents_graded(request, |_| Relevance::Irrelevant)))
                .grade_usefulness(|_| Ok(useful(false)));
            let began = Instant::now();
            let result = ask_with(graph, &[], &services, Duration::from_secs(2)).await;
            assert!(began.elapsed() < Duration::from_secs(2), "{graph} {slow}");
            let result = result.unwrap_or_else(|error| panic!("{graph} {slow}: {error}"));
            assert_ne!(status(&result), WalkStatus::Answered, "{graph} {slow}");
            assert!(!result.reason.is_empty(), "{graph} {slow}");
            assert_eq!(result.answer.is_empty(), result.failure.is_some(), "{graph} {slow}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r11_a_round_that_cannot_end_in_time_is_not_begun() {
    let services = Scripted::default()
        .takes(Dependency::Generator, Duration::from_secs(3))
        .takes(Dependency::Grader, Duration::from_secs(1))
        .grade_groundedness(|request| {
            Ok(super::super::scripted::supported(
                request,
                emend_proto::v1::Support::NotSupported,
            ))
        });
    let result = ask_with("self-corrective-rag", &[], &services, Duration::from_secs(8))
        .await
        .unwrap();
    // A round takes 4 s, and 2.65 s were left after the first.
    assert_eq!(
        path(&result),
        ["retrieve", "grade_documents", "generate", "grade_generation"]
    );
    assert_eq!(
        result.reason,
        "the deadline leaves 2.6 s for another round of `generate`, which took 4.0 s before"
    );
    assert_eq!(status(&result), WalkStatus::Unverified);
}
