use std::net::Ipv4Addr;

use axum::body::Body;
use emend_chassis::ServeError;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::*;
use crate::Options;

/// A gateway whose page links traces to an address.
fn gateway(trace_url: Option<&str>) -> Result<Arc<Gateway>, ServeError> {
    let mut options = Options::default();
    options.page.trace_url = trace_url.map(str::to_owned);
    let gateway = Gateway::new(&options, Ipv4Addr::LOCALHOST.into(), CancellationToken::new())?;
    Ok(Arc::new(gateway))
}

/// The answer to `GET /`, and its body.
async fn root(trace_url: Option<&str>, accept: &str) -> (HeaderMap, String) {
    let request = Request::get("/")
        .header("host", "localhost")
        .header(ACCEPT, accept)
        .body(Body::empty())
        .unwrap();
    let router = router(gateway(trace_url).unwrap());
    let (parts, body) = router.oneshot(request).await.unwrap().into_parts();
    let body = axum::body::to_bytes(body, 100_000).await.unwrap();
    (parts.headers, String::from_utf8(body.into()).unwrap())
}

#[tokio::test]
async fn the_page_is_told_where_traces_are() {
    let jaeger = "http://jaeger:16686/trace/{traceId}";
    for (given, told) in [(Some(jaeger), Some(jaeger)), (Some(""), None), (None, None)] {
        let (_, index) = root(given, "application/json").await;
        let index: Value = serde_json::from_str(&index).unwrap();
        assert_eq!(index["name"], "emend-gateway");
        assert_eq!(index.get("traceUrl").and_then(Value::as_str), told);
    }
    let error = gateway(Some("jaeger")).err().unwrap();
    let ServeError::Start(why) = error else {
        panic!("{error}")
    };
    assert!(why.to_string().contains("--trace-url has {traceId} 0 times"), "{why}");
}

#[tokio::test]
async fn a_cache_keeps_the_page_and_the_list_apart() {
    for (accept, begins) in [("text/html", "<!doctype html>"), ("application/json", "{")] {
        let (headers, body) = root(None, accept).await;
        assert!(body.starts_with(begins), "{body}");
        assert!(headers.get_all(VARY).iter().any(|name| name == "accept"), "{headers:?}");
    }
}
