use emend_core::limits::MAX_MESSAGE_BYTES;
use emend_proto::v1::{AskResponse, Citation, Sentence, Span, Strip};

use super::*;

fn graded(id: &str, bytes: usize) -> GradedPassage {
    GradedPassage {
        passage: Some(Passage {
            id: id.to_owned(),
            text: "é".repeat(bytes / 2),
            ..Passage::default()
        }),
        content: PassageContent::Whole.into(),
        ..GradedPassage::default()
    }
}

fn text(graded: &GradedPassage) -> &str {
    &graded.passage.as_ref().unwrap().text
}

/// A sentence that cites a passage, up to a character of it or as a whole.
fn citing(id: &str, end: Option<u32>) -> Sentence {
    Sentence {
        text: "It stands.".to_owned(),
        citations: vec![Citation {
            number: 1,
            passage_id: id.to_owned(),
            span: end.map(|end| Span { start: 0, end }),
            document_span: None,
        }],
        ..Sentence::default()
    }
}

fn documents(count: usize, bytes: usize) -> Vec<GradedPassage> {
    (0..count).map(|place| graded(&format!("d{place}"), bytes)).collect()
}

const KIB: usize = 1024;

#[test]
fn the_longest_texts_are_cut_to_one_length_and_the_others_stay() {
    let mut steps = [Step {
        passages: vec![graded("a", 100), graded("b", 60), graded("c", 10)],
        ..Step::default()
    }];
    cut(step_texts(&mut steps), 75);
    let lengths: Vec<usize> = steps[0].passages.iter().map(|graded| text(graded).len()).collect();
    // 42 bytes would fit, and a character is not cut in two.
    assert_eq!(lengths, [42, 42, 10]);
    let contents: Vec<PassageContent> = steps[0].passages.iter().map(GradedPassage::content).collect();
    use PassageContent::{Shortened, Whole};
    assert_eq!(contents, [Shortened, Shortened, Whole]);
    cut(step_texts(&mut steps), 1000);
    assert!(steps[0].passages.iter().all(|graded| text(graded).is_empty()));
}

#[test]
fn a_result_that_fits_stays_as_it_is() {
    let mut result = WalkResult {
        documents: documents(10, 64 * KIB),
        ..WalkResult::default()
    };
    let before = result.clone();
    fit_result(&mut result);
    assert_eq!(result, before);
}

#[test]
fn steps_are_shortened_before_documents() {
    let mut result = WalkResult {
        documents: documents(50, 64 * KIB),
        steps: vec![Step {
            passages: (0..50).map(|place| graded(&format!("s{place}"), 64 * KIB)).collect(),
            ..Step::default()
        }],
        ..WalkResult::default()
    };
    let before = result.documents.clone();
    fit_result(&mut result);
    assert!(result.encoded_len() <= MAX_RESULT_BYTES && result.shortened);
    assert_eq!(result.documents, before);
    let shown = result.steps[0].passages.iter().map(|graded| text(graded).len()).min();
    assert!(shown > Some(10 * KIB), "{shown:?}");
}

#[test]
fn documents_that_nothing_cites_are_shortened_before_those_that_are_cited() {
    let mut result = WalkResult {
        documents: documents(100, 64 * KIB),
        sentences: (0..40).map(|place| citing(&format!("d{place}"), None)).collect(),
        ..WalkResult::default()
    };
    let before = result.clone();
    fit_result(&mut result);
    assert!(result.encoded_len() <= MAX_RESULT_BYTES && result.shortened);
    assert_eq!(result.documents[..40], before.documents[..40]);
    for graded in &result.documents[40..] {
        assert_eq!(graded.content(), PassageContent::Shortened);
        assert!(text(graded).len() > 10 * KIB);
    }
}

#[test]
fn what_is_quoted_stays_where_only_cited_documents_are_left() {
    let end = 10_000;
    let mut result = WalkResult {
        documents: documents(100, 64 * KIB),
        sentences: (0..100).map(|place| citing(&format!("d{place}"), Some(end))).collect(),
        answer: "It stands.".to_owned(),
        ..WalkResult::default()
    };
    let before = result.clone();
    fit_result(&mut result);
    assert!(result.encoded_len() <= MAX_RESULT_BYTES && result.shortened);
    for graded in &result.documents {
        assert!(text(graded).chars().count() >= end as usize);
    }
    assert_eq!((result.answer, result.sentences), (before.answer, before.sentences));
}

#[test]
fn nothing_is_so_large_that_it_does_not_fit() {
    let heavy = |id: &str| {
        let mut graded = graded(id, 64 * KIB);
        let metadata = (0..64).map(|field| (field.to_string(), "m".repeat(KIB)));
        graded.passage.as_mut().unwrap().metadata = metadata.collect();
        graded
    };
    let strip = |place: usize| Strip {
        passage_id: "d0".to_owned(),
        text: "strip".to_owned(),
        span: Some(Span { start: 0, end: 5 }),
        kept: place.is_multiple_of(2),
        ..Strip::default()
    };
    let long = "w".repeat(64 * KIB);
    let mut result = WalkResult {
        documents: (0..100).map(|place| heavy(&format!("d{place}"))).collect(),
        sentences: (0..100)
            .map(|place| citing(&format!("d{place}"), Some(32 * 1024)))
            .collect(),
        steps: (0..200)
            .map(|number| Step {
                number,
                summary: long.clone(),
                query: long.clone(),
                previous_query: long.clone(),
                error: long.clone(),
                passages: vec![heavy(&format!("s{number}")); 3],
                strips: (0..1000).map(strip).collect(),
                ..Step::default()
            })
            .collect(),
        ..WalkResult::default()
    };
    let before = result.sentences.clone();
    let mut step = result.steps[0].clone();
    step.passages = result.documents.clone();
    fit_step(&mut step);
    assert!(step.encoded_len() <= MAX_RESULT_BYTES, "{}", step.encoded_len());
    assert_eq!(step.passages.len(), 100);

    fit_result(&mut result);
    assert!(result.encoded_len() <= MAX_RESULT_BYTES, "{}", result.encoded_len());
    assert_eq!(result.sentences, before);
    assert_eq!((result.steps.len(), result.documents.len()), (200, 100));
    let response = AskResponse { result: Some(result) };
    assert!(response.encoded_len() <= MAX_MESSAGE_BYTES);
}
