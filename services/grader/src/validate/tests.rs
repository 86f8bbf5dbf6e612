use emend_core::ServiceError;

use super::*;

fn fields(result: Result<(), InvalidRequest>) -> Vec<String> {
    result
        .err()
        .map(|e| e.violations().into_iter().map(|v| v.field).collect())
        .unwrap_or_default()
}

fn passage(text: &str) -> Passage {
    Passage {
        id: "p".to_owned(),
        text: text.to_owned(),
        ..Passage::default()
    }
}

#[test]
fn the_limits_themselves_are_allowed() {
    let request = GradeDocumentsRequest {
        question: "q".repeat(MAX_QUESTION_BYTES),
        passages: vec![passage(&"p".repeat(MAX_PASSAGE_BYTES)); MAX_PASSAGES],
        relevance_threshold: Some(0.0),
        upper_threshold: Some(1.0),
        lower_threshold: Some(1.0),
    };
    assert_eq!(fields(documents(&request)), Vec::<String>::new());
}

#[test]
fn headings_are_checked_wherever_passages_are() {
    let mut long = passage("text");
    long.headings = vec!["h".repeat(201)];
    let (question, answer) = ("q".to_owned(), "a".to_owned());
    let passages = vec![passage("text"), long];
    let checked = [
        documents(&GradeDocumentsRequest {
            question: question.clone(),
            passages: passages.clone(),
            ..Default::default()
        }),
        groundedness(&GradeGroundednessRequest {
            question: question.clone(),
            answer: answer.clone(),
            passages: passages.clone(),
            ..Default::default()
        }),
        usefulness(&GradeUsefulnessRequest {
            question: question.clone(),
            answer,
            passages: passages.clone(),
        }),
        retrieval(&DecideRetrievalRequest {
            question: question.clone(),
            passages: passages.clone(),
            ..Default::default()
        }),
        refinement(&RefineKnowledgeRequest {
            question,
            passages,
            ..Default::default()
        }),
    ];
    for checked in checked {
        assert_eq!(fields(checked), ["passages[1].headings"]);
    }
}

#[test]
fn every_bad_field_of_documents_is_named_at_once() {
    let request = GradeDocumentsRequest {
        question: " \n".to_owned(),
        passages: vec![],
        relevance_threshold: Some(f64::NAN),
        upper_threshold: Some(0.2),
        lower_threshold: Some(0.4),
    };
    assert_eq!(
        fields(documents(&request)),
        ["question", "passages", "relevance_threshold", "lower_threshold"]
    );
    let request = GradeDocumentsRequest {
        question: "q".repeat(MAX_QUESTION_BYTES + 1),
        passages: vec![passage(&"p".repeat(MAX_PASSAGE_BYTES + 1)); MAX_PASSAGES + 1],
        upper_threshold: Some(f64::INFINITY),
        lower_threshold: Some(-0.1),
        ..GradeDocumentsRequest::default()
    };
    let fields = fields(documents(&request));
    assert_eq!(fields[..3], ["question", "passages", "passages[0].text"]);
    assert_eq!(fields[fields.len() - 2..], ["upper_threshold", "lower_threshold"]);
}

#[test]
fn a_strip_is_as_long_as_its_unit_allows() {
    let size = |unit: StripUnit, size| {
        fields(refinement(&RefineKnowledgeRequest {
            question: "q".to_owned(),
            passages: vec![passage("p")],
            unit: unit.into(),
            size: Some(size),
            max_strips: Some(100),
            threshold: Some(1.0),
        }))
    };
    for (unit, most) in [
        (StripUnit::Unspecified, 100),
        (StripUnit::Sentences, 100),
        (StripUnit::Words, 1000),
    ] {
        assert_eq!(size(unit, most), Vec::<String>::new());
        assert_eq!(size(unit, most + 1), ["size"]);
        assert_eq!(size(unit, 0), ["size"]);
    }
    assert_eq!(size(StripUnit::Passage, 0), Vec::<String>::new());
}

#[test]
fn every_bad_field_of_a_decision_and_a_refinement_is_named_at_once() {
    let decision = DecideRetrievalRequest {
        question: String::new(),
        answer_so_far: "a".repeat(MAX_ANSWER_BYTES + 1),
        passages: vec![passage("p"); MAX_PASSAGES + 1],
        threshold: Some(1.1),
    };
    assert_eq!(
        fields(retrieval(&decision)),
        ["question", "answer_so_far", "passages", "threshold"]
    );
    let refinement = RefineKnowledgeRequest {
        unit: 9,
        max_strips: Some(101),
        threshold: Some(f64::NAN),
        ..RefineKnowledgeRequest::default()
    };
    assert_eq!(
        fields(super::refinement(&refinement)),
        ["question", "passages", "unit", "max_strips", "threshold"]
    );
}

#[test]
fn evidence_without_text_and_blank_sentences_are_named() {
    let request = GradeGroundednessRequest {
        question: "q".to_owned(),
        passages: vec![passage(" ")],
        answer: String::new(),
        sentences: vec![
            Sentence {
                text: "A.".to_owned(),
                ..Sentence::default()
            },
            Sentence::default(),
        ],
    };
    assert_eq!(
        fields(groundedness(&request)),
        ["passages", "answer", "sentences[1].text"]
    );
    let request = GradeUsefulnessRequest {
        passages: vec![passage("p"); MAX_PASSAGES + 1],
        ..GradeUsefulnessRequest::default()
    };
    assert_eq!(fields(usefulness(&request)), ["question", "answer", "passages"]);
}

#[test]
fn counts_come_before_what_is_counted() {
    let request = GradeGroundednessRequest {
        question: "q".to_owned(),
        passages: vec![passage(" "); 100_000],
        answer: "a".to_owned(),
        sentences: vec![Sentence::default(); 100_000],
    };
    let found = fields(groundedness(&request));
    assert_eq!(found[..3], ["passages", "passages", "sentences"]);
    assert_eq!(found.len(), 3 + MAX_NAMED);
}
