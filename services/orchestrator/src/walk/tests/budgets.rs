//! Budgets of a question: the first limit that is reached ends the walk with the best answer so far
//! and is reported.

use std::time::Duration;

use emend_proto::v1::{Limit, Support, Usage, WalkResult, WalkStatus};

use super::{
    super::{
        Budget, Events, WalkMetrics,
        scripted::{Call, Scripted, answer, supported, useful},
        services::Dependency,
        walk,
    },
    path, status, walk_request,
};
use crate::walk::tests::Deadline;

async fn ask_within(graph: &str, budget: Budget, services: &Scripted) -> WalkResult {
    let walk_request = super::super::WalkRequest {
        budget,
        ..walk_request(graph, &[])
    };
    let deadline = Deadline::after(Duration::from_secs(60));
    walk(
        walk_request,
        services,
        deadline,
        &Events::none(),
        &WalkMetrics::default(),
    )
    .await
    .unwrap()
}

/// Answers that never pass.
fn never_useful() -> Scripted {
    Scripted::default().grade_usefulness(|_| Ok(useful(false)))
}

#[tokio::test(start_paused = true)]
async fn the_budget_of_steps_ends_a_walk() {
    let budget = Budget {
        steps: Some(4),
        ..Budget::default()
    };
    let result = ask_within("self-rag", budget, &never_useful()).await;
    assert_eq!(result.steps.len(), 4);
    assert_eq!(
        (status(&result), result.exhausted()),
        (WalkStatus::Unverified, Limit::Steps)
    );
    assert_eq!(result.reason, "the budget of 4 steps was reached");
}

#[tokio::test(start_paused = true)]
async fn no_more_models_are_called_than_the_budget_allows() {
    for most in 0..12 {
        let budget = Budget {
            model_calls: Some(most),
            ..Budget::default()
        };
        let services = never_useful();
        let result = ask_within("self-rag", budget, &services).await;
        assert!(services.model_calls() <= u64::from(most), "{most}: {:?}", path(&result));
        assert_eq!(result.exhausted(), Limit::ModelCalls, "{most}");
        // Four grades and a generation are five; from then on there is an answer to show.
        let expected = if most < 5 {
            WalkStatus::Abstained
        } else {
            WalkStatus::Unverified
        };
        assert_eq!(status(&result), expected, "{most}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_those_of_the_graph_count_against_the_budget() {
    // Retrieving is free, the grades of four passages are four calls, and an answer is one.
    for (fallbacks, answers) in [(0, 2), (1, 1), (40, 1)] {
        let services = never_useful().generate_nth(move |number| emend_proto::v1::GenerateFinished {
            usage: super::super::scripted::calls(1 + fallbacks),
            ..answer(&format!("Answer {number}."))
        });
        let budget = Budget {
            // A second round would come to thirteen: a query, four more grades, and an answer.
            model_calls: Some(13),
            ..Budget::default()
        };
        let result = ask_within("self-rag", budget, &services).await;
        let written = path(&result).iter().filter(|node| **node == "generate").count();
        assert_eq!(written, answers, "{fallbacks}: {:?}", path(&result));
        assert_eq!(result.exhausted(), Limit::ModelCalls);
        if fallbacks == 40 {
            assert_eq!(path(&result).last(), Some(&"generate"));
            assert_eq!(
                result.reason,
                "the budget of 13 model calls leaves 0 and the next step may need 2"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_web_is_not_searched_beyond_the_budget() {
    let budget = Budget {
        web_searches: Some(0),
        ..Budget::default()
    };
    let services = never_useful();
    let result = ask_within("self-corrective-rag", budget, &services).await;
    assert!(!services.calls().iter().any(|call| matches!(call, Call::Search(_))));
    assert_eq!(
        (status(&result), result.exhausted()),
        (WalkStatus::Unverified, Limit::WebSearches)
    );
}

#[tokio::test(start_paused = true)]
async fn tokens_that_are_used_up_end_a_walk_after_the_step() {
    let budget = Budget {
        tokens: Some(100),
        ..Budget::default()
    };
    let services = never_useful().generate_nth(|number| emend_proto::v1::GenerateFinished {
        usage: Some(Usage {
            model_calls: 1,
            input_tokens: 50,
            output_tokens: 10,
        }),
        ..answer(&format!("Answer {number}."))
    });
    let result = ask_within("self-rag", budget, &services).await;
    assert_eq!(path(&result).iter().filter(|node| **node == "generate").count(), 2);
    assert_eq!(
        (status(&result), result.exhausted()),
        (WalkStatus::Unverified, Limit::Tokens)
    );
    assert_eq!(result.reason, "the budget of 100 tokens was reached with 120");
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_is_spent_still_lets_a_good_answer_through() {
    // Everything but the last step, which calls no service, has used the budget up.
    let budget = Budget {
        model_calls: Some(7),
        tokens: Some(1),
        ..Budget::default()
    };
    let services = Scripted::default().grade_usefulness(|_| {
        Ok(emend_proto::v1::GradeUsefulnessResponse {
            usage: Some(Usage {
                model_calls: 1,
                input_tokens: 500,
                output_tokens: 1,
            }),
            ..useful(true)
        })
    });
    let result = ask_within("self-corrective-rag", budget, &services).await;
    assert_eq!(path(&result).last(), Some(&"finalize_response"));
    assert_eq!(
        (status(&result), result.exhausted()),
        (WalkStatus::Answered, Limit::Unspecified)
    );
}

#[tokio::test(start_paused = true)]
async fn time_that_is_used_up_ends_a_walk() {
    let budget = Budget {
        time: Some(Duration::from_secs(5)),
        ..Budget::default()
    };
    let services = never_useful().takes(Dependency::Generator, Duration::from_secs(2));
    let began = tokio::time::Instant::now();
    let result = ask_within("self-rag", budget, &services).await;
    assert!(began.elapsed() <= Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(
        (status(&result), result.exhausted()),
        (WalkStatus::Unverified, Limit::Time)
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_shown_is_the_best_answer_and_not_the_last() {
    // The second answer is supported but not useful; the others are not even supported.
    let services = never_useful().grade_groundedness(|request| {
        Ok(match request.answer.as_str() {
            "Answer 2." => supported(request, Support::FullySupported),
            _ => supported(request, Support::NotSupported),
        })
    });
    let budget = Budget {
        // Up to the grades of the third answer.
        steps: Some(11),
        ..Budget::default()
    };
    let result = ask_within("self-rag", budget, &services).await;
    assert!(path(&result).iter().filter(|node| **node == "generate").count() > 2);
    assert_eq!(result.answer, "Answer 2.");
}
