//! Searches that find more passages than they hold, of which the grader chooses.

use emend_proto::v1::{DocumentGrade, GradeDocumentsRequest, GradeDocumentsResponse, Relevance, WalkResult};

use super::{
    super::{
        scripted::{Call, Scripted, documents_graded, down},
        services::Dependency,
    },
    *,
};

const GRAPH: &str = "self-corrective-rag";

/// Likes a passage the better the later the retriever found it; those up to `irrelevant` do not help.
fn likes_the_last(irrelevant: usize) -> impl Fn(&GradeDocumentsRequest) -> GradeDocumentsResponse {
    move |request| {
        let number = |id: &str| {
            id.rsplit('/')
                .next()
                .and_then(|number| number.parse().ok())
                .unwrap_or(0_usize)
        };
        let mut response = documents_graded(request, |id| match number(id) {
            number if number > irrelevant => Relevance::Relevant,
            _ => Relevance::Irrelevant,
        });
        let score = |grade: &mut DocumentGrade| grade.score = Some(number(&grade.passage_id) as f64 / 100.0);
        response.grades.iter_mut().for_each(score);
        response
    }
}

async fn reranked(rerank: f64, services: &Scripted) -> WalkResult {
    let options = [("top_k", 2.0), ("rerank", rerank), ("max_rewrites", 1.0)];
    ask_with(GRAPH, &options, services, Duration::from_secs(60))
        .await
        .unwrap()
}

/// How many passages each search asked for, and how many each call of the grader was about.
fn sizes(services: &Scripted) -> (Vec<u32>, Vec<usize>) {
    let (mut searched, mut graded) = (Vec::new(), Vec::new());
    for call in services.calls() {
        match call {
            Call::Retrieve(request) => searched.push(request.top_k.unwrap()),
            Call::GradeDocuments(request) => graded.push(request.passages.len()),
            _ => {}
        }
    }
    (searched, graded)
}

fn held(result: &WalkResult) -> Vec<String> {
    let documents = result.documents.iter();
    documents.map(|held| held.passage.clone().unwrap().id).collect()
}

#[tokio::test(start_paused = true)]
async fn the_passages_with_the_best_grades_are_held() {
    let services = Scripted::default().grade_documents(|request| Ok(likes_the_last(0)(request)));
    let result = reranked(20.0, &services).await;
    assert_eq!(held(&result), [format!("{QUESTION}/20"), format!("{QUESTION}/19")]);
    assert_eq!(sizes(&services), (vec![20], vec![20]), "no passage is graded twice");
    assert_eq!(result.steps[0].summary, "found 20, kept 2");
    assert!(path(&result).starts_with(&["retrieve", "grade_documents", "generate"]));
}

#[tokio::test(start_paused = true)]
async fn a_walk_that_holds_all_it_finds_keeps_the_order_of_the_retriever() {
    for rerank in [0.0, 2.0] {
        let services = Scripted::default().grade_documents(|request| Ok(likes_the_last(0)(request)));
        let result = reranked(rerank, &services).await;
        assert_eq!(held(&result), [format!("{QUESTION}/1"), format!("{QUESTION}/2")]);
        assert_eq!(sizes(&services), (vec![2], vec![2]));
    }
}

#[tokio::test(start_paused = true)]
async fn where_none_of_them_helps_another_query_is_searched() {
    let services = Scripted::default().grade_documents(|request| Ok(likes_the_last(99)(request)));
    let result = reranked(20.0, &services).await;
    assert_eq!(
        path(&result)[..4],
        ["retrieve", "grade_documents", "rewrite", "retrieve_more"],
        "they were graded for the first time"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_grader_the_order_of_the_retriever_stands() {
    let services = Scripted::default().grade_documents(|_| down(Dependency::Grader));
    let result = reranked(20.0, &services).await;
    assert_eq!(held(&result), [format!("{QUESTION}/1"), format!("{QUESTION}/2")]);
    assert!(result.steps[0].error.contains("grader"), "{}", result.steps[0].error);
}

#[tokio::test(start_paused = true)]
async fn r1_the_worst_case_counts_each_passage_that_is_graded() {
    let graph = builtin(GRAPH);
    let calls = |rerank: f64| {
        let options = Options::defaults(graph.options()).with(&graph, "rerank", rerank);
        graph.worst_case(&options).unwrap().model_calls
    };
    assert_eq!(calls(4.0), calls(0.0));
    assert_eq!(calls(50.0), calls(0.0) + 50);
}
