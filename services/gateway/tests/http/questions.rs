//! `POST /v1/ask`.

use serde_json::{Value, json};

use crate::standin::{Fixture, events};

#[tokio::test]
async fn a_question_is_answered_by_the_names_of_the_mapping() {
    let fixture = Fixture::start().await;
    let body = json!({"question": "How many days?", "graph": "self-rag", "collection": "handbook",
                      "options": {"top_k": 3}, "budget": {"webSearches": 0, "time": "1.5s"}});
    let response = fixture.post("/v1/ask", &body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    let result: Value = response.json().await.unwrap();
    assert_eq!(result["status"], "WALK_STATUS_ANSWERED");
    assert_eq!(result["sentences"][0]["citations"][0]["passageId"], "p1");
    assert_eq!(result["usage"]["inputTokens"], "120");
    let asked = fixture.questions.lock().unwrap().remove(0);
    assert_eq!(asked.options["top_k"], 3.0);
    let budget = asked.budget.unwrap();
    assert_eq!(
        (budget.web_searches, budget.time.unwrap().nanos),
        (Some(0), 500_000_000)
    );
}

#[tokio::test]
async fn a_stream_has_every_event_and_the_result_last() {
    let fixture = Fixture::start().await;
    let body = json!({"question": "How many days?"});
    let asked = fixture.post("/v1/ask", &body).header("accept", "text/event-stream");
    let response = asked.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let events = events(&response.text().await.unwrap());
    let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "stepStarted",
            "textDelta",
            "sentenceCommitted",
            "sentenceRetracted",
            "finished"
        ]
    );
    let last: Value = serde_json::from_str(&events[4].1).unwrap();
    assert_eq!(last["finished"]["status"], "WALK_STATUS_ANSWERED");

    let lines = fixture.post("/v1/ask", &body).header("accept", "application/x-ndjson");
    let text = lines.send().await.unwrap().text().await.unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "finished");
    assert_eq!(last["data"]["finished"]["graph"], "");
}

#[tokio::test]
async fn a_stream_that_breaks_off_says_why_and_one_that_is_refused_has_a_status() {
    let fixture = Fixture::start().await;
    let ask = |question: &str| {
        fixture
            .post("/v1/ask", &json!({"question": question}))
            .header("accept", "text/event-stream")
    };
    let text = ask("BREAK").send().await.unwrap().text().await.unwrap();
    let events = events(&text);
    let (name, data) = events.last().unwrap();
    assert_eq!(name, "error");
    let problem: Value = serde_json::from_str(data).unwrap();
    assert_eq!(problem["code"], "UNAVAILABLE");

    let refused = ask("REFUSE").send().await.unwrap();
    assert_eq!(refused.status(), 400);
    assert_eq!(refused.headers()["content-type"], "application/problem+json");
}

#[tokio::test]
async fn errors_are_problems_with_code_fields_and_wait() {
    let fixture = Fixture::start().await;
    let ask = |question: &str| fixture.post("/v1/ask", &json!({"question": question}));
    let refused = ask("REFUSE").send().await.unwrap();
    assert_eq!(refused.status(), 400);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(
        problem["errors"],
        json!([{"field": "options[top_k]", "description": "must be 1 to 100, is 0"}])
    );
    let full = ask("FULL").send().await.unwrap();
    assert_eq!(
        (full.status().as_u16(), &full.headers()["retry-after"]),
        (429, &"3".parse().unwrap())
    );
    let problem: Value = full.json().await.unwrap();
    assert_eq!(
        (&problem["code"], &problem["retryAfter"]),
        (&json!("RESOURCE_EXHAUSTED"), &json!(2.5))
    );

    let misspelt = fixture.post("/v1/ask", &json!({"question": "Why?", "colection": "x"}));
    let problem: Value = misspelt.send().await.unwrap().json().await.unwrap();
    assert!(problem["detail"].as_str().unwrap().contains("colection"), "{problem}");

    let keyless = ask("KEY").send().await.unwrap();
    assert_eq!(keyless.status(), 401);
    assert_eq!(keyless.headers()["www-authenticate"], "Bearer");
    let keyed = ask("KEY").bearer_auth("k-1").send().await.unwrap();
    assert_eq!(keyed.status(), 200);
}

#[tokio::test]
async fn the_key_the_time_and_the_trace_are_passed_on() {
    let fixture = Fixture::start().await;
    let asked = fixture
        .post("/v1/ask", &json!({"question": "Why?"}))
        .bearer_auth("k-1")
        .header("x-request-timeout", "5s")
        .header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        .header("tracestate", "shop=cart");
    assert_eq!(asked.send().await.unwrap().status(), 200);
    assert_eq!(fixture.sent.last("authorization").unwrap(), "Bearer k-1");
    let left = fixture.sent.last("grpc-timeout").unwrap();
    let left = emend_chassis::parse_timeout(&left).unwrap();
    assert!(left.as_secs_f64() > 1.0 && left.as_secs_f64() < 5.0, "{left:?}");
    let trace = fixture.sent.last("traceparent").unwrap();
    assert!(trace.starts_with("00-0af7651916cd43dd8448eb211c80319c-"), "{trace}");
    assert_eq!(fixture.sent.last("tracestate").unwrap(), "shop=cart");
}

#[tokio::test]
async fn a_walk_is_replayed() {
    let fixture = Fixture::start().await;
    let body = json!({"walk": {"record": {"version": 1}}, "graph": "plain-rag", "thresholds": {"relevant": 0.5}});
    let response = fixture.post("/v1/replay", &body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let replayed: Value = response.json().await.unwrap();
    assert_eq!(replayed["end"]["missing"], "plain-rag");
    let wrong = fixture.post("/v1/replay", &json!({"wlak": {}})).send().await.unwrap();
    assert_eq!(wrong.status(), 400);
}

#[tokio::test]
async fn feedback_is_kept_and_its_wrong_fields_are_named() {
    let fixture = Fixture::start().await;
    let said = json!({"walkId": "w", "question": "Why?", "answer": "So.", "verdict": "FEEDBACK_VERDICT_RIGHT"});
    let kept = fixture.post("/v1/feedback", &said).send().await.unwrap();
    assert_eq!(kept.json::<Value>().await.unwrap()["id"], "w");
    let refused = fixture
        .post("/v1/feedback", &json!({"question": "Why?"}))
        .send()
        .await
        .unwrap();
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["errors"][0]["field"], "walkId");
}

#[tokio::test]
async fn a_deadline_that_passes_is_a_problem() {
    let fixture = Fixture::start().await;
    let asked = fixture
        .post("/v1/ask", &json!({"question": "HANG"}))
        .header("x-request-timeout", "0.2");
    let late = asked.send().await.unwrap();
    assert_eq!(late.status(), 504);
    let problem: Value = late.json().await.unwrap();
    assert_eq!(problem["code"], "DEADLINE_EXCEEDED");
}
