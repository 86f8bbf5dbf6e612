//! The main paths of each graph.

use emend_proto::v1::{GradeDocumentsRequest, Relevance, Support, WalkStatus};

use super::{
    super::{
        scripted::{Call, Scripted, documents_graded, down, supported, useful},
        services::Dependency,
    },
    ask, path, status,
};

#[tokio::test(start_paused = true)]
async fn plain_rag_ends_unverified_as_nothing_is_graded() {
    let result = ask("plain-rag", &Scripted::default()).await;
    assert_eq!(path(&result), ["retrieve", "generate"]);
    assert_eq!(status(&result), WalkStatus::Unverified);
    assert_eq!(result.answer, "Answer 1.");
    assert_eq!(result.documents.len(), 4);
    assert_eq!(result.reason, "`generate` ended in `generated`");
    assert_eq!(result.options["top_k"], 4.0);
    assert_eq!(result.graph, "plain-rag");
}

#[tokio::test(start_paused = true)]
async fn self_rag_answers_at_the_first_try_when_all_goes_well() {
    let services = Scripted::default();
    let result = ask("self-rag", &services).await;
    assert_eq!(
        path(&result),
        ["retrieve", "grade_documents", "generate", "grade_generation"]
    );
    assert_eq!(status(&result), WalkStatus::Answered);
    assert_eq!(
        (result.reason.as_str(), result.groundedness, result.usefulness),
        ("", Some(0.9), Some(0.9))
    );
    assert_eq!(u64::from(result.usage.unwrap().model_calls), services.model_calls());
    assert_eq!(result.sentences[0].support(), Support::FullySupported);
}

#[tokio::test(start_paused = true)]
async fn self_rag_rewrites_when_no_passage_helps_and_searches_the_new_query() {
    let services = Scripted::default().grade_documents(|request| {
        Ok(documents_graded(request, |id| match id.starts_with("query") {
            true => Relevance::Relevant,
            false => Relevance::Irrelevant,
        }))
    });
    let result = ask("self-rag", &services).await;
    assert_eq!(
        path(&result),
        [
            "retrieve",
            "grade_documents",
            "rewrite",
            "retrieve",
            "grade_documents",
            "generate",
            "grade_generation"
        ]
    );
    assert_eq!(status(&result), WalkStatus::Answered);
    assert_eq!(result.steps[2].query, "query 2");
    let Some(Call::Retrieve(second)) = services
        .calls()
        .into_iter()
        .rfind(|call| matches!(call, Call::Retrieve(_)))
    else {
        panic!("nothing was retrieved");
    };
    assert_eq!(second.query, "query 2");
}

#[tokio::test(start_paused = true)]
async fn self_rag_generates_again_when_the_answer_is_not_supported() {
    let services = Scripted::default().grade_groundedness(|request| {
        let support = if request.answer == "Answer 1." {
            Support::NotSupported
        } else {
            Support::FullySupported
        };
        Ok(supported(request, support))
    });
    let result = ask("self-rag", &services).await;
    assert_eq!(
        path(&result)[2..],
        ["generate", "grade_generation", "generate", "grade_generation"]
    );
    assert_eq!(
        (status(&result), result.answer.as_str()),
        (WalkStatus::Answered, "Answer 2.")
    );
}

#[tokio::test(start_paused = true)]
async fn self_rag_rewrites_when_the_answer_is_not_useful() {
    let services = Scripted::default().grade_usefulness(|request| Ok(useful(request.answer != "Answer 1.")));
    let result = ask("self-rag", &services).await;
    assert_eq!(
        path(&result)[3..],
        [
            "grade_generation",
            "rewrite",
            "retrieve",
            "grade_documents",
            "generate",
            "grade_generation"
        ]
    );
    assert_eq!(status(&result), WalkStatus::Answered);
}

#[tokio::test(start_paused = true)]
async fn corrective_rag_fills_up_from_the_web_what_grading_left() {
    let services = Scripted::default().grade_documents(|request| {
        Ok(documents_graded(request, |id| match id.ends_with("/1") {
            true => Relevance::Relevant,
            false => Relevance::Irrelevant,
        }))
    });
    let result = ask("corrective-rag-binary", &services).await;
    assert_eq!(
        path(&result),
        [
            "retrieve",
            "grade_documents",
            "rewrite_for_web",
            "web_search",
            "grade_web_results",
            "generate",
            "grade_generation"
        ]
    );
    assert_eq!(status(&result), WalkStatus::Answered);
    let ids: Vec<_> = result
        .documents
        .iter()
        .map(|graded| graded.passage.as_ref().unwrap().id.clone())
        .collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    let asked = services.calls().into_iter().find_map(|call| match call {
        Call::Search(request) => request.max_results,
        _ => None,
    });
    assert_eq!(asked, Some(3), "one of four was kept");
}

#[tokio::test(start_paused = true)]
async fn corrective_rag_does_not_search_the_web_when_every_passage_helps() {
    let services = Scripted::default();
    let result = ask("corrective-rag-binary", &services).await;
    assert_eq!(
        path(&result),
        ["retrieve", "grade_documents", "generate", "grade_generation"]
    );
    assert_eq!(status(&result), WalkStatus::Answered);
}

#[tokio::test(start_paused = true)]
async fn r4_corrective_rag_searches_the_web_when_a_passage_has_no_grade() {
    let some = |request: &GradeDocumentsRequest| {
        Ok(documents_graded(request, |id| match id.ends_with("/1") {
            true => Relevance::Ungraded,
            false => Relevance::Relevant,
        }))
    };
    let none = |_: &GradeDocumentsRequest| down(Dependency::Grader);
    for (services, outcome) in [
        (Scripted::default().grade_documents(some), "some_relevant"),
        (Scripted::default().grade_documents(none), "unavailable"),
    ] {
        let result = ask("corrective-rag-binary", &services).await;
        assert_eq!(result.steps[1].outcome, outcome);
        assert_eq!(
            path(&result)[1..],
            [
                "grade_documents",
                "rewrite_for_web",
                "web_search",
                "grade_web_results",
                "generate",
                "grade_generation"
            ]
        );
        // All four are kept, and one from the web comes to them.
        assert_eq!(result.documents.len(), 5);
    }
}

#[tokio::test(start_paused = true)]
async fn grade_documents_ends_in_all_relevant_only_where_each_passage_is_graded_and_relevant() {
    for (relevance, outcome, kept) in [
        (Relevance::Relevant, "all_relevant", 4),
        (Relevance::Irrelevant, "some_relevant", 3),
        (Relevance::Ungraded, "some_relevant", 4),
    ] {
        let services = Scripted::default().grade_documents(move |request| {
            Ok(documents_graded(request, |id| match id.ends_with("/1") {
                true => relevance,
                false => Relevance::Relevant,
            }))
        });
        let result = ask("self-rag", &services).await;
        assert_eq!(
            (result.steps[1].outcome.as_str(), result.documents.len()),
            (outcome, kept),
            "{relevance:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn corrective_rag_goes_on_without_a_web_search_that_is_not_configured() {
    let services = Scripted::default()
        .grade_documents(|request| {
            Ok(documents_graded(request, |id| match id.ends_with("/1") {
                true => Relevance::Relevant,
                false => Relevance::Irrelevant,
            }))
        })
        .search(|_| down(Dependency::WebSearch));
    let result = ask("corrective-rag-binary", &services).await;
    assert_eq!(path(&result)[3..], ["web_search", "generate", "grade_generation"]);
    assert_eq!(result.steps[3].outcome, "unavailable");
    assert_eq!(result.steps[3].error, "web search: connection refused");
    assert_eq!(status(&result), WalkStatus::Answered);
}
