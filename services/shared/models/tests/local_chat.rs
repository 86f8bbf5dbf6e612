//! The chat model that is known by name, with its real weights, which are fetched once and kept in the user's cache.
#![cfg(feature = "local-chat")]

use clap::Parser;
use emend_models::chat::{ChatOptions, ChatRequest, Message};
use emend_models::progress::Progress;
use emend_models::verdict;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    chat: ChatOptions,
}

#[tokio::test]
async fn smollm2_speaks_english_and_its_yes_has_a_probability() {
    let options = Line::parse_from(["x", "--llm-local", "smollm2"]).chat;
    let chat = options.load(Progress::none()).await.unwrap().unwrap();
    assert_eq!(chat.model(), "SmolLM2-135M-Instruct");

    let request = ChatRequest {
        max_tokens: Some(40),
        ..ChatRequest::new(vec![Message::user("What is the capital of France?")])
    };
    let reply = chat.complete(request).await.unwrap();
    // Which city it takes for it is another matter.
    assert!(reply.text.contains("France"), "{}", reply.text);
    // What the model's own template and tokenizer make of it, with the system message that the template adds.
    assert_eq!(reply.usage.input_tokens, 37);

    let request = ChatRequest {
        max_tokens: Some(3),
        top_logprobs: 10,
        ..ChatRequest::new(vec![
            Message::system("Answer with one word: yes or no."),
            Message::user("Is Paris a city? Answer yes or no."),
        ])
    };
    let reply = chat.complete(request).await.unwrap();
    let probability = verdict::probability(&reply.logprobs).unwrap();
    assert!((0.0..=1.0).contains(&probability), "{probability} from {reply:?}");
}
