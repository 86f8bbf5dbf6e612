//! What leaves for the web, and walks that leave the web alone.

use std::{collections::BTreeSet, time::Duration};

use emend_core::{Code, Deadline};
use emend_proto::v1::{
    self, Evaluation, Limit, Passage, Relevance, RetrieveResponse, RewriteResponse, WalkResult, WalkStatus,
};

use super::{
    super::{
        Budget, Events, WalkMetrics,
        question::Question,
        scripted::{Call, Scripted, calls, documents_graded, down, passage},
        services::{Dependency, Failure},
        walk,
    },
    QUESTION, ask, path, status, walk_request,
};
use crate::{catalog::Catalog, graph::Action};

/// A word that stands in the documents alone.
const SECRET: &str = "sesame";

/// Ways to the web: a graph, what its documents are worth, and the node that searches.
const WAYS: [(&str, Evaluation, &str); 4] = [
    ("self-corrective-rag", Evaluation::Incorrect, "web_search"),
    ("corrective-rag", Evaluation::Incorrect, "web_search"),
    ("corrective-rag", Evaluation::Ambiguous, "refine_and_search"),
    ("corrective-rag-binary", Evaluation::Incorrect, "web_search"),
];

/// Services whose documents hold the secret and do not help.
fn services(evaluation: Evaluation) -> Scripted {
    Scripted::default()
        .retrieve(|request| {
            let secret = |n: u32| Passage {
                text: format!("The word of harbour {n} is {SECRET}."),
                title: SECRET.to_owned(),
                source: format!("{SECRET}.md"),
                ..passage(&format!("{}/{n}", request.query))
            };
            Ok(RetrieveResponse {
                passages: (1..=request.top_k.unwrap()).map(secret).collect(),
            })
        })
        .grade_documents(move |request| {
            let relevance = |id: &str| match id.starts_with("web/") {
                true => Relevance::Relevant,
                false => Relevance::Irrelevant,
            };
            let mut graded = documents_graded(request, relevance);
            graded.set_evaluation(evaluation);
            Ok(graded)
        })
}

#[test]
fn every_graph_that_searches_the_web_is_tried() {
    let catalog = Catalog::load(None).unwrap();
    let searches = |action| matches!(action, Action::WebSearch | Action::RefineAndSearch);
    let nodes = catalog.iter().flat_map(|graph| {
        let nodes = graph.nodes().filter(move |(_, node)| searches(node.action()));
        nodes.map(|(_, node)| (graph.name().to_owned(), node.name().to_owned()))
    });
    let tried = WAYS.map(|(graph, _, node)| (graph.to_owned(), node.to_owned()));
    assert_eq!(nodes.collect::<BTreeSet<_>>(), BTreeSet::from(tried));
}

#[tokio::test(start_paused = true)]
async fn what_leaves_is_the_question_or_its_form_for_the_web_and_nothing_of_a_document() {
    for (graph, evaluation, node) in WAYS {
        // A rewriter that puts what it sees into its query.
        let services = services(evaluation).rewrite(|request| {
            let seen = if format!("{request:?}").contains(SECRET) {
                SECRET
            } else {
                ""
            };
            Ok(RewriteResponse {
                query: format!("{:?} {} {seen}", request.purpose(), request.failed_queries.len()),
                usage: calls(1),
            })
        });
        let result = ask(graph, &services).await;
        assert!(path(&result).contains(&node), "{graph}: {:?}", path(&result));
        let searched: Vec<String> = services.calls().into_iter().filter_map(searched).collect();
        let expected = if graph == "self-corrective-rag" {
            // Its queries are made for its documents.
            assert!(format!("{:?}", services.calls()).contains(&format!("Retrieval 1 {SECRET}")));
            QUESTION
        } else {
            "WebSearch 0"
        };
        assert_eq!(searched, [expected], "{graph}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_rewriter_the_question_itself_is_all_that_leaves() {
    for (graph, evaluation, node) in WAYS {
        let services = services(evaluation).rewrite(|_| down(Dependency::Rewriter));
        let result = ask(graph, &services).await;
        assert!(path(&result).contains(&node), "{graph}: {:?}", path(&result));
        let searched: Vec<String> = services.calls().into_iter().filter_map(searched).collect();
        assert_eq!(searched, [QUESTION], "{graph}");
    }
}

fn searched(call: Call) -> Option<String> {
    match call {
        Call::Search(request) => Some(request.query),
        _ => None,
    }
}

/// A walk that leaves the web alone.
async fn ask_without_web(graph: &str, services: &Scripted, budget: Budget) -> WalkResult {
    let mut request = walk_request(graph, &[]);
    request.budget = budget;
    request.question = Question::new(v1::Question {
        question: QUESTION.to_owned(),
        collection: "islands".to_owned(),
        web_off: true,
        ..v1::Question::default()
    });
    let deadline = Deadline::after(Duration::from_secs(60));
    walk(request, services, deadline, &Events::none(), &WalkMetrics::default())
        .await
        .unwrap()
}

/// How a walk went, without what was said of it.
fn course(result: &WalkResult) -> (WalkStatus, &str, Vec<(&str, &str)>) {
    let steps = result.steps.iter();
    let steps = steps.map(|step| (step.node.as_str(), step.outcome.as_str()));
    (status(result), result.answer.as_str(), steps.collect())
}

#[tokio::test(start_paused = true)]
async fn a_walk_that_leaves_the_web_alone_goes_as_if_there_were_no_provider() {
    for (graph, evaluation, node) in WAYS {
        let no_provider = services(evaluation).search(|_| {
            let message = "no web search provider is configured";
            Err(Failure::new(Dependency::WebSearch, Code::FailedPrecondition, message))
        });
        let without_provider = ask(graph, &no_provider).await;
        let services = services(evaluation);
        let off = ask_without_web(graph, &services, Budget::default()).await;
        assert_eq!(course(&off), course(&without_provider), "{graph}");
        assert_eq!(services.calls().into_iter().find_map(searched), None, "{graph}");
        // Nobody failed, and the step says that it did not search.
        assert!(off.degraded_by.is_empty() && off.failure.is_none(), "{graph}: {off:?}");
        let step = off.steps.iter().find(|step| step.node == node).unwrap();
        assert!(
            format!("{} {}", step.summary, step.error).contains("the web is off for this question"),
            "{graph}: {step:?}"
        );
        assert!(!step.summary.contains("found"), "{graph}: {step:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_the_walk_ends_for_want_of_the_web_its_reason_says_that_it_is_off() {
    let result = ask_without_web(
        "self-corrective-rag",
        &services(Evaluation::Incorrect),
        Budget::default(),
    )
    .await;
    assert_eq!(status(&result), WalkStatus::Abstained);
    assert!(
        result
            .reason
            .contains("`web_search` ended in `unavailable`: the web is off for this question"),
        "{}",
        result.reason
    );
    // A retriever that is down is the failure, and the web is none.
    let services = Scripted::default().retrieve(|_| down(Dependency::Retriever));
    let result = ask_without_web("self-corrective-rag", &services, Budget::default()).await;
    assert_eq!(status(&result), WalkStatus::Failed);
    assert_eq!(result.failure.unwrap().service, "retriever");
    assert!(!services.calls().iter().any(|call| matches!(call, Call::Search(_))));
}

#[tokio::test(start_paused = true)]
async fn no_budget_for_web_searches_calls_nobody_and_ends_by_the_limit_unless_the_web_is_off() {
    for (graph, evaluation, _) in WAYS {
        let budget = Budget {
            web_searches: Some(0),
            ..Budget::default()
        };
        let limited = services(evaluation);
        let mut request = walk_request(graph, &[]);
        request.budget = budget;
        let deadline = Deadline::after(Duration::from_secs(60));
        let result = walk(request, &limited, deadline, &Events::none(), &WalkMetrics::default())
            .await
            .unwrap();
        assert_eq!(result.exhausted(), Limit::WebSearches, "{graph}");
        let off = services(evaluation);
        let result = ask_without_web(graph, &off, budget).await;
        assert_eq!(result.exhausted(), Limit::Unspecified, "{graph}");
        for services in [limited, off] {
            assert_eq!(services.calls().into_iter().find_map(searched), None, "{graph}");
        }
    }
}
