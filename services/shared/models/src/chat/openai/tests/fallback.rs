//! Fallback models.

use super::*;
use crate::chat::{Accepts, Receipt, TokenLogprobs};

/// A timeout of a chain that no test waits for.
pub(super) const LONG: Duration = Duration::from_secs(600);

/// A chain of the model of the first server, then the models of the others as fallbacks.
pub(super) fn chain(servers: &[&HttpServer], flags: &[&str]) -> Arc<dyn Chat> {
    let (first, others) = servers.split_first().unwrap();
    let mut flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    flags.extend(["--llm-url".to_owned(), first.url().to_owned()]);
    for (number, other) in others.iter().enumerate() {
        flags.extend(["--llm-fallback".to_owned(), format!("{}#other-{number}", other.url())]);
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    options(&flags).connect().unwrap().unwrap()
}

pub(super) async fn answering(text: &'static str) -> HttpServer {
    HttpServer::start(move |_, _| reply_with(text)).await
}

async fn failing(status: &'static str, headers: &'static str) -> HttpServer {
    HttpServer::start(move |_, _| response(status, headers, "no")).await
}

#[tokio::test]
async fn a_model_that_cannot_be_had_is_stood_in_for() {
    let second = answering("from the second").await;
    let firsts = [
        failing("503 Service Unavailable", "retry-after-ms: 0\r\n").await,
        failing("429 Too Many Requests", "retry-after: 3600\r\n").await,
        HttpServer::start(|_, _| HttpAnswer::Stuck(Vec::new())).await,
    ];
    for (number, first) in firsts.iter().enumerate() {
        let timeout = if number == 2 { "100ms" } else { "600s" };
        let chat = Chain::new(
            Arc::new(first.client(&["--llm-timeout", timeout])),
            vec![Arc::new(second.client(&["--llm-model", "other"]))],
            LONG,
        );
        let receipt = Receipt::default();
        let request = ChatRequest {
            receipt: receipt.clone(),
            deadline: Some(Instant::now() + Duration::from_secs(600)),
            ..ask()
        };
        assert_eq!(chat.complete(request).await.unwrap().text, "from the second");
        assert_eq!(
            (receipt.calls(), receipt.model().as_deref()),
            ([3, 1, 1][number] + 1, Some("other")),
            "every call counts"
        );
    }
    assert_eq!(second.seen().requests, 3);
}

#[tokio::test]
async fn the_chain_goes_on_to_its_end_and_no_further() {
    let (first, second) = (
        failing("500 Internal Server Error", "retry-after-ms: 0\r\n").await,
        HttpServer::start(|_, _| busy("retry-after: 3600\r\n")).await,
    );
    let third = answering("third").await;
    let chat = chain(&[&first, &second, &third], &[]);
    assert_eq!(chat.complete(ask()).await.unwrap().text, "third");
    let chat = chain(&[&first, &second], &[]);
    let error = chat.complete(ask()).await.unwrap_err();
    assert!(
        matches!(&error, ChatError::RateLimited { model, .. } if model == "other-0"),
        "{error}"
    );
}

/// Bad replies with their error types.
fn no_replies() -> [(HttpAnswer, &'static str); 6] {
    let said =
        |message: Value, why: &str| json!({ "choices": [{ "message": message, "finish_reason": why }] }).to_string();
    let cut = |body: &str| {
        let whole = format!("HTTP/1.1 200 OK\r\ncontent-length: 900\r\nconnection: close\r\n\r\n{body}");
        HttpAnswer::Bytes(vec![whole.into_bytes()])
    };
    let ok = |body: &str| response("200 OK", "", body);
    [
        (ok(&said(json!({ "refusal": "I will not" }), "stop")), "refused"),
        (ok(&said(json!({ "content": "" }), "content_filter")), "refused"),
        (ok(&said(json!({ "content": " " }), "stop")), "bad_reply"),
        (ok("{\"choices\":[]}"), "bad_reply"),
        (ok("<html>"), "bad_reply"),
        (cut("{\"choices\":"), "bad_reply"),
    ]
}

#[tokio::test]
async fn a_model_that_sends_no_reply_is_stood_in_for_once() {
    let second = answering("from the second").await;
    for (answer, code) in no_replies() {
        let only = answer.clone();
        let alone = HttpServer::start(move |_, _| only.clone()).await;
        assert_eq!(alone.client(&[]).complete(ask()).await.unwrap_err().error_type(), code);
        let first = HttpServer::start(move |_, _| answer.clone()).await;
        let receipt = Receipt::default();
        let request = ChatRequest {
            receipt: receipt.clone(),
            ..ask()
        };
        let reply = chain(&[&first, &second], &[]).complete(request).await.unwrap();
        assert_eq!(reply.text, "from the second", "{code}");
        assert_eq!((receipt.calls(), receipt.model().as_deref()), (2, Some("other-0")));
        assert_eq!(first.seen().requests, 1, "a bad reply is not asked for again");
    }
    assert_eq!(second.seen().requests, no_replies().len());
}

#[tokio::test]
async fn a_reply_that_the_caller_cannot_read_is_asked_for_elsewhere() {
    let (noise, second) = (answering("well, perhaps").await, answering("yes").await);
    let request = || ChatRequest {
        accepts: Accepts::only(|reply| reply.text == "yes"),
        ..ask()
    };
    let one = Usage {
        input_tokens: 7,
        output_tokens: 2,
    };
    let two = Usage {
        input_tokens: 14,
        output_tokens: 4,
    };
    let asked = request();
    let receipt = asked.receipt.clone();
    let reply = chain(&[&noise, &noise, &second], &[]).complete(asked).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage, receipt.waste()), ("yes", one, two));
    let asked = request();
    let receipt = asked.receipt.clone();
    let reply = chain(&[&noise, &noise], &[]).complete(asked).await.unwrap();
    assert_eq!(
        (reply.usage, receipt.waste()),
        (Usage::default(), two),
        "each is told once"
    );
    let down = failing("503 Service Unavailable", "retry-after-ms: 0\r\n").await;
    for servers in [&[&noise][..], &[&noise, &noise], &[&noise, &down], &[&down, &noise]] {
        let reply = chain(servers, &[]).complete(request()).await.unwrap();
        assert_eq!(
            reply.text, "well, perhaps",
            "it is the caller's to say what is wrong with it"
        );
    }
    assert_eq!(
        chain(&[&noise, &second], &[]).complete(ask()).await.unwrap().text,
        "well, perhaps"
    );
}

#[tokio::test]
async fn what_a_bad_reply_cost_is_told() {
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": 2 });
    let whole = json!({ "choices": [{ "message": { "refusal": "no" } }], "usage": usage }).to_string();
    let piece = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }], "usage": usage });
    let event = format!("data: {piece}\n\n").into_bytes();
    let refusing = HttpServer::start(move |_, _| response("200 OK", "", &whole)).await;
    let empty = HttpServer::start(move |_, _| events(&[&event])).await;
    let (one, other) = (ask(), ask());
    let receipts = [one.receipt.clone(), other.receipt.clone()];
    assert_eq!(
        refusing.client(&[]).complete(one).await.unwrap_err().error_type(),
        "refused"
    );
    let streamed: Vec<_> = empty.client(&[]).stream(other).collect().await;
    assert!(
        matches!(&streamed[..], [Err(ChatError::BadReply { .. })]),
        "{streamed:?}"
    );
    for receipt in receipts {
        let waste = receipt.waste();
        assert_eq!((waste.input_tokens, waste.output_tokens), (7, 2));
    }
}

#[tokio::test]
async fn a_request_that_is_rejected_is_asked_of_nobody_else() {
    let second = answering("never asked").await;
    for (status, code) in [("400 Bad Request", "rejected"), ("401 Unauthorized", "unauthorized")] {
        let first = failing(status, "").await;
        let error = chain(&[&first, &second], &[]).complete(ask()).await.unwrap_err();
        assert_eq!(error.error_type(), code);
    }
    assert_eq!(second.seen().requests, 0);
}

#[tokio::test]
async fn a_model_that_was_reached_says_more_than_one_that_was_not() {
    let refusal = json!({ "choices": [{ "message": { "refusal": "I will not" } }] }).to_string();
    let refusing = HttpServer::start(move |_, _| response("200 OK", "", &refusal)).await;
    let down = failing("503 Service Unavailable", "retry-after-ms: 0\r\n").await;
    for (servers, model) in [([&refusing, &down], "small"), ([&down, &refusing], "other-0")] {
        let error = chain(&servers, &[]).complete(ask()).await.unwrap_err();
        assert!(
            matches!(&error, ChatError::Refused { model: who, .. } if who == model),
            "{error}"
        );
    }
}

#[tokio::test]
async fn no_time_left_is_no_time_for_another() {
    let (first, second) = (
        HttpServer::start(|_, _| HttpAnswer::Stuck(Vec::new())).await,
        answering("too late").await,
    );
    let receipt = Receipt::default();
    let request = ChatRequest {
        deadline: Some(Instant::now() + Duration::from_millis(100)),
        receipt: receipt.clone(),
        ..ask()
    };
    let error = chain(&[&first, &second], &[]).complete(request).await.unwrap_err();
    assert!(matches!(error, ChatError::Timeout { .. }));
    assert_eq!((receipt.calls(), second.seen().requests), (1, 0));
}

#[tokio::test]
async fn a_stream_is_stood_in_for_before_its_first_text() {
    let whole: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}\n\n";
    let second = HttpServer::start(move |_, _| events(&[whole])).await;
    let down = failing("503 Service Unavailable", "retry-after-ms: 0\r\n").await;
    let silent = HttpServer::start(|_, _| HttpAnswer::Stuck(pieces(&[]))).await;
    // Blank text and logprobs do not count as the start of the reply.
    let blank: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\" \"},\"logprobs\":{\"content\":[{\"token\":\" \",\"logprob\":-0.1}]}}]}\n\n";
    let stops: &[u8] = b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let broken: &[u8] = b"data: {\"choices\n\n";
    let firsts = [
        (down, "600s"),
        (silent, "100ms"),
        (HttpServer::start(move |_, _| events(&[blank])).await, "600s"),
        (HttpServer::start(move |_, _| events(&[blank, stops])).await, "600s"),
        (HttpServer::start(move |_, _| events(&[blank, broken])).await, "600s"),
    ];
    for (number, (first, timeout)) in firsts.iter().enumerate() {
        let chat = Chain::new(
            Arc::new(first.client(&["--llm-timeout", timeout])),
            vec![Arc::new(second.client(&[]))],
            LONG,
        );
        let request = ChatRequest {
            top_logprobs: 1,
            ..ask()
        };
        let found: Vec<_> = chat.stream(request).collect().await;
        assert!(
            matches!(found.as_slice(), [Ok(ChatDelta::Text(text)), Ok(ChatDelta::Finished { .. })] if text == "whole"),
            "{number}: {found:?}"
        );
    }
    assert_eq!(second.seen().requests, firsts.len());
}

/// A model that streams the given deltas.
struct Streaming(Vec<Result<ChatDelta, ChatError>>);

impl Chat for Streaming {
    fn model(&self) -> &str {
        "streaming"
    }

    fn complete(&self, _request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>> {
        futures::future::pending().boxed()
    }

    fn stream(&self, _request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>> {
        futures::stream::iter(self.0.clone()).boxed()
    }
}

#[tokio::test]
async fn a_stream_that_breaks_after_its_first_text_is_not_stood_in_for() {
    let down = || ChatError::Unavailable {
        model: "streaming".to_owned(),
        reason: "down".to_owned(),
    };
    let half = Ok(ChatDelta::Text("half".to_owned()));
    let second: Arc<dyn Chat> = Arc::new(Streaming(vec![Ok(ChatDelta::Text("never".to_owned()))]));
    let said = vec![half, Err(down())];
    let chat = Chain::new(Arc::new(Streaming(said.clone())), vec![second], LONG);
    assert_eq!(chat.stream(ask()).collect::<Vec<_>>().await, said);
}

#[tokio::test]
async fn a_stream_says_what_the_last_model_says_and_what_is_held_back_is_not_lost() {
    let place = |token: &str| {
        Ok(ChatDelta::Logprobs(vec![TokenLogprobs {
            token: token.to_owned(),
            logprob: -0.1,
            top: Vec::new(),
        }]))
    };
    let text = |text: &str| Ok(ChatDelta::Text(text.to_owned()));
    let bad = |model: &str| ChatError::BadReply {
        model: model.to_owned(),
        reason: "cut".to_owned(),
    };
    let first = || Arc::new(Streaming(vec![place("a"), Err(bad("first"))]));
    let said = vec![place(" "), text(" "), place("b"), text("b"), Err(bad("second"))];
    let chat = Chain::new(first(), vec![Arc::new(Streaming(said.clone()))], LONG);
    assert_eq!(chat.stream(ask()).collect::<Vec<_>>().await, said);
    let chat = Chain::new(
        first(),
        vec![Arc::new(Streaming(vec![text(" "), Err(bad("second"))]))],
        LONG,
    );
    assert_eq!(chat.stream(ask()).collect::<Vec<_>>().await, [Err(bad("second"))]);
}

#[tokio::test]
async fn a_key_goes_to_nobody_but_the_server_that_it_is_for() {
    let first = HttpServer::replying(vec![]).await;
    let elsewhere = HttpServer::replying(vec![reply_with("ok"), reply_with("ok")]).await;
    let header = |server: &HttpServer, index: usize| {
        let head = server.requests()[index].head.to_lowercase();
        head.lines()
            .find_map(|line| line.strip_prefix("authorization: ").map(str::to_owned))
    };
    let beside = |url: &str, key: Option<&str>| {
        let options = options(&[]);
        let fallback = Fallback {
            url: url.to_owned(),
            model: "other".to_owned(),
        };
        let key = key.map(|key| Secret::from(key.to_owned()));
        OpenAi::new(&options, first.url())
            .unwrap()
            .beside(&options, &fallback, key.as_ref())
            .unwrap()
    };
    beside(elsewhere.url(), None).complete(ask()).await.unwrap();
    assert_eq!(header(&elsewhere, 0), None);
    beside(elsewhere.url(), Some("own")).complete(ask()).await.unwrap();
    assert_eq!(header(&elsewhere, 1).as_deref(), Some("bearer own"));
    let same = |key| {
        beside(first.url(), key)
            .inner
            .key
            .as_ref()
            .map(|key| key.reveal().to_owned())
    };
    assert_eq!(same(None).as_deref(), Some("sk-secret"));
    assert_eq!(same(Some("")).as_deref(), Some("sk-secret"));
    assert_eq!(same(Some("own")).as_deref(), Some("own"));
}

#[test]
fn a_url_needs_a_model_and_a_key_a_fallback() {
    let nameless = |flags: &[&str]| ChatOptions {
        llm_model: None,
        ..options(flags)
    };
    assert!(nameless(&[]).connect().is_ok_and(|chat| chat.is_none()));
    let url = ["--llm-url", "http://127.0.0.1:1"];
    let error = nameless(&url).connect().err().unwrap();
    assert!(error.to_string().contains("--llm-model"), "{error}");
    let with = |flags: &[&str]| options(&[&url, flags].concat()).connect().err().unwrap().to_string();
    let error = with(&["--llm-fallback", "nowhere#model"]);
    assert!(error.contains("--llm-fallback") && error.contains("nowhere"), "{error}");
    let keys = ["first", "second"].map(|key| key.to_owned().into()).to_vec();
    let two = ChatOptions {
        llm_fallback_api_key: keys,
        ..options(&[&url[..], &["--llm-fallback", "http://a#b"]].concat())
    };
    let error = two.connect().err().unwrap().to_string();
    assert!(
        error.contains("2 keys for 1 fallbacks") && !error.contains("first"),
        "{error}"
    );
}
