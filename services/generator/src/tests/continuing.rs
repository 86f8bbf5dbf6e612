//! Answers piece by piece: so many sentences at most, after what is there already, and how likely they are.

use emend_models::chat::{ChatDelta, FinishReason as ModelFinish, TokenLogprobs, Usage};
use emend_proto::v1::chat_message::Role;
use emend_proto::v1::{ChatMessage, FinishReason};
use tonic::Code;

use super::{Streamed, ask, extractive, openai};

const QUESTION: &str = "Who designed the lighthouse of Corran Point and who painted the lighthouse of Corran Point?";
const DESIGNED: &str = "The lighthouse of Corran Point was designed by Ada Marsh.";
const PAINTED: &str = "The lighthouse of Corran Point was painted by Noor Hale.";
const TEXT: &str = "The lighthouse of Corran Point was designed by Ada Marsh. The lighthouse of \
                    Corran Point was painted by Noor Hale. Gulls nest on its roof.";
const TEXTS: [&str; 2] = ["The tower is red.", "The tower was built in 1871."];

#[tokio::test]
async fn a_quotation_has_no_more_sentences_than_asked_for() {
    let generator = extractive().await;
    let mut request = ask(QUESTION, &[TEXT]);
    let (_, finished) = generator.answer(request.clone()).await.unwrap();
    assert_eq!(finished.answer, format!("{DESIGNED} {PAINTED}"));
    assert_eq!(finished.likelihood, None);
    request.max_sentences = Some(1);
    let (deltas, finished) = generator.answer(request).await.unwrap();
    assert_eq!((deltas.len(), finished.sentences.len()), (1, 1), "{finished:?}");
    assert_eq!(finished.finish_reason(), FinishReason::Stop);
}

#[tokio::test]
async fn a_quotation_goes_on_with_what_is_not_said_yet_until_nothing_is_left() {
    let generator = extractive().await;
    let mut request = ask(QUESTION, &[TEXT]);
    request.max_sentences = Some(1);
    let mut sentences: Vec<String> = Vec::new();
    for _ in 0..9 {
        // What comes back differs from the document in what does not matter.
        request.answer_so_far = sentences.join("\n").to_uppercase();
        let (_, finished) = generator.answer(request.clone()).await.unwrap();
        assert!(!finished.abstained);
        assert_eq!(finished.finish_reason(), FinishReason::Stop);
        if finished.answer.is_empty() {
            assert!(finished.sentences.is_empty());
            break;
        }
        assert!(!sentences.contains(&finished.answer), "{sentences:?} and {finished:?}");
        assert_eq!(finished.sentences[0].citations[0].passage_id, "p0");
        sentences.push(finished.answer);
    }
    assert!(
        sentences.len() < 4 && sentences.contains(&DESIGNED.to_owned()),
        "{sentences:?}"
    );
    assert!(sentences.contains(&PAINTED.to_owned()), "{sentences:?}");
    // Without passages there is nothing to add either.
    request.passages.clear();
    let (deltas, finished) = generator.answer(request).await.unwrap();
    assert!(deltas.is_empty() && finished.answer.is_empty() && !finished.abstained);
}

#[tokio::test]
async fn a_model_is_told_how_many_sentences_and_stopped_after_them() {
    let chat = Streamed::stuck_after(&[
        "The tower is 3.5 m",
        " wide [1].",
        " [2] It",
        " was built in",
        " 1871 [2].",
    ]);
    let generator = openai(chat.clone(), &[]).await;
    let mut request = ask("What is the tower like?", &TEXTS);
    request.max_sentences = Some(1);
    let (_, finished) = generator.answer(request).await.unwrap();
    assert_eq!(finished.answer, "The tower is 3.5 m wide.");
    assert_eq!(finished.finish_reason(), FinishReason::Length);
    let cited: Vec<u32> = finished.sentences[0].citations.iter().map(|c| c.number).collect();
    assert_eq!((finished.sentences.len(), cited), (1, vec![1, 2]));
    chat.wait_until_held_by(0).await;
    let system = &chat.last_request().messages[0].content;
    assert!(system.contains("at most 1 sentence."), "{system}");
}

#[tokio::test]
async fn a_model_that_ends_by_itself_is_cut_too_and_the_services_own_setting_is_only_asked_for() {
    let said = "It is red. It is old. It is tall. It is [1] far.";
    let mut request = ask("What is the tower like?", &TEXTS);
    for (most, answer, reason) in [
        (Some(2), "It is red. It is old.", FinishReason::Length),
        (
            Some(4),
            "It is red. It is old. It is tall. It is far.",
            FinishReason::Stop,
        ),
        (None, "It is red. It is old. It is tall. It is far.", FinishReason::Stop),
    ] {
        let chat = Streamed::saying(&[said]);
        let generator = openai(chat.clone(), &[]).await;
        request.max_sentences = most;
        let (_, finished) = generator.answer(request.clone()).await.unwrap();
        assert_eq!((finished.answer.as_str(), finished.finish_reason()), (answer, reason));
        let asked = format!("at most {} sentences.", most.unwrap_or(3));
        assert!(chat.last_request().messages[0].content.contains(&asked));
    }
}

#[tokio::test]
async fn a_model_continues_and_what_it_repeats_is_not_sent() {
    let mut request = ask("What is the tower like?", &TEXTS);
    request.answer_so_far = "The tower is red.".to_owned();
    let chat = Streamed::saying(&[
        "The tower",
        " is red [1].",
        " It was built [2]",
        " in 1871 [2]. [comp",
        "lete]",
    ]);
    let generator = openai(chat.clone(), &[]).await;
    let (_, finished) = generator.answer(request.clone()).await.unwrap();
    assert_eq!(finished.answer, "It was built in 1871.");
    let cited: Vec<u32> = finished.sentences[0].citations.iter().map(|c| c.number).collect();
    assert_eq!(cited, [2]);
    let asked = chat.last_request();
    assert!(asked.may_be_empty);
    let user = &asked.messages.last().unwrap().content;
    assert!(user.contains("answer so far\nThe tower is red.\nend"), "{user}");
    for nothing in [
        &[][..],
        &["[comp", "lete]"][..],
        &["The tower is red. [1]"][..],
        &["\n"][..],
    ] {
        let generator = openai(Streamed::saying(nothing), &[]).await;
        let (deltas, finished) = generator.answer(request.clone()).await.unwrap();
        assert!(
            deltas.is_empty() && finished.answer.is_empty(),
            "{nothing:?}: {finished:?}"
        );
        assert_eq!(
            (finished.abstained, finished.finish_reason()),
            (false, FinishReason::Stop)
        );
        assert_eq!(finished.usage.unwrap().model_calls, 1);
    }
}

#[tokio::test]
async fn a_model_that_is_cut_off_while_it_begins_again_has_not_said_that_the_answer_is_complete() {
    let mut request = ask("What is the tower like?", &TEXTS);
    request.answer_so_far = "The tower is red. It is old.".to_owned();
    let end = ChatDelta::Finished {
        finish_reason: ModelFinish::Length,
        usage: Usage::default(),
    };
    let items = vec![Ok(ChatDelta::Text("The tower is red.".to_owned())), Ok(end)];
    let generator = openai(Streamed::items(items), &[]).await;
    let status = generator.answer(request).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
}

#[tokio::test]
async fn a_model_continues_after_the_conversation() {
    let chat = Streamed::saying(&["It was built in 1871."]);
    let generator = openai(chat.clone(), &[]).await;
    let mut request = ask("What is it like?", &TEXTS);
    request.answer_so_far = "The tower is red.".to_owned();
    request.history = [(Role::User, "Which tower?"), (Role::Assistant, "The old one.")]
        .map(|(role, content)| ChatMessage {
            role: role.into(),
            content: content.to_owned(),
        })
        .to_vec();
    generator.answer(request).await.unwrap();
    let said: Vec<String> = chat.last_request().messages.into_iter().map(|m| m.content).collect();
    assert_eq!(
        (said.len(), &said[1..3]),
        (4, &["Which tower?".to_owned(), "The old one.".to_owned()][..])
    );
    let (question, so_far) = (said[3].find("What is it like?"), said[3].find("answer so far"));
    assert!(question.is_some() && question < so_far, "{}", said[3]);
}

#[tokio::test]
async fn quotations_go_on_in_every_language() {
    let generator = extractive().await;
    for (question, sentences) in [
        (
            "코란 등대는 누가 설계했고 코란 등대는 누가 칠했습니까?",
            ["코란 등대는 김민수가 설계했습니다.", "코란 등대는 박지영이 칠했습니다."],
        ),
        (
            "コラン灯台は誰が設計し、コラン灯台は誰が塗装しましたか？",
            [
                "コラン灯台は田中一郎が設計しました。",
                "コラン灯台は鈴木花子が塗装しました。",
            ],
        ),
        (
            "科兰灯塔是谁设计的，科兰灯塔是谁粉刷的？",
            ["科兰灯塔是王小明设计的。", "科兰灯塔是李美丽粉刷的。"],
        ),
    ] {
        let mut request = ask(question, &[&sentences.join(" ")]);
        request.answer_so_far = sentences[0].to_owned();
        request.max_sentences = Some(1);
        let (_, finished) = generator.answer(request.clone()).await.unwrap();
        assert_eq!(finished.answer, sentences[1], "{question}");
        request.answer_so_far = sentences.join(" ");
        let (deltas, finished) = generator.answer(request).await.unwrap();
        assert!(deltas.is_empty() && finished.answer.is_empty(), "{finished:?}");
        assert_eq!(
            (finished.abstained, finished.finish_reason()),
            (false, FinishReason::Stop)
        );
    }
}

#[tokio::test]
async fn an_answer_that_begins_here_has_to_say_something() {
    let chat = Streamed::saying(&["Red."]);
    let generator = openai(chat.clone(), &[]).await;
    generator.answer(ask("Which colour?", &TEXTS)).await.unwrap();
    let asked = chat.last_request();
    assert!(!asked.may_be_empty);
    assert!(
        asked
            .messages
            .iter()
            .all(|m| !m.content.contains("[complete]") && !m.content.contains("so far"))
    );
}

/// Pieces with their tokens' log-probabilities, and an end.
fn tokens(pieces: &[(&str, f64)]) -> Streamed {
    let mut items = Vec::new();
    for (piece, probability) in pieces {
        let token = TokenLogprobs {
            token: (*piece).to_owned(),
            logprob: probability.ln(),
            top: Vec::new(),
        };
        items.push(Ok(ChatDelta::Logprobs(vec![token])));
        items.push(Ok(ChatDelta::Text((*piece).to_owned())));
    }
    items.push(Ok(ChatDelta::Finished {
        finish_reason: ModelFinish::Stop,
        usage: Usage::default(),
    }));
    Streamed::items(items)
}

#[tokio::test]
async fn the_likelihood_is_the_geometric_mean_over_the_answers_own_tokens() {
    let mut request = ask("What is the tower like?", &TEXTS);
    // Reasoning, what was said before, and the sentence too many do not count.
    let thought = [("<think>", 0.01), ("red?", 0.01), ("</think>", 0.01)];
    let again = [("It is", 0.01), (" old.", 0.01)];
    let said = [(" It", 0.5), (" is red", 0.25), (".", 0.125)];
    let more = [(" And", 0.01), (" it is tall.", 0.01)];
    request.answer_so_far = "It is old.".to_owned();
    request.max_sentences = Some(1);
    let chat = tokens(&[&thought[..], &again, &said, &more].concat());
    let generator = openai(chat.clone(), &[]).await;
    let (_, finished) = generator.answer(request.clone()).await.unwrap();
    assert_eq!(finished.answer, "It is red.");
    let likelihood = finished.likelihood.unwrap();
    assert!((likelihood - 0.25).abs() < 1e-9, "{likelihood}");
    assert_eq!(chat.last_request().top_logprobs, 1);
    let generator = openai(Streamed::saying(&["It is red."]), &[]).await;
    let (_, finished) = generator.answer(request).await.unwrap();
    assert_eq!(finished.likelihood, None, "the server does not say");
}
