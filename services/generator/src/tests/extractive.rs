//! Quoted answers, with the evaluator on the hashed embedder.

use emend_proto::v1::{FinishReason, GenerateRequest, Passage, Span, TextPiece};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::{ask, extractive};

const QUESTION: &str = "Who designed the lighthouse of Corran Point?";
const BREAD: &str = "Knead the dough for ten minutes. Then let it rest under a damp cloth.";
const LIGHT: &str = "Über Corran Point: fog is common there.\n\nThe lighthouse of Corran Point was designed by Ada Marsh. \
                     Gulls nest on its roof.";
const DESIGNED: &str = "The lighthouse of Corran Point was designed by Ada Marsh.";
const AGAIN: &str = "Records name Ada Marsh: she designed the Corran Point lighthouse alone.";

fn texts(request: &GenerateRequest, citation: &emend_proto::v1::Citation) -> String {
    let passage = &request.passages[citation.number as usize - 1];
    assert_eq!(passage.id, citation.passage_id);
    let span = citation.span.unwrap();
    passage
        .text
        .chars()
        .skip(span.start as usize)
        .take((span.end - span.start) as usize)
        .collect()
}

#[tokio::test]
async fn the_sentence_that_answers_is_quoted_alone_and_cited_to_the_character() {
    let generator = extractive().await;
    let request = ask(QUESTION, &[BREAD, LIGHT]);
    let (deltas, finished) = generator.answer(request.clone()).await.unwrap();
    assert_eq!(deltas, [DESIGNED]);
    assert_eq!(finished.sentences.len(), 1);
    assert_eq!(finished.sentences[0].citations.len(), 1);
    assert_eq!(finished.sentences[0].citations[0].number, 2);
    assert_eq!(texts(&request, &finished.sentences[0].citations[0]), DESIGNED);
    assert!(!finished.abstained);
    assert_eq!(finished.finish_reason(), FinishReason::Stop);
    assert_eq!(
        (finished.model.as_str(), finished.usage.unwrap().model_calls),
        ("extractive", 0)
    );
}

#[tokio::test]
async fn lines_of_code_stay_lines() {
    let generator = extractive().await;
    let text = "The lighthouse of Corran Point is lit with:\n\n```sh\nlamp --on\nlamp --turn\n```\n";
    let request = ask("How is the lighthouse of Corran Point lit?", &[text]);
    let (deltas, finished) = generator.answer(request.clone()).await.unwrap();
    assert_eq!(
        finished.answer,
        "The lighthouse of Corran Point is lit with:\nlamp --on\nlamp --turn"
    );
    assert_eq!(deltas.concat(), finished.answer);
    let quoted: Vec<_> = finished
        .sentences
        .iter()
        .map(|sentence| texts(&request, &sentence.citations[0]))
        .collect();
    assert_eq!(
        quoted,
        [
            "The lighthouse of Corran Point is lit with:",
            "lamp --on",
            "lamp --turn"
        ]
    );
}

#[tokio::test]
async fn a_quotation_says_where_it_stands_in_the_document() {
    let generator = extractive().await;
    let place = async |passage: Passage| {
        let request = GenerateRequest {
            passages: vec![passage],
            ..ask(QUESTION, &[])
        };
        let (_, finished) = generator.answer(request).await.unwrap();
        let citation = finished.sentences[0].citations[0].clone();
        (citation.span.unwrap(), citation.document_span)
    };
    let text = ask(QUESTION, &[LIGHT]).passages.remove(0);
    let at = |start: u32, end: u32| Some(Span { start, end });
    // One piece of the document, from its 1000th character on.
    let length = u32::try_from(LIGHT.chars().count()).unwrap();
    let (quoted, in_document) = place(Passage {
        span: at(1000, 1000 + length),
        ..text.clone()
    })
    .await;
    assert_eq!(in_document, at(1000 + quoted.start, 1000 + quoted.end));
    // Two pieces, what is quoted in the second.
    let pieces = [(0, quoted.start - 2, 1000), (quoted.start, length, 2000)].map(|(start, end, document)| TextPiece {
        in_text: at(start, end),
        in_document: at(document, document + (end - start)),
    });
    let (_, in_document) = place(Passage {
        span: at(1000, 2000 + length - quoted.start),
        pieces: pieces.to_vec(),
        ..text.clone()
    })
    .await;
    assert_eq!(in_document, at(2000, 2000 + (quoted.end - quoted.start)));
    // The web has no places.
    let (_, in_document) = place(text).await;
    assert_eq!(in_document, None);
}

#[tokio::test]
async fn without_support_it_abstains_in_the_language_of_the_question() {
    let generator = extractive().await;
    for (question, phrase) in [
        (QUESTION, "The documents do not answer this question."),
        (
            "코란 곶의 등대는 누가 설계했습니까?",
            "문서에는 이 질문에 대한 답이 없습니다.",
        ),
        (
            "コラン岬の灯台は誰が設計しましたか？",
            "文書にはこの質問に対する答えがありません。",
        ),
        ("科兰角的灯塔是谁设计的？", "文档没有回答这个问题。"),
        ("科蘭角的燈塔是誰設計的？", "文件沒有回答這個問題。"),
    ] {
        for texts in [&[][..], &[BREAD][..], &[" "][..]] {
            let (deltas, finished) = generator.answer(ask(question, texts)).await.unwrap();
            assert!(finished.abstained, "{question} from {texts:?}: {}", finished.answer);
            assert_eq!(deltas, [phrase]);
            assert!(finished.sentences.iter().all(|sentence| sentence.citations.is_empty()));
        }
    }
}

#[tokio::test]
async fn a_later_attempt_says_something_else_until_nothing_is_left() {
    let generator = extractive().await;
    let mut request = ask(QUESTION, &[LIGHT, AGAIN]);
    let mut answers = Vec::new();
    for attempt in 1..10 {
        request.attempt = attempt;
        let (_, finished) = generator.answer(request.clone()).await.unwrap();
        if finished.abstained {
            break;
        }
        assert!(
            !answers.contains(&finished.answer),
            "attempt {attempt} repeats {:?}",
            finished.answer
        );
        answers.push(finished.answer);
    }
    assert!((2..9).contains(&answers.len()), "{answers:?}");
    request.attempt = 2;
    request.unsupported = vec![answers[0].clone()];
    let (_, finished) = generator.answer(request).await.unwrap();
    assert_eq!(finished.answer, answers[1]);
}

#[tokio::test]
async fn the_limit_in_tokens_cuts_between_words_of_the_quotation() {
    let generator = extractive().await;
    let mut request = ask(QUESTION, &[LIGHT]);
    request.max_tokens = Some(5);
    let (_, finished) = generator.answer(request.clone()).await.unwrap();
    assert_eq!(finished.answer, "The lighthouse of Corran Point");
    assert_eq!(finished.finish_reason(), FinishReason::Length);
    assert_eq!(texts(&request, &finished.sentences[0].citations[0]), finished.answer);
}

#[tokio::test]
async fn the_service_is_healthy_by_name() {
    let generator = extractive().await;
    let request = HealthCheckRequest {
        service: crate::SERVICE_NAME.to_owned(),
    };
    let response = HealthClient::new(generator.service.channel.clone())
        .check(request)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        response.status(),
        tonic_health::pb::health_check_response::ServingStatus::Serving
    );
}
