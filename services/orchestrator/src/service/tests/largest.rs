//! The largest walk of each graph, for a client with the default limits of gRPC.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use emend_core::limits::{MAX_MESSAGE_BYTES, MAX_PASSAGE_BYTES, MAX_QUESTION_BYTES, MAX_RESULT_BYTES};
use emend_proto::v1::{
    Citation, Evaluation, GenerateFinished, Passage, Relevance, RetrieveResponse, RewriteResponse, SearchResponse,
    Sentence, Support,
};
use prost::Message as _;

use super::*;
use crate::{
    catalog::builtin,
    graph::{self, Graph},
    walk::scripted::{Scripted, answer, documents_graded, supported, useful},
};

/// Bytes of each sentence; a hundred of them are an answer of the longest kind.
const SENTENCE_BYTES: usize = 600;
/// Most rewrites that a graph makes because no passage helps.
const MAX_COUNT: u32 = 20;

/// A text of this many bytes with a unique beginning.
fn text(begins: &str, number: u32, bytes: usize) -> String {
    let mut text = format!("{begins} {number} ");
    text.extend(std::iter::repeat_n('x', bytes - text.len() - 1));
    text + "."
}

/// A sentence from each passage, which it cites as a whole.
fn written(number: u32, passages: &[Passage]) -> GenerateFinished {
    let sentences = passages.iter().zip(1..).map(|(passage, place)| Sentence {
        text: text(&format!("Sentence {place} of"), number, SENTENCE_BYTES),
        citations: vec![Citation {
            number: place,
            passage_id: passage.id.clone(),
            span: None,
            document_span: None,
        }],
        ..Sentence::default()
    });
    let sentences: Vec<Sentence> = sentences.collect();
    let texts: Vec<&str> = sentences.iter().map(|sentence| sentence.text.as_str()).collect();
    GenerateFinished {
        answer: texts.join(" "),
        sentences,
        ..answer("")
    }
}

/// Services that always find and write something new, as long as allowed, and whose grades keep the
/// walk going.
fn tireless(helps: fn(u32, &str) -> bool) -> Scripted {
    let made = Arc::new(AtomicU32::new(0));
    let next = move || {
        let made = Arc::clone(&made);
        move || made.fetch_add(1, Ordering::Relaxed)
    };
    let passages = |next: &dyn Fn() -> u32, count: u32| -> Vec<Passage> {
        (0..count)
            .map(|_| {
                let number = next();
                Passage {
                    id: format!("passage-{number}"),
                    document_id: text("document", number, 512),
                    text: text("Passage", number, MAX_PASSAGE_BYTES),
                    ..Passage::default()
                }
            })
            .collect()
    };
    let (retrieved, searched, rewritten, generated) = (next(), next(), next(), next());
    let gradings = AtomicU32::new(0);
    Scripted::default()
        .forgetful()
        .retrieve(move |request| {
            Ok(RetrieveResponse {
                passages: passages(&retrieved, request.top_k.unwrap()),
            })
        })
        .search(move |request| {
            Ok(SearchResponse {
                passages: passages(&searched, request.max_results.unwrap()),
                provider: "scripted".to_owned(),
            })
        })
        .grade_documents(move |request| {
            let graded_before = gradings.fetch_add(1, Ordering::Relaxed);
            let mut graded = documents_graded(request, |id| match helps(graded_before, id) {
                true => Relevance::Relevant,
                false => Relevance::Irrelevant,
            });
            // A graph that evaluates all passages together keeps them and searches the web besides.
            graded.set_evaluation(Evaluation::Ambiguous);
            Ok(graded)
        })
        .rewrite(move |_| {
            Ok(RewriteResponse {
                query: text("query", rewritten(), MAX_QUESTION_BYTES),
                usage: None,
            })
        })
        .generate(move |request| Ok(written(generated(), &request.passages)))
        .grade_groundedness(|request| Ok(supported(request, Support::PartiallySupported)))
        .grade_usefulness(|_| Ok(useful(false)))
}

/// Which passages are relevant, by how often passages were graded before: as few as lead to the
/// longest walk.
fn helps(name: &str) -> fn(u32, &str) -> bool {
    match name {
        "self-rag" => |before, _| before >= MAX_COUNT,
        "corrective-rag-binary" => |_, id| id.ends_with(['0', '2', '4', '6', '8']),
        _ => |_, _| true,
    }
}

/// The question with the options that allow the longest walk.
fn largest(graph: &Graph) -> v1::Question {
    let limits = [
        "top_k",
        "max_count",
        "max_retries",
        "web_fallback",
        "max_depth",
        "beam_width",
        "recursion_limit",
    ];
    let limited = graph
        .options()
        .iter()
        .filter(|option| limits.contains(&option.name.as_str()));
    v1::Question {
        graph: graph.name().to_owned(),
        options: limited.map(|option| (option.name.clone(), option.maximum)).collect(),
        ..question(QUESTION)
    }
}

/// A request with a timeout that no machine reaches.
fn patient<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(Duration::from_secs(3600));
    request
}

async fn the_largest_walk_arrives(name: &str) {
    let graph = builtin(name);
    let asked = largest(&graph);
    let options = graph::Options::resolve(graph.options(), &asked.options).unwrap();
    let longest = graph.worst_case(&options).unwrap().steps;
    let mut running = Running::with(tireless(helps(name)), &[]).await;
    let request = patient(v1::AskStreamRequest { question: Some(asked) });
    let mut events = running.client.ask_stream(request).await.unwrap().into_inner();
    let mut result = None;
    while let Some(response) = events.message().await.unwrap() {
        assert!(response.encoded_len() <= MAX_MESSAGE_BYTES);
        if let Some(Event::Finished(finished)) = response.event.unwrap().event {
            result = Some(finished);
        }
    }
    let result = result.unwrap();
    running.stop().await;

    assert!(result.encoded_len() <= MAX_RESULT_BYTES, "{}", result.encoded_len());
    assert!(result.shortened, "the walk is not as large as it could be");
    if name.starts_with("self-r") {
        assert_eq!(
            result.steps.len() as u64,
            longest,
            "the walk is not as long as it could be"
        );
    }
    let texts: Vec<&str> = result.sentences.iter().map(|sentence| sentence.text.as_str()).collect();
    for (sentence, place) in result.sentences.iter().zip(1..) {
        assert_eq!(sentence.text.len(), SENTENCE_BYTES);
        assert_eq!(sentence.citations.len(), 1);
        let cited = &result.documents[sentence.citations[0].number as usize - 1];
        assert_eq!(
            cited.passage.as_ref().unwrap().id,
            sentence.citations[0].passage_id,
            "sentence {place}"
        );
    }
    if result.status() != WalkStatus::Abstained {
        assert!(!texts.is_empty());
        assert_eq!(result.answer, texts.join(" "));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_result_arrives_without_a_stream_too() {
    let asked = largest(&builtin("plain-rag"));
    let mut running = Running::with(tireless(helps("plain-rag")), &[]).await;
    let request = patient(v1::AskRequest { question: Some(asked) });
    let result = running.client.ask(request).await.unwrap().into_inner().result.unwrap();
    assert!(result.shortened);
    running.stop().await;
}

macro_rules! graphs {
    ($($test:ident $graph:literal)+) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                the_largest_walk_arrives($graph).await;
            }
        )+

        #[test]
        fn every_graph_is_walked() {
            let mut walked = [$($graph),+];
            walked.sort_unstable();
            let catalog = crate::catalog::Catalog::load(None).unwrap();
            let graphs: Vec<&str> = catalog.iter().map(|graph| graph.name()).collect();
            assert_eq!(graphs, walked);
        }
    };
}

graphs! {
    the_largest_walk_of_plain_rag_arrives "plain-rag"
    the_largest_walk_of_self_rag_arrives "self-rag"
    the_largest_walk_of_self_rag_final_grade_arrives "self-rag-final-grade"
    the_largest_walk_of_self_rag_tutorial_arrives "self-rag-tutorial"
    the_largest_walk_of_corrective_rag_arrives "corrective-rag"
    the_largest_walk_of_corrective_rag_binary_arrives "corrective-rag-binary"
    the_largest_walk_of_self_corrective_rag_arrives "self-corrective-rag"
    the_largest_walk_of_self_reflective_rag_arrives "self-reflective-rag"
}
