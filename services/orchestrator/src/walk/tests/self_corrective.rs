//! The ways of the default graph: what it does before it abstains.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use emend_core::Deadline;
use emend_proto::v1::{
    self, Origin, Relevance, RetrieveResponse, RewriteResponse, SearchMode, SearchResponse, WalkStatus,
};

use super::{
    super::{
        Events, Question, WalkMetrics, WalkRequest,
        scripted::{Call, Scripted, abstained, answer, documents_graded, down, passage, useful},
        services::Dependency,
        walk,
    },
    QUESTION, ask, ask_with, path, status, walk_request_of,
};
use crate::{catalog::builtin, graph::Graph};

const GRAPH: &str = "self-corrective-rag";

/// The query and the number of passages of each search of the documents.
fn searches(services: &Scripted) -> Vec<(String, u32)> {
    let calls = services.calls().into_iter();
    calls
        .filter_map(|call| match call {
            Call::Retrieve(request) => Some((request.query, request.top_k.unwrap())),
            _ => None,
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_abstention_leads_to_another_query_for_more_passages() {
    let services = Scripted::default().generate_nth(|number| match number {
        1 => abstained(),
        _ => answer("It was built in 1790."),
    });
    let result = ask(GRAPH, &services).await;
    assert_eq!(
        path(&result),
        [
            "retrieve",
            "grade_documents",
            "generate",
            "rewrite",
            "retrieve_more",
            "grade_documents",
            "generate",
            "grade_generation",
            "finalize_response"
        ]
    );
    assert_eq!(
        (status(&result), result.answer.as_str()),
        (WalkStatus::Answered, "It was built in 1790.")
    );
    assert_eq!(
        searches(&services),
        [(QUESTION.to_owned(), 4), ("query 2".to_owned(), 10)]
    );
}

#[tokio::test(start_paused = true)]
async fn passages_of_which_none_helps_lead_to_another_query_before_anything_is_written() {
    let services = Scripted::default().grade_documents(|request| {
        Ok(documents_graded(request, |id| match id.ends_with("/9") {
            true => Relevance::Relevant,
            false => Relevance::Irrelevant,
        }))
    });
    let result = ask(GRAPH, &services).await;
    assert_eq!(
        path(&result),
        [
            "retrieve",
            "grade_documents",
            "rewrite",
            "retrieve_more",
            "grade_documents",
            "generate",
            "grade_generation",
            "finalize_response"
        ]
    );
    assert_eq!(status(&result), WalkStatus::Answered);
    let ids: Vec<_> = result
        .documents
        .iter()
        .map(|held| &held.passage.as_ref().unwrap().id)
        .collect();
    assert_eq!(ids, ["query 2/9"], "what does not help is no evidence");
}

#[tokio::test(start_paused = true)]
async fn when_nothing_helps_it_searches_the_documents_then_the_web_and_abstains() {
    let services =
        Scripted::default().grade_documents(|request| Ok(documents_graded(request, |_| Relevance::Irrelevant)));
    let result = ask(GRAPH, &services).await;
    assert_eq!(
        path(&result),
        [
            "retrieve",
            "grade_documents",
            "rewrite",
            "retrieve_more",
            "grade_documents",
            "rewrite",
            "retrieve_more",
            "grade_documents",
            "web_search",
            "grade_web_results",
            "finalize_response"
        ]
    );
    assert_eq!(status(&result), WalkStatus::Abstained);
    let written = services.calls().iter().any(|call| matches!(call, Call::Generate(_)));
    assert!(!written, "nothing is written from passages that do not help");
}

#[tokio::test(start_paused = true)]
async fn r3_without_another_query_the_same_one_is_searched_once_for_more_passages() {
    let services = Scripted::default()
        .generate(|_| Ok(abstained()))
        .rewrite(|_| Ok(RewriteResponse::default()))
        .search(|_| Ok(SearchResponse::default()));
    let result = ask(GRAPH, &services).await;
    assert_eq!(
        path(&result)[2..],
        [
            "generate",
            "rewrite",
            "retrieve_more",
            "grade_documents",
            "generate",
            "rewrite",
            "web_search",
            "finalize_response"
        ]
    );
    assert_eq!(
        searches(&services),
        [(QUESTION.to_owned(), 4), (QUESTION.to_owned(), 10)]
    );
    assert_eq!(status(&result), WalkStatus::Abstained);
}

#[tokio::test(start_paused = true)]
async fn r3_the_generator_is_not_asked_again_about_passages_it_abstained_from() {
    let few = |turn: &str| {
        let mut passages = vec![passage("a"), passage("b")];
        // The order says nothing new.
        passages.sort_by_key(|passage| (passage.id == "a") == (turn == QUESTION));
        RetrieveResponse { passages }
    };
    let services = Scripted::default()
        .retrieve(move |request| Ok(few(&request.query)))
        .generate(|_| Ok(abstained()))
        .search(|_| down(Dependency::WebSearch));
    let result = ask(GRAPH, &services).await;
    assert_eq!(
        path(&result)[4..],
        [
            "retrieve_more",
            "grade_documents",
            "generate",
            "web_search",
            "finalize_response"
        ]
    );
    assert_eq!(result.steps[6].outcome, "stalled");
    let asked = services
        .calls()
        .into_iter()
        .filter(|call| matches!(call, Call::Generate(_)));
    assert_eq!(asked.count(), 1);
    assert_eq!(
        (status(&result), result.answer.as_str()),
        (WalkStatus::Abstained, "The passages do not say.")
    );
}

#[tokio::test(start_paused = true)]
async fn r4_without_a_grader_every_passage_is_kept_and_the_answer_is_unverified() {
    let services = Scripted::default()
        .grade_documents(|_| down(Dependency::Grader))
        .grade_groundedness(|_| down(Dependency::Grader))
        .grade_usefulness(|_| down(Dependency::Grader));
    let result = ask(GRAPH, &services).await;
    assert_eq!(path(&result)[1..3], ["grade_documents", "generate"]);
    assert_eq!((status(&result), result.documents.len()), (WalkStatus::Unverified, 4));
}

#[tokio::test(start_paused = true)]
async fn the_web_is_searched_when_the_retries_are_used_up() {
    let services = Scripted::default().grade_usefulness(|request| Ok(useful(request.answer == "Answer 5.")));
    let result = ask(GRAPH, &services).await;
    assert_eq!(
        path(&result)[path(&result).len() - 5..],
        [
            "web_search",
            "grade_web_results",
            "generate",
            "grade_generation",
            "finalize_response"
        ]
    );
    assert_eq!(
        (status(&result), result.answer.as_str()),
        (WalkStatus::Answered, "Answer 5.")
    );
    let origins = result
        .documents
        .iter()
        .map(|graded| graded.passage.as_ref().unwrap().origin());
    assert_eq!(origins.filter(|origin| *origin == Origin::Web).count(), 4);
}

#[tokio::test(start_paused = true)]
async fn r6_what_comes_from_the_web_is_graded_and_so_is_the_answer_from_it() {
    let services = Scripted::default()
        .retrieve(|_| down(Dependency::Retriever))
        .grade_documents(|request| {
            Ok(documents_graded(request, |id| match id.ends_with("/1") {
                true => Relevance::Relevant,
                false => Relevance::Irrelevant,
            }))
        })
        .grade_usefulness(|_| Ok(useful(false)));
    let result = ask_with(GRAPH, &[("max_retries", 0.0)], &services, Duration::from_secs(60))
        .await
        .unwrap();
    assert_eq!(
        path(&result)[1..],
        [
            "web_search",
            "grade_web_results",
            "generate",
            "grade_generation",
            "finalize_response"
        ]
    );
    assert_eq!((status(&result), result.documents.len()), (WalkStatus::Unverified, 1));
    assert!(
        result.reason.contains("visits(web_search) < web_fallback"),
        "{}",
        result.reason
    );
}

#[tokio::test(start_paused = true)]
async fn a_web_search_that_finds_what_is_held_already_found_nothing() {
    let services = Scripted::default().generate(|_| Ok(abstained())).search(|request| {
        Ok(SearchResponse {
            passages: vec![passage(&format!("{}/1", request.query))],
            ..SearchResponse::default()
        })
    });
    let result = ask_with(GRAPH, &[("max_rewrites", 0.0)], &services, Duration::from_secs(60))
        .await
        .unwrap();
    assert_eq!(
        path(&result)[2..],
        ["generate", "web_search", "finalize_response"],
        "without rewrites the web comes next"
    );
    assert_eq!(
        (status(&result), result.answer.as_str()),
        (WalkStatus::Abstained, "The passages do not say.")
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_says_how_documents_are_searched_and_else_the_graph_does() {
    for (setting, asked, mode) in [
        ("", SearchMode::Unspecified, SearchMode::Hybrid),
        (", search: hybrid", SearchMode::Unspecified, SearchMode::Hybrid),
        (", search: dense", SearchMode::Unspecified, SearchMode::Dense),
        (", search: sparse", SearchMode::Unspecified, SearchMode::Sparse),
        (", search: sparse", SearchMode::Dense, SearchMode::Dense),
        (", exact: 1", SearchMode::Unspecified, SearchMode::Hybrid),
    ] {
        let condition = v1::FieldCondition {
            field: "year".to_owned(),
            condition: Some(v1::field_condition::Condition::Exists(true)),
        };
        let yaml = builtin("plain-rag")
            .source()
            .replace("top_k: top_k}", &format!("top_k: top_k{setting}}}"));
        let graph = Arc::new(Graph::parse("searching.yaml", &yaml).unwrap());
        let services = Scripted::default();
        let deadline = Deadline::after(Duration::from_secs(60));
        let (events, metrics) = (Events::none(), WalkMetrics::default());
        let request = WalkRequest {
            question: Question::new(v1::Question {
                question: QUESTION.to_owned(),
                search: asked.into(),
                conditions: vec![condition.clone()],
                ..v1::Question::default()
            }),
            ..walk_request_of(graph, &[])
        };
        walk(request, &services, deadline, &events, &metrics).await.unwrap();
        let Some(Call::Retrieve(request)) = services.calls().into_iter().next() else {
            panic!("nothing was retrieved");
        };
        assert_eq!(request.mode(), mode, "{setting}");
        assert_eq!(request.exact, setting.contains("exact"), "{setting}");
        assert_eq!(request.conditions, std::slice::from_ref(&condition));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_doubt_stands_when_the_generator_knows_no_other() {
    for (graph, score, expected) in [
        (GRAPH, 0.4, WalkStatus::Unverified),
        (GRAPH, 0.1, WalkStatus::Abstained),
        ("self-rag", 0.4, WalkStatus::Unverified),
        ("self-rag", 0.1, WalkStatus::Abstained),
    ] {
        let asked = AtomicU32::new(0);
        let services = Scripted::default()
            .generate(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
                0 => Ok(answer("Answer 1.")),
                _ => Ok(abstained()),
            })
            .grade_usefulness(move |_| {
                let mut grade = useful(false);
                grade.score = Some(score);
                Ok(grade)
            });
        let result = ask(graph, &services).await;
        assert_eq!(status(&result), expected, "{graph} {score}");
        let stands = expected == WalkStatus::Unverified;
        assert_eq!(result.answer == "Answer 1.", stands);
        if stands && graph != GRAPH {
            assert_eq!(result.reason, "generation 1 is in doubt, and there is no other answer");
        }
    }
}
