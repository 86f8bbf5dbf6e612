use super::*;
use emend_models::chat::Message;

#[tokio::test]
async fn replies_come_in_order_and_then_an_error() {
    let chat = Scripted::replies(["one", "two words"]);
    let request = ChatRequest::new(vec![Message::user("hello there")]);
    assert_eq!(chat.complete(request.clone()).await.unwrap().text, "one");
    let deltas: Vec<_> = chat.stream(request.clone()).collect().await;
    assert_eq!(deltas.len(), 3);
    assert_eq!(deltas[0], Ok(ChatDelta::Text("two ".to_owned())));
    assert!(chat.complete(request).await.is_err_and(|error| error.is_transient()));
    assert_eq!(chat.requests().len(), 3);
}
