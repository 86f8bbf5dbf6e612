use emend_proto::v1::{GradedPassage, Origin, Span};

use super::*;

fn result() -> WalkResult {
    let passage = |source: &str, title: &str| GradedPassage {
        passage: Some(Passage {
            document_id: source.to_owned(),
            source: source.to_owned(),
            title: title.to_owned(),
            ..Passage::default()
        }),
        ..GradedPassage::default()
    };
    let sentence = |start, end, numbers: &[u32]| Sentence {
        span: Some(Span { start, end }),
        citations: numbers
            .iter()
            .map(|number| Citation {
                number: *number,
                document_span: (*number == 1).then_some(Span { start: 9, end: 57 }),
                ..Citation::default()
            })
            .collect(),
        ..Sentence::default()
    };
    WalkResult {
        status: WalkStatus::Answered.into(),
        answer: "Größe: 25 Tage.\n\nChefs genehmigen.".to_owned(),
        sentences: vec![sentence(0, 15, &[1]), sentence(17, 34, &[2, 1])],
        documents: vec![
            passage("handbook/leave.md", "Leave"),
            passage("https://example.com/a?b=c", "[x](javascript:alert`1`) <b>"),
        ],
        ..WalkResult::default()
    }
}

#[test]
fn a_footnote_has_the_page_and_the_headings() {
    let mut result = result();
    for document in &mut result.documents {
        let passage = document.passage.as_mut().unwrap();
        passage.headings = vec!["Page 3".to_owned(), "[Leave](x)\n".to_owned()];
    }
    let content = of(&result).content();
    assert!(
        content.contains("[1] handbook/leave.md — Leave, page 3 › (Leave)(x)␊ (characters 9–57)"),
        "{content}"
    );
}

#[test]
fn a_footnote_of_the_web_says_so() {
    let mut result = result();
    for (document, origin) in result.documents.iter_mut().zip([Origin::Local, Origin::Web]) {
        document.passage.as_mut().unwrap().set_origin(origin);
    }
    let answer = of(&result);
    let content = answer.content();
    assert!(content.contains("\n[1] handbook/leave.md — Leave"), "{content}");
    assert!(content.contains("\n[2] web: https://example.com/a?b=c — "), "{content}");
    // The address itself stays one.
    assert_eq!(
        answer.annotations[1]["url_citation"]["url"],
        "https://example.com/a?b=c"
    );
}

#[test]
fn citations_are_marks_footnotes_and_annotations() {
    let answer = of(&result());
    let content = answer.content();
    assert_eq!(
        content,
        "Größe: 25 Tage. [1]\n\nChefs genehmigen. [2] [1]\n\n\
         [1] handbook/leave.md — Leave (characters 9–57)  \n\
         [2] https://example.com/a?b=c — (x)(javascript:alert'1') ‹b›"
    );
    let chars: Vec<char> = content.chars().collect();
    let places: Vec<(String, &str)> = answer
        .annotations
        .iter()
        .map(|annotation| {
            let cited = &annotation["url_citation"];
            let at = |name: &str| usize::try_from(cited[name].as_u64().unwrap()).unwrap();
            let mark = chars[at("start_index")..at("end_index")].iter().collect();
            (mark, cited["url"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        places,
        [
            ("[1]".to_owned(), "handbook/leave.md"),
            ("[2]".to_owned(), "https://example.com/a?b=c"),
            ("[1]".to_owned(), "handbook/leave.md"),
        ]
    );
}

#[test]
fn an_abstention_says_so_and_cites_nothing() {
    let mut result = result();
    result.status = WalkStatus::Abstained.into();
    let answer = of(&result);
    assert_eq!(answer.content(), result.answer);
    assert!(answer.annotations.is_empty());
}

#[test]
fn an_answer_that_is_not_verified_says_so() {
    let mut result = result();
    result.status = WalkStatus::Unverified.into();
    "the limit of 3 steps was reached".clone_into(&mut result.reason);
    assert!(
        of(&result)
            .content()
            .ends_with("Unverified: the limit of 3 steps was reached")
    );
}

#[test]
fn places_that_do_not_fit_are_passed_over() {
    let mut result = result();
    result.sentences[0].span = Some(Span { start: 0, end: 900 });
    let content = of(&result).content();
    assert!(
        content.starts_with("Größe: 25 Tage.\n\nChefs genehmigen. [2]"),
        "{content}"
    );
}

#[test]
fn an_address_that_would_run_is_none() {
    let passage = |source: &str| Passage {
        document_id: "a b".to_owned(),
        source: source.to_owned(),
        ..Passage::default()
    };
    assert_eq!(url(&passage("javascript:alert(1)")), "urn:emend:document:a+b");
    assert_eq!(url(&passage("data:text/html,x")), "urn:emend:document:a+b");
    assert_eq!(url(&passage("https://example.com/")), "https://example.com/");
    assert_eq!(url(&passage("a/b.md")), "a/b.md");
}
