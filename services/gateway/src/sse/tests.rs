use futures::stream;
use http_body_util::BodyExt as _;

use super::*;

fn said(name: &'static str, data: &str) -> Said {
    Said {
        name,
        data: data.to_owned(),
    }
}

async fn body(response: Response) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn events_have_names_and_data() {
    let response = events(stream::iter([said("stepStarted", "{\"a\":1}"), said("", "[DONE]")]));
    assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
    assert_eq!(
        body(response).await,
        "event: stepStarted\ndata: {\"a\":1}\n\ndata: [DONE]\n\n"
    );
}

#[tokio::test]
async fn lines_are_json() {
    let text = body(lines(stream::iter([said("document", "{}"), said("finished", "{}")]))).await;
    for line in text.lines() {
        let _: serde_json::Value = serde_json::from_str(line).unwrap();
    }
    assert_eq!(text.lines().count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_alive() {
    let source = stream::once(async {
        tokio::time::sleep(KEEP_ALIVE * 2 + Duration::from_secs(1)).await;
        said("finished", "{}")
    });
    let text = body(events(source)).await;
    assert_eq!(text, ": still here\n\n: still here\n\nevent: finished\ndata: {}\n\n");
}
