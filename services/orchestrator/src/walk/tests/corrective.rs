//! Corrective RAG as its paper has it: evaluation, strips, the web.

use std::time::Duration;

use emend_proto::v1::{
    Evaluation, Origin, Passage, RefineKnowledgeResponse, RetrieveResponse, RewritePurpose, Span, Strip, StripUnit,
    WalkResult, WalkStatus,
};

use super::{
    super::{
        scripted::{Call, Scripted, documents_graded, down, passage, refined},
        services::Dependency,
    },
    QUESTION, ask, ask_with, path, status,
};
use emend_proto::v1::Relevance;

fn evaluated(evaluation: Evaluation) -> Scripted {
    Scripted::default().grade_documents(move |request| {
        let mut graded = documents_graded(request, |_| Relevance::Relevant);
        graded.set_evaluation(evaluation);
        Ok(graded)
    })
}

#[tokio::test(start_paused = true)]
async fn correct_passages_are_refined_and_the_web_is_left_alone() {
    let services = evaluated(Evaluation::Correct);
    let result = ask("corrective-rag", &services).await;
    assert_eq!(
        path(&result),
        ["retrieve", "evaluate", "refine", "generate", "grade_generation"]
    );
    assert_eq!(status(&result), WalkStatus::Answered);
    assert_eq!(result.steps[2].strips.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn incorrect_passages_are_dropped_for_the_web() {
    let services = evaluated(Evaluation::Incorrect);
    let result = ask("corrective-rag", &services).await;
    assert_eq!(
        path(&result),
        [
            "retrieve",
            "evaluate",
            "rewrite_for_web",
            "web_search",
            "refine",
            "generate",
            "grade_generation"
        ]
    );
    assert!(result.steps[1].passages.iter().all(|graded| !graded.kept));
    let origins: Vec<_> = result
        .documents
        .iter()
        .map(|graded| graded.passage.as_ref().unwrap().origin())
        .collect();
    assert_eq!(origins, [Origin::Web; 4]);
    // The original question is answered and graded, never the keywords.
    for call in services.calls() {
        match call {
            Call::Generate(request) => assert_eq!(request.question, QUESTION),
            Call::RefineKnowledge(request) => assert_eq!(request.question, QUESTION),
            Call::Rewrite(request) => assert_eq!(request.purpose(), RewritePurpose::WebSearch),
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ambiguous_passages_are_joined_with_the_web_and_both_are_refined_once() {
    let services = evaluated(Evaluation::Ambiguous);
    let result = ask("corrective-rag", &services).await;
    assert_eq!(
        path(&result),
        [
            "retrieve",
            "evaluate",
            "refine_and_search",
            "refine",
            "generate",
            "grade_generation"
        ]
    );
    let refined: Vec<Vec<String>> = services
        .calls()
        .into_iter()
        .filter_map(|call| match call {
            Call::RefineKnowledge(request) => Some(request.passages.into_iter().map(|passage| passage.id).collect()),
            _ => None,
        })
        .collect();
    assert_eq!(refined.len(), 2);
    assert!(refined[0].iter().all(|id| !id.starts_with("web")));
    assert!(refined[1].iter().all(|id| id.starts_with("web")));
    assert_eq!(result.documents.len(), 8);
    assert_eq!(result.steps[1].summary, "the best of 4 has 0.50");
}

#[tokio::test(start_paused = true)]
async fn r9_the_web_is_searched_while_the_passages_are_refined() {
    let second = Duration::from_secs(1);
    let services = evaluated(Evaluation::Ambiguous)
        .refine_knowledge(|request| Ok(refined(request, |_| true)))
        .takes(Dependency::Rewriter, second)
        .takes(Dependency::WebSearch, second)
        .takes(Dependency::Grader, 2 * second);
    let result = ask("corrective-rag", &services).await;
    let both = Duration::try_from(result.steps[2].duration.unwrap()).unwrap();
    assert_eq!(result.steps[2].node, "refine_and_search");
    assert!(both < 3 * second, "{both:?}");
}

#[tokio::test(start_paused = true)]
async fn thresholds_and_strips_are_what_the_options_say() {
    let services = evaluated(Evaluation::Correct);
    let options = [
        ("upper_threshold", 0.8),
        ("strip_size", 2.0),
        ("max_strips", 7.0),
        ("strip_threshold", 0.4),
    ];
    ask_with("corrective-rag", &options, &services, Duration::from_secs(60))
        .await
        .unwrap();
    let calls = services.calls();
    let Some(Call::GradeDocuments(graded)) = calls.iter().find(|call| matches!(call, Call::GradeDocuments(_))) else {
        panic!("nothing was evaluated");
    };
    // What is not set is the grader's own.
    assert_eq!((graded.upper_threshold, graded.lower_threshold), (Some(0.8), None));
    let Some(Call::RefineKnowledge(strips)) = calls.iter().find(|call| matches!(call, Call::RefineKnowledge(_))) else {
        panic!("nothing was refined");
    };
    assert_eq!(strips.unit(), StripUnit::Sentences);
    assert_eq!(
        (strips.size, strips.max_strips, strips.threshold),
        (Some(2), Some(7), Some(0.4))
    );
}

#[tokio::test(start_paused = true)]
async fn a_passage_is_put_together_from_its_kept_strips_in_their_order() {
    let text = "One. Two. Three.";
    let services = evaluated(Evaluation::Correct)
        .retrieve(move |_| {
            Ok(RetrieveResponse {
                passages: vec![
                    Passage {
                        text: text.to_owned(),
                        span: Some(Span { start: 100, end: 116 }),
                        ..passage("a")
                    },
                    passage("b"),
                ],
            })
        })
        .refine_knowledge(move |request| {
            let strip = |id: &str, start: u32, end: u32, kept: bool| Strip {
                passage_id: id.to_owned(),
                text: text[start as usize..end as usize].to_owned(),
                span: Some(Span { start, end }),
                score: Some(if kept { 0.9 } else { 0.1 }),
                kept,
                error: String::new(),
            };
            assert_eq!(request.passages.len(), 2);
            Ok(RefineKnowledgeResponse {
                strips: vec![
                    strip("a", 0, 4, false),
                    strip("a", 5, 9, true),
                    strip("a", 10, 16, true),
                    strip("b", 0, 4, false),
                ],
                usage: None,
            })
        });
    let result = ask("corrective-rag", &services).await;
    assert_eq!(result.documents.len(), 1);
    let kept = result.documents[0].passage.as_ref().unwrap();
    // Strips that touch stay as they stand in the document: one piece, which the span places.
    assert_eq!(kept.text, "Two. Three.");
    assert_eq!(kept.span, Some(Span { start: 105, end: 116 }));
    assert!(kept.pieces.is_empty(), "{:?}", kept.pieces);
    assert_eq!(result.documents[0].score, Some(0.9));
    let shown: Vec<bool> = result.steps[2].passages.iter().map(|graded| graded.kept).collect();
    assert_eq!(shown, [true, false]);
    assert_eq!(result.steps[2].summary, "kept 2 of 4 strips");
}

#[tokio::test(start_paused = true)]
async fn r4_strips_without_a_grade_are_kept_and_said() {
    let services = evaluated(Evaluation::Correct).refine_knowledge(|request| {
        let mut response = refined(request, |_| true);
        for strip in &mut response.strips {
            strip.score = None;
            "out of time".clone_into(&mut strip.error);
        }
        Ok(response)
    });
    let result = ask("corrective-rag", &services).await;
    assert_eq!(result.steps[2].summary, "kept 4 of 4 strips, 4 without a grade");
    assert_eq!(result.steps[2].error, "grader: out of time");
    assert_eq!(result.documents[0].relevance(), Relevance::Ungraded);
}

/// A walk whose only passage, of two sentences, is refined into two strips with these scores, kept or not.
async fn with_two_strips(strips: [(Option<f64>, bool); 2]) -> WalkResult {
    let texts = ["The mole is long.", "It was built in 1790."];
    let services = evaluated(Evaluation::Correct)
        .retrieve(move |_| {
            Ok(RetrieveResponse {
                passages: vec![Passage {
                    text: texts.join(" "),
                    ..passage("a")
                }],
            })
        })
        .refine_knowledge(move |_| {
            let places = [(0, 17), (18, 39)];
            let strips = texts.iter().zip(places).zip(strips);
            Ok(RefineKnowledgeResponse {
                strips: strips
                    .map(|((text, (start, end)), (score, kept))| Strip {
                        passage_id: "a".to_owned(),
                        text: (*text).to_owned(),
                        span: Some(Span { start, end }),
                        score,
                        kept,
                        error: String::new(),
                    })
                    .collect(),
                usage: None,
            })
        });
    ask("corrective-rag", &services).await
}

/// The one passage of the refinement's step.
fn refined_passage(result: &WalkResult) -> (Relevance, Option<f64>, bool) {
    let graded = &result.steps[2].passages[0];
    (graded.relevance(), graded.score, graded.kept)
}

#[tokio::test(start_paused = true)]
async fn r4_a_dropped_strip_grades_nothing_that_is_kept() {
    let result = with_two_strips([(Some(0.2), false), (None, true)]).await;
    assert_eq!(refined_passage(&result), (Relevance::Ungraded, None, true));
    assert_eq!(result.documents[0].relevance(), Relevance::Ungraded);
    assert_eq!(
        result.documents[0].passage.as_ref().unwrap().text,
        "It was built in 1790."
    );
    // Nor does a good one that found no place among the strips kept.
    let result = with_two_strips([(Some(0.6), true), (Some(0.9), false)]).await;
    assert_eq!(refined_passage(&result), (Relevance::Relevant, Some(0.6), true));
}

#[tokio::test(start_paused = true)]
async fn r4_a_kept_strip_with_a_grade_grades_its_passage() {
    let result = with_two_strips([(Some(0.8), true), (None, true)]).await;
    assert_eq!(refined_passage(&result), (Relevance::Relevant, Some(0.8), true));
}

#[tokio::test(start_paused = true)]
async fn r4_a_dropped_passage_is_irrelevant_only_where_all_of_it_was_graded() {
    let result = with_two_strips([(Some(0.2), false), (Some(0.3), false)]).await;
    assert_eq!(refined_passage(&result), (Relevance::Irrelevant, Some(0.3), false));
    assert_eq!(status(&result), WalkStatus::Abstained);
    let result = with_two_strips([(Some(0.2), false), (None, false)]).await;
    assert_eq!(refined_passage(&result), (Relevance::Ungraded, None, false));
}

#[tokio::test(start_paused = true)]
async fn without_an_evaluation_everything_is_kept_and_the_web_asked_too() {
    let services = Scripted::default().grade_documents(|_| down(Dependency::Grader));
    let result = ask("corrective-rag", &services).await;
    assert_eq!(result.steps[1].outcome, "unavailable");
    assert_eq!(path(&result)[2], "refine_and_search");
    assert_eq!(result.documents.len(), 8);
}
