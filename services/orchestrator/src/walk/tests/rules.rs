//! One test or more for each rule that the walk keeps.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use emend_core::{Code, Deadline};
use emend_proto::v1::{
    self, GradeDocumentsResponse, Origin, Relevance, RetrieveResponse, RewriteResponse, Support, WalkStatus,
};

use super::{
    super::{
        Events, Question, WalkError, WalkMetrics, WalkRequest,
        scripted::{Call, Scripted, abstained, answer, documents_graded, down, passage, supported, useful},
        services::{Dependency, Failure},
        walk,
    },
    QUESTION, ask, ask_with, path, status, walk_request, walk_request_of,
};
use crate::{catalog::builtin, graph::Graph};

#[tokio::test(start_paused = true)]
async fn r1_the_recursion_limit_is_an_end_and_no_error() {
    let services = Scripted::default().grade_usefulness(|_| Ok(useful(false)));
    let result = ask_with(
        "self-rag",
        &[("recursion_limit", 6.0)],
        &services,
        Duration::from_secs(60),
    )
    .await
    .unwrap();
    assert_eq!(result.steps.len(), 6);
    assert_eq!(status(&result), WalkStatus::Unverified);
    assert_eq!(result.reason, "the recursion limit of 6 steps was reached");
}

#[tokio::test(start_paused = true)]
async fn r1_without_retries_there_is_exactly_one_generation() {
    let services = Scripted::default().grade_groundedness(|request| Ok(supported(request, Support::NotSupported)));
    let result = ask_with("self-rag", &[("max_retries", 0.0)], &services, Duration::from_secs(60))
        .await
        .unwrap();
    assert_eq!(
        path(&result),
        ["retrieve", "grade_documents", "generate", "grade_generation"]
    );
    assert_eq!(status(&result), WalkStatus::Unverified);
    assert_eq!(
        result.reason,
        "`grade_generation` ended in `not_supported` and no longer holds: `visits(generate) <= max_retries`"
    );
}

#[tokio::test(start_paused = true)]
async fn r2_everything_is_graded_rewritten_and_answered_from_the_original_question() {
    let services = Scripted::default().grade_usefulness(|_| Ok(useful(false)));
    ask("self-corrective-rag", &services).await;
    let mut rewrites = 0;
    for call in services.calls() {
        match call {
            Call::Rewrite(request) => {
                rewrites += 1;
                assert_eq!(request.question, QUESTION);
                // The question itself was searched first, and then every query that was made of it.
                assert_eq!(request.failed_queries[0], QUESTION);
                assert_eq!(request.failed_queries.len(), rewrites);
            }
            Call::Generate(request) => assert_eq!(request.question, QUESTION),
            Call::GradeUsefulness(request) => assert_eq!(request.question, QUESTION),
            Call::GradeGroundedness(request) => assert_eq!(request.question, QUESTION),
            _ => {}
        }
    }
    assert_eq!(rewrites, 3);
}

#[tokio::test(start_paused = true)]
async fn r3_a_retry_is_told_which_attempt_it_is_and_what_was_not_supported() {
    let services = Scripted::default().grade_groundedness(|request| Ok(supported(request, Support::NotSupported)));
    ask("self-rag", &services).await;
    let generations: Vec<_> = services
        .calls()
        .into_iter()
        .filter_map(|call| match call {
            Call::Generate(request) => Some((request.attempt, request.unsupported, request.temperature)),
            _ => None,
        })
        .collect();
    assert_eq!(generations.len(), 4);
    // The generator makes later attempts warmer by itself: it knows how warm the first one was.
    assert_eq!(generations[0], (1, vec![], None));
    assert_eq!(generations[1], (2, vec!["Answer 1.".to_owned()], None));
    assert_eq!(generations[2].1, ["Answer 1.", "Answer 2."]);
    assert_eq!(generations[3].0, 4);
}

#[tokio::test(start_paused = true)]
async fn r3_the_same_answer_from_the_same_passages_is_a_stall() {
    let services = Scripted::default()
        .generate(|_| Ok(answer("It was built in 1790.")))
        .grade_groundedness(|request| Ok(supported(request, Support::NotSupported)));
    let result = ask("self-corrective-rag", &services).await;
    // Not three retries of the same, but other evidence.
    assert_eq!(
        path(&result)[2..6],
        ["generate", "grade_generation", "generate", "web_search"]
    );
    assert_eq!(result.steps[4].outcome, "stalled");
}

#[tokio::test(start_paused = true)]
async fn r3_an_answer_that_was_not_useful_is_not_graded_again() {
    let services = Scripted::default()
        .generate(|_| Ok(answer("It was built in 1790.")))
        .grade_usefulness(|_| Ok(useful(false)));
    let result = ask("self-corrective-rag", &services).await;
    let graded = result.steps.iter().filter(|step| step.node == "grade_generation");
    let summaries: Vec<&str> = graded.map(|step| step.summary.as_str()).collect();
    assert_eq!(summaries[0], "fully supported, not useful");
    // Each other query found other passages, and the same to say.
    assert!(summaries.len() > 2, "{summaries:?}");
    let again = "not useful, as generation 1, which says the same";
    assert!(summaries[1..].iter().all(|summary| *summary == again), "{summaries:?}");
    let is_grade = |call: &Call| matches!(call, Call::GradeUsefulness(_) | Call::GradeGroundedness(_));
    assert_eq!(services.calls().into_iter().filter(is_grade).count(), 2);
    assert_eq!(status(&result), WalkStatus::Unverified);
    assert_eq!(result.sentences[0].support(), Support::FullySupported);
}

#[tokio::test(start_paused = true)]
async fn r3_a_query_that_was_searched_already_is_no_new_query() {
    let services = Scripted::default()
        .grade_documents(|request| Ok(documents_graded(request, |_| Relevance::Irrelevant)))
        .rewrite(|request| {
            Ok(RewriteResponse {
                query: format!("  {} ", request.question.to_uppercase()),
                usage: None,
            })
        });
    let result = ask("self-rag", &services).await;
    assert_eq!(path(&result), ["retrieve", "grade_documents", "rewrite"]);
    assert_eq!(result.steps[2].outcome, "exhausted");
    assert_eq!(status(&result), WalkStatus::Abstained);
}

#[tokio::test(start_paused = true)]
async fn r3_another_query_that_finds_only_what_did_not_help_is_a_stall() {
    for (graph, after, end) in [
        ("self-rag", Some("generate_without_documents"), WalkStatus::Ungrounded),
        ("self-rag-tutorial", None, WalkStatus::Abstained),
        ("self-rag-final-grade", None, WalkStatus::Abstained),
    ] {
        let services = Scripted::default()
            .retrieve(|request| {
                let passages = (0..request.top_k.unwrap()).map(|place| passage(&place.to_string()));
                Ok(RetrieveResponse {
                    passages: passages.collect(),
                })
            })
            .grade_documents(|request| Ok(documents_graded(request, |_| Relevance::Irrelevant)));
        let result = ask(graph, &services).await;
        let rewrite = result.steps[2].node.as_str();
        let expected = ["retrieve", "grade_documents", rewrite, "retrieve", "grade_documents"];
        assert_eq!(
            path(&result),
            expected.into_iter().chain(after).collect::<Vec<_>>(),
            "{graph}"
        );
        assert_eq!(result.steps[1].outcome, "none_relevant", "{graph}");
        assert_eq!(result.steps[4].outcome, "stalled", "{graph}");
        assert!(result.steps[4].summary.ends_with("each seen before"), "{graph}");
        assert_eq!(status(&result), end, "{graph}");
    }
}

#[tokio::test(start_paused = true)]
async fn r3_finding_nothing_again_is_no_stall() {
    let services = Scripted::default().retrieve(|_| Ok(RetrieveResponse::default()));
    let result = ask("self-rag", &services).await;
    let outcomes: Vec<&str> = result
        .steps
        .iter()
        .filter(|step| step.node == "grade_documents")
        .map(|step| step.outcome.as_str())
        .collect();
    assert_eq!(outcomes, ["none_relevant"; 4]);
}

#[tokio::test(start_paused = true)]
async fn r4_an_ungraded_passage_is_kept_and_marked() {
    let services = Scripted::default().grade_documents(|request| {
        let mut response = documents_graded(request, |id| match id.ends_with("/1") {
            true => Relevance::Ungraded,
            false => Relevance::Irrelevant,
        });
        // No word about the second passage at all.
        response.grades.remove(1);
        Ok(response)
    });
    let result = ask("self-rag", &services).await;
    let relevances: Vec<_> = result.documents.iter().map(|graded| graded.relevance()).collect();
    assert_eq!(relevances, [Relevance::Ungraded, Relevance::Ungraded]);
    assert_eq!(result.steps[1].outcome, "some_relevant");
    assert_eq!(result.steps[1].summary, "kept 2 of 4, 2 without a grade");
    assert_eq!(result.steps[1].passages.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn r4_without_any_grade_the_walk_goes_on_and_says_so() {
    for grade in [(|_: &_| down(Dependency::Grader)) as fn(&_) -> _, |_| {
        Ok(GradeDocumentsResponse::default())
    }] {
        let result = ask("self-rag", &Scripted::default().grade_documents(grade)).await;
        assert_eq!(result.steps[1].outcome, "unavailable");
        assert!(
            result.steps[1].error.starts_with("grader: "),
            "{}",
            result.steps[1].error
        );
        assert_eq!(path(&result)[2], "generate");
    }
}

#[tokio::test(start_paused = true)]
async fn r4_an_answer_whose_support_is_ungraded_is_never_answered() {
    for graph in ["self-rag", "self-corrective-rag", "corrective-rag-binary"] {
        let services = Scripted::default().grade_groundedness(|request| Ok(supported(request, Support::Ungraded)));
        let result = ask(graph, &services).await;
        assert_eq!(status(&result), WalkStatus::Unverified, "{graph}");
        assert_eq!(
            result.reason,
            "`grade_generation` ended in `unavailable`: grader: a grade that the verdict needs did not come"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r6_web_passages_are_marked_and_graded_like_local_ones() {
    let services = Scripted::default().grade_documents(|request| {
        Ok(documents_graded(request, |id| match id.ends_with("/2") {
            true => Relevance::Relevant,
            false => Relevance::Irrelevant,
        }))
    });
    let result = ask("corrective-rag-binary", &services).await;
    let web = &result.steps[4].passages;
    assert_eq!(result.steps[4].node, "grade_web_results");
    let relevance_of_web: Vec<_> = web
        .iter()
        .filter(|graded| graded.passage.as_ref().unwrap().origin() == Origin::Web)
        .map(|graded| (graded.relevance(), graded.kept))
        .collect();
    assert_eq!(
        relevance_of_web,
        [
            (Relevance::Irrelevant, false),
            (Relevance::Relevant, true),
            (Relevance::Irrelevant, false)
        ]
    );
    let graded_twice = services.calls().into_iter().any(|call| match call {
        Call::GradeDocuments(request) => {
            request.passages.iter().any(|passage| passage.origin() == Origin::Web)
                && request.passages.iter().any(|passage| passage.origin() != Origin::Web)
        }
        _ => false,
    });
    assert!(!graded_twice, "a local passage was graded again");
}

#[tokio::test(start_paused = true)]
async fn r7_without_documents_an_answer_is_ungrounded_and_never_graded() {
    let services =
        Scripted::default().grade_documents(|request| Ok(documents_graded(request, |_| Relevance::Irrelevant)));
    let result = ask("self-rag", &services).await;
    assert_eq!(path(&result).last(), Some(&"generate_without_documents"));
    assert_eq!(status(&result), WalkStatus::Ungrounded);
    assert!(result.documents.is_empty());
    assert!(
        !services
            .calls()
            .iter()
            .any(|call| matches!(call, Call::GradeGroundedness(_)))
    );
}

#[tokio::test(start_paused = true)]
async fn r7_a_generator_that_does_not_answer_without_documents_abstains() {
    let services = Scripted::default()
        .retrieve(|_| Ok(RetrieveResponse::default()))
        .generate(|_| Ok(abstained()));
    let result = ask("self-rag", &services).await;
    assert_eq!(status(&result), WalkStatus::Abstained);
    assert_eq!(result.answer, "The passages do not say.");
}

#[tokio::test(start_paused = true)]
async fn r8_an_abstention_is_believed_once_no_correction_is_left() {
    for (graph, generations) in [
        ("plain-rag", 1),
        ("self-rag", 1),
        ("corrective-rag-binary", 1),
        // The question, two other queries, and the web.
        ("self-corrective-rag", 4),
    ] {
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let services = Scripted::default().generate(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(abstained())
        });
        let result = ask(graph, &services).await;
        assert_eq!(status(&result), WalkStatus::Abstained, "{graph}");
        assert_eq!(asked.load(Ordering::Relaxed), generations, "{graph}");
    }
}

#[tokio::test(start_paused = true)]
async fn r9_groundedness_and_usefulness_are_graded_at_the_same_time() {
    let services = Scripted::default().takes(Dependency::Grader, Duration::from_secs(2));
    let result = ask("self-corrective-rag", &services).await;
    let took = result.steps[3].duration.unwrap();
    assert_eq!((result.steps[3].node.as_str(), took.seconds), ("grade_generation", 2));
}

#[tokio::test(start_paused = true)]
async fn what_the_retriever_refuses_is_the_callers_error() {
    for code in [Code::NotFound, Code::InvalidArgument, Code::FailedPrecondition] {
        let services = Scripted::default().retrieve(move |_| {
            Err(Failure::new(
                Dependency::Retriever,
                code,
                "unknown collection `islands`; the collections are coast",
            ))
        });
        let error = ask_with("self-corrective-rag", &[], &services, Duration::from_secs(60))
            .await
            .unwrap_err();
        assert!(matches!(&error, WalkError::Refused(failure) if failure.code == code));
        assert_eq!(
            error.to_string(),
            "unknown collection `islands`; the collections are coast"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r7_a_graph_cannot_call_an_answer_answered_that_did_not_pass() {
    let yaml = builtin("plain-rag")
        .source()
        .replace("generated: finish(unverified)", "generated: finish(answered)");
    let graph = Arc::new(Graph::parse("bold.yaml", &yaml).unwrap());
    let services = Scripted::default();
    let deadline = Deadline::after(Duration::from_secs(60));
    let (events, metrics) = (Events::none(), WalkMetrics::default());
    let result = walk(walk_request_of(graph, &[]), &services, deadline, &events, &metrics)
        .await
        .unwrap();
    assert_eq!(status(&result), WalkStatus::Unverified);
}

#[tokio::test(start_paused = true)]
async fn r16_the_walk_abstains_in_the_language_of_the_question() {
    for (question, answer) in [
        (QUESTION, "The documents do not answer this question."),
        ("What does 你好 mean?", "The documents do not answer this question."),
        ("燈塔是哪一年建的？", "文件沒有回答這個問題。"),
        ("灯塔是哪一年建的？", "文档没有回答这个问题。"),
        (
            "灯台はいつ建てられましたか？",
            "文書にはこの質問に対する答えがありません。",
        ),
        ("등대는 언제 지어졌나요?", "문서에는 이 질문에 대한 답이 없습니다."),
    ] {
        let services = Scripted::default().retrieve(|_| Ok(RetrieveResponse::default()));
        let asked = WalkRequest {
            question: Question::new(v1::Question {
                question: question.to_owned(),
                ..v1::Question::default()
            }),
            ..walk_request("plain-rag", &[])
        };
        let deadline = Deadline::after(Duration::from_secs(60));
        let (events, metrics) = (Events::none(), WalkMetrics::default());
        let result = walk(asked, &services, deadline, &events, &metrics).await.unwrap();
        assert_eq!(
            (status(&result), result.answer.as_str()),
            (WalkStatus::Abstained, answer)
        );
    }
}
