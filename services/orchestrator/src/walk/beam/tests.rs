use emend_proto::v1::Passage;

use super::*;

fn segment(text: &str, passage: &str, score: f64) -> Segment {
    let end = u32::try_from(text.chars().count()).unwrap();
    Segment {
        answer: text.to_owned(),
        sentences: vec![Sentence {
            text: text.to_owned(),
            span: Some(Span { start: 0, end }),
            citations: vec![Citation {
                number: 1,
                passage_id: passage.to_owned(),
                span: Some(Span { start: 2, end: end + 2 }),
                document_span: Some(Span {
                    start: 102,
                    end: end + 102,
                }),
            }],
            ..Sentence::default()
        }],
        passage: GradedPassage {
            passage: Some(Passage {
                id: passage.to_owned(),
                ..Passage::default()
            }),
            ..GradedPassage::default()
        },
        score,
        supported: Some(true),
        groundedness: Some(0.9),
        useful: Some(true),
        usefulness: Some(0.8),
    }
}

#[test]
fn segments_join_with_their_places_and_citations() {
    let grown = Hypothesis::default()
        .grown(segment("The tower stands.", "a", 2.0))
        .grown(segment("It is white.", "b", 1.0))
        .grown(segment("It is tall.", "a", 0.0));
    assert_eq!(grown.answer, "The tower stands. It is white. It is tall.");
    assert_eq!(grown.score(), 1.0);
    assert_eq!(grown.evidence.len(), 2);
    let numbers: Vec<u32> = grown.sentences.iter().map(|s| s.citations[0].number).collect();
    assert_eq!(numbers, [1, 2, 1]);
    for sentence in &grown.sentences {
        let span = sentence.span.unwrap();
        let text: String = grown
            .answer
            .chars()
            .skip(span.start as usize)
            .take((span.end - span.start) as usize)
            .collect();
        assert_eq!(text, sentence.text);
        // What is cited stays where it is, whatever comes before the sentence in the answer.
        let cited = sentence.citations[0].clone();
        let (quoted, in_document) = (cited.span.unwrap(), cited.document_span.unwrap());
        assert_eq!((quoted.start, in_document.start), (2, 102));
        assert_eq!(quoted.end - quoted.start, span.end - span.start);
        assert_eq!(in_document.end - in_document.start, span.end - span.start);
    }
}

#[test]
fn one_unsupported_segment_spoils_the_answer() {
    let bad = Segment {
        supported: Some(false),
        groundedness: Some(0.1),
        ..segment("It is white.", "b", 1.0)
    };
    let good = Hypothesis::default().grown(segment("The tower stands.", "a", 2.0));
    let spoilt = good.grown(bad);
    assert_eq!(spoilt.supported, Some(false));
    assert_eq!(spoilt.groundedness, Some(0.1));
    let doubtful = good.grown(Segment {
        supported: None,
        groundedness: None,
        ..segment("It is white.", "b", 1.0)
    });
    assert_eq!((doubtful.supported, doubtful.groundedness), (None, None));
}

#[test]
fn scripts_without_spaces_are_joined_without_one() {
    assert_eq!(joined("灯台は白い。", "高い。"), "灯台は白い。高い。");
    assert_eq!(joined("등대는 희다.", "높다."), "등대는 희다. 높다.");
}
