//! Every graph with a language model in the grader, the generator and the rewriter: a stand-in behind real HTTP.

use emend_cli::cluster::{Cluster, Plan};
use emend_proto::v1::WalkStatus;
use emend_testkit::language_model::LanguageModel;
use emend_tests::{Fixture, question};

const LIGHTHOUSE: &str = "The Torvik lighthouse was built in 1873 by the engineer Ansgar Lund. It stands on a granite \
    skerry north of the harbour.";
const BAKERY: &str = "The village bakery sells rye bread on Tuesdays.";

async fn fixture(model: &LanguageModel) -> Fixture {
    let flags = ["--llm-url", &model.url(), "--llm-model", "stand-in"];
    Fixture::with_flags(Plan::default(), &flags).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_graph_walks_with_a_language_model() {
    let model = LanguageModel::start().await;
    for (graph, wanted) in [
        ("corrective-rag", ["GradeDocuments", "RefineKnowledge"]),
        ("corrective-rag-binary", ["GradeDocuments", "GradeUsefulness"]),
        ("self-corrective-rag", ["GradeGroundedness", "GradeUsefulness"]),
        ("self-rag", ["GradeDocuments", "GradeGroundedness"]),
        ("self-rag-final-grade", ["GradeGroundedness", "GradeUsefulness"]),
        ("self-rag-tutorial", ["GradeDocuments", "GradeUsefulness"]),
        ("self-reflective-rag", ["DecideRetrieval", "GradeUsefulness"]),
    ] {
        // A cluster of its own each: a grader keeps what it has graded for another graph.
        let fixture = fixture(&model).await;
        fixture
            .ingest("village", &[("lighthouse", LIGHTHOUSE), ("bakery", BAKERY)])
            .await;
        let before = model.asked().len();
        let result = fixture
            .ask(question("Who built the Torvik lighthouse in 1873?", graph, "village"))
            .await
            .expect(graph);
        assert_eq!(result.status(), WalkStatus::Answered, "{graph}: {result:?}");
        assert!(result.answer.contains("Ansgar Lund"), "{graph}: {}", result.answer);
        let asked = model.asked().split_off(before);
        for wanted in wanted {
            assert!(
                asked.iter().any(|asked| asked == wanted),
                "{graph}: no {wanted} in {asked:?}"
            );
        }
        assert!(asked.iter().any(|asked| asked == "answer"), "{graph}: {asked:?}");
        let usage = result.usage.expect("what it cost");
        assert_eq!(usage.model_calls as usize, asked.len(), "{graph}: {asked:?}");
        assert!(usage.input_tokens > 0, "{graph}");
        fixture.cluster.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_of_tokens_ends_a_walk_with_a_language_model() {
    let model = LanguageModel::start().await;
    let fixture = fixture(&model).await;
    fixture.ingest("village", &[("lighthouse", LIGHTHOUSE)]).await;
    let asked = emend_proto::v1::Question {
        budget: Some(emend_proto::v1::Budget {
            // One grade of a passage costs fifteen.
            tokens: Some(15),
            ..emend_proto::v1::Budget::default()
        }),
        ..question("Who built the Torvik lighthouse in 1873?", "self-rag", "village")
    };
    let result = fixture.ask(asked).await.unwrap();
    assert_eq!(result.exhausted(), emend_proto::v1::Limit::Tokens);
    assert_eq!(result.status(), WalkStatus::Abstained);
    assert!(!model.asked().iter().any(|asked| asked == "answer"));
    fixture.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_would_never_be_asked_is_refused_before_anything_starts() {
    let data = tempfile::tempdir().unwrap();
    for flags in [
        ["--llm-fallback", "http://127.0.0.1:1/v1#small"],
        ["--llm-model", "small"],
    ] {
        let local = emend_tests::local_options(data.path(), &flags);
        let error = match Cluster::start(&local, Plan::default()).await {
            Ok(_) => panic!("started with {flags:?}"),
            Err(error) => error.to_string(),
        };
        for word in [flags[0], flags[1], "give --llm-url"] {
            assert!(error.contains(word), "{error}");
        }
    }
}
