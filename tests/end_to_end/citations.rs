//! A citation leads to the quoted characters of the document as the user has it, whatever a walk made of its passages.

use std::collections::HashMap;

use emend_proto::v1::{Question, Span, Strip, WalkResult};
use emend_tests::{Fixture, question};

/// Sections with letters of more than one byte before the quotations, and in the middle one a sentence that helps nobody.
const TORVIK: &str = "# Torvik\n\nThe ferry from Ærøskøbing calls twice a week. Its crew likes smørrebrød.\n\n\
    ## The lighthouse\n\nThe Torvik lighthouse was built in 1873 by the engineer Ansgar Lund. Café Møller sells \
    cardamom buns on Sundays. The lamp of the Torvik lighthouse burned whale oil until 1911.\n\n\
    ## The bakery\n\nRye bread is sold on Tuesdays. The oven is heated with birch wood.\n";

fn cut(text: &str, span: Span) -> String {
    let characters = text.chars().skip(span.start as usize);
    characters.take((span.end - span.start) as usize).collect()
}

/// Whether a strip was dropped between two of the same passage that were kept.
fn drops_a_middle_strip(result: &WalkResult) -> bool {
    let mut passages: HashMap<&str, Vec<&Strip>> = HashMap::new();
    for strip in result.steps.iter().flat_map(|step| &step.strips) {
        passages.entry(&strip.passage_id).or_default().push(strip);
    }
    passages.values().any(|strips| {
        let kept: Vec<bool> = strips.iter().map(|strip| strip.kept).collect();
        let first = kept.iter().position(|kept| *kept);
        let last = kept.iter().rposition(|kept| *kept);
        first
            .zip(last)
            .is_some_and(|(first, last)| kept[first..last].contains(&false))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_citation_of_a_refined_passage_cuts_its_sentence_out_of_the_document() {
    let fixture = Fixture::start().await;
    fixture.ingest("village", &[("torvik.md", TORVIK)]).await;
    let asked = Question {
        options: [("strip_size".to_owned(), 1.0)].into(),
        ..question(
            "Who built the Torvik lighthouse, and what did its lamp burn until 1911?",
            "corrective-rag",
            "village",
        )
    };
    let result = fixture.ask(asked).await.unwrap();
    assert!(drops_a_middle_strip(&result), "{result:#?}");
    let mut cited = String::new();
    for sentence in &result.sentences {
        assert!(!sentence.citations.is_empty(), "{sentence:?}");
        for citation in &sentence.citations {
            let in_document = citation.document_span.expect("a place in the document");
            assert_eq!(cut(TORVIK, in_document), sentence.text);
            let passage = result.documents[citation.number as usize - 1].passage.as_ref();
            let in_passage = citation.span.expect("a place in the passage");
            assert_eq!(cut(&passage.expect("a passage").text, in_passage), sentence.text);
            cited.push_str(&sentence.text);
        }
    }
    // What stands behind the dropped strip is where a place would go wrong.
    assert!(cited.contains("whale oil"), "{result:#?}");
    fixture.cluster.stop().await;
}
