//! Self-RAG as its paper has it: reflections as probabilities, and a beam of segments.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use emend_core::limits::MAX_QUESTION_BYTES;
use emend_proto::v1::{
    DocumentGrade, GradeDocumentsResponse, GradeGroundednessResponse, Relevance, RetrievalDecision, RetrieveResponse,
    WalkStatus,
};

use super::{
    super::scripted::{Call, Scripted, abstained, answer, calls, decided, passage, useful},
    ask, ask_with, path, status,
};

/// One segment from each passage and then no more.
fn one_segment() -> Scripted {
    Scripted::default().generate(|request| {
        Ok(match request.answer_so_far.is_empty() {
            true => answer(&format!(
                "From {}.",
                request.passages.first().map_or("itself", |passage| &passage.id)
            )),
            false => answer(""),
        })
    })
}

/// Relevance of each passage by its place, from 1.
fn relevance_by_place(
    scores: &'static [f64],
) -> impl Fn(&emend_proto::v1::GradeDocumentsRequest) -> GradeDocumentsResponse {
    move |request| GradeDocumentsResponse {
        grades: request
            .passages
            .iter()
            .zip(scores)
            .map(|(passage, score)| DocumentGrade {
                passage_id: passage.id.clone(),
                relevance: Relevance::Relevant.into(),
                score: Some(*score),
                error: String::new(),
            })
            .collect(),
        ..GradeDocumentsResponse::default()
    }
}

#[tokio::test(start_paused = true)]
async fn the_candidate_that_ranks_best_is_the_answer() {
    let grade = relevance_by_place(&[0.2, 0.9, 0.5, 0.4]);
    let services = one_segment().grade_documents(move |request| Ok(grade(request)));
    let result = ask("self-reflective-rag", &services).await;
    assert!(result.answer.ends_with("/2."), "{}", result.answer);
    assert_eq!(status(&result), WalkStatus::Answered);
    assert_eq!(
        path(&result),
        [
            "decide_retrieval",
            "retrieve",
            "generate_segment",
            "decide_retrieval",
            "retrieve",
            "generate_segment",
            "finalize_response"
        ]
    );
    assert_eq!(result.documents.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn weights_decide_which_reflection_counts() {
    // The second passage is the most relevant, the third supports its segment best, the fourth is the most useful.
    let services = || {
        let grade = relevance_by_place(&[0.2, 0.9, 0.2, 0.2]);
        one_segment()
            .grade_documents(move |request| Ok(grade(request)))
            .grade_groundedness(|request| {
                let fully = if request.answer.ends_with("/3.") { 0.9 } else { 0.5 };
                Ok(GradeGroundednessResponse {
                    fully_supported: Some(fully),
                    partially_supported: Some(0.0),
                    ..super::super::scripted::supported(request, emend_proto::v1::Support::FullySupported)
                })
            })
            .grade_usefulness(|request| {
                let utility = if request.answer.ends_with("/4.") { 5.0 } else { 4.0 };
                Ok(emend_proto::v1::GradeUsefulnessResponse {
                    expected_utility: Some(utility),
                    ..useful(true)
                })
            })
    };
    for (weights, best) in [
        ([1.0, 0.0, 0.0], "/2."),
        ([0.0, 1.0, 0.0], "/3."),
        ([0.0, 0.0, 1.0], "/4."),
    ] {
        let options = [
            ("relevance_weight", weights[0]),
            ("support_weight", weights[1]),
            ("usefulness_weight", weights[2]),
        ];
        let services = services();
        let result = ask_with("self-reflective-rag", &options, &services, Duration::from_secs(60))
            .await
            .unwrap();
        assert!(result.answer.ends_with(best), "{best}: {}", result.answer);
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_grows_by_segments_to_the_depth_allowed_with_its_beam() {
    let found = AtomicU32::new(0);
    let services = Scripted::default()
        .retrieve(move |request| {
            let passages = (0..request.top_k.unwrap())
                .map(|_| passage(&format!("passage {}", found.fetch_add(1, Ordering::Relaxed))));
            Ok(RetrieveResponse {
                passages: passages.collect(),
            })
        })
        .generate(|request| {
            let depth = request.answer_so_far.matches('.').count() + 1;
            Ok(answer(&format!("Segment {depth} of {}.", request.passages[0].id)))
        });
    let options = [("top_k", 3.0), ("beam_width", 2.0), ("max_depth", 4.0)];
    let result = ask_with("self-reflective-rag", &options, &services, Duration::from_secs(60))
        .await
        .unwrap();
    assert_eq!(result.sentences.len(), 4);
    assert_eq!(result.answer.matches("Segment").count(), 4);
    let generated = services
        .calls()
        .iter()
        .filter(|call| matches!(call, Call::Generate(_)))
        .count();
    // Three candidates for the first segment, then three for each of two hypotheses.
    assert_eq!(generated, 3 + 3 * (2 * 3));
    let asked = super::walk_request("self-reflective-rag", &options);
    let worst = asked.graph.worst_case(&asked.options).unwrap();
    assert_eq!(services.model_calls(), worst.model_calls);
    assert_eq!(result.steps.len() as u64, worst.steps);
}

#[tokio::test(start_paused = true)]
async fn r15_a_long_segment_makes_no_query_that_the_retriever_refuses() {
    let services = Scripted::default().generate(|request| {
        let depth = request.answer_so_far.matches('.').count() + 1;
        Ok(answer(&format!("Segment {depth} {}.", "é".repeat(MAX_QUESTION_BYTES))))
    });
    ask("self-reflective-rag", &services).await;
    let queries = services.calls().into_iter().filter_map(|call| match call {
        Call::Retrieve(request) => Some(request.query.len()),
        _ => None,
    });
    let longest = queries.max().unwrap();
    assert!(
        (MAX_QUESTION_BYTES - 1..=MAX_QUESTION_BYTES).contains(&longest),
        "{longest}"
    );
}

#[tokio::test(start_paused = true)]
async fn one_bad_segment_keeps_the_answer_from_passing() {
    let services = Scripted::default()
        .generate(|request| {
            let depth = request.answer_so_far.matches('.').count() + 1;
            Ok(answer(&format!("Segment {depth}.")))
        })
        .grade_groundedness(|request| {
            let support = match request.answer.as_str() {
                "Segment 3." => emend_proto::v1::Support::NotSupported,
                _ => emend_proto::v1::Support::FullySupported,
            };
            Ok(super::super::scripted::supported(request, support))
        });
    let options = [("max_depth", 3.0)];
    let result = ask_with("self-reflective-rag", &options, &services, Duration::from_secs(60))
        .await
        .unwrap();
    // The beam went on from the shorter answer, so it is not what the beam settled on.
    assert_eq!(result.answer, "Segment 1. Segment 2. Segment 3.");
    assert_eq!(status(&result), WalkStatus::Unverified);
}

#[tokio::test(start_paused = true)]
async fn retrieval_is_adaptive_always_or_never_by_its_threshold() {
    for (threshold, decision, first, asked) in [
        (0.2, RetrievalDecision::Yes, "retrieve", true),
        (0.2, RetrievalDecision::No, "generate_without_documents", true),
        (-1.0, RetrievalDecision::No, "retrieve", false),
        (1.0, RetrievalDecision::Yes, "generate_without_documents", false),
    ] {
        let services = one_segment().decide_retrieval(move |_| Ok(decided(decision)));
        let options = [("retrieve_threshold", threshold), ("max_depth", 1.0)];
        let result = ask_with("self-reflective-rag", &options, &services, Duration::from_secs(60))
            .await
            .unwrap();
        assert_eq!(path(&result)[1], first, "{threshold} {decision:?}");
        let calls = services.calls();
        let decisions: Vec<_> = calls
            .iter()
            .filter_map(|call| match call {
                Call::DecideRetrieval(request) => Some(request.threshold),
                _ => None,
            })
            .collect();
        assert_eq!(decisions, if asked { vec![Some(threshold)] } else { vec![] });
    }
}

#[tokio::test(start_paused = true)]
async fn evidence_that_goes_on_serving_is_not_retrieved_again() {
    let services = one_segment().decide_retrieval(|request| {
        Ok(decided(match request.answer_so_far.is_empty() {
            true => RetrievalDecision::Yes,
            false => RetrievalDecision::Continue,
        }))
    });
    let result = ask("self-reflective-rag", &services).await;
    assert_eq!(
        path(&result)[3..],
        ["decide_retrieval", "generate_segment", "finalize_response"]
    );
    // Its passages were graded once.
    let graded = services
        .calls()
        .iter()
        .filter(|call| matches!(call, Call::GradeDocuments(_)))
        .count();
    assert_eq!(graded, 1);
}

#[tokio::test(start_paused = true)]
async fn r8_when_every_candidate_abstains_so_does_the_walk() {
    let services = Scripted::default().generate(|_| Ok(abstained()));
    let result = ask("self-reflective-rag", &services).await;
    assert_eq!(path(&result)[2..], ["generate_segment", "finalize_response"]);
    assert_eq!(status(&result), WalkStatus::Abstained);
    assert_eq!(result.usage, calls(1 + 4 + 4));
}
