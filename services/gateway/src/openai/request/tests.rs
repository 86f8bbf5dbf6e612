use serde_json::json;

use super::*;

fn body(more: Value) -> Value {
    let mut body = json!({"model": "self-rag@handbook", "messages": [{"role": "user", "content": "Why?"}]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// `param` and `code` of the error.
fn refused(body: Value) -> (String, String) {
    let error = read(body).unwrap_err().json();
    let word = |name: &str| error["error"][name].as_str().unwrap_or_default().to_owned();
    assert!(!word("message").is_empty());
    (word("param"), word("code"))
}

#[test]
fn a_model_is_a_graph_over_a_collection() {
    for (model, graph, collection) in [
        ("self-rag@handbook", "self-rag", "handbook"),
        ("self-rag", "self-rag", ""),
        ("@handbook", "", "handbook"),
    ] {
        let asked = read(body(json!({"model": model}))).unwrap();
        assert_eq!(asked.question.graph, graph);
        assert_eq!(asked.question.collection, collection);
    }
}

#[test]
fn the_last_message_is_the_question_and_those_before_it_the_conversation() {
    let asked = read(body(json!({"messages": [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": "Who approves leave?"},
        {"role": "assistant", "content": "x".repeat(9000)},
        {"role": "assistant", "content": null, "tool_calls": []},
        {"role": "tool", "content": "42", "tool_call_id": "1"},
        {"role": "user", "content": [{"type": "text", "text": "And"}, {"type": "text", "text": "who pays?"}]},
    ]})))
    .unwrap();
    assert_eq!(asked.question.question, "And\nwho pays?");
    let history = &asked.question.history;
    assert_eq!(history.len(), 2);
    assert_eq!(history[0].role(), Role::User);
    assert_eq!(history[1].content.len(), MAX_QUESTION_BYTES);
}

#[test]
fn the_latest_messages_are_taken() {
    let mut messages: Vec<Value> = (0..100)
        .map(|n| json!({"role": "user", "content": n.to_string()}))
        .collect();
    messages.push(json!({"role": "user", "content": "last"}));
    let asked = read(body(json!({"messages": messages}))).unwrap();
    assert_eq!(asked.question.history.len(), MAX_HISTORY);
    assert_eq!(asked.question.history[MAX_HISTORY - 1].content, "99");
}

#[test]
fn what_cannot_be_met_is_refused_by_name() {
    for (more, param, code) in [
        (json!({"n": 2}), "n", "invalid_value"),
        (json!({"temperature": 3}), "temperature", "invalid_value"),
        (json!({"temperature": "hot"}), "temperature", "invalid_value"),
        (json!({"max_tokens": 0}), "max_tokens", "invalid_value"),
        (json!({"min_p": 1.5}), "min_p", "invalid_value"),
        (json!({"logprobs": true}), "logprobs", "invalid_value"),
        (
            json!({"response_format": {"type": "json_object"}}),
            "response_format",
            "invalid_value",
        ),
        (json!({"tool_choice": "required"}), "tool_choice", "invalid_value"),
        (json!({"modalities": ["audio"]}), "modalities", "invalid_value"),
        (json!({"stream": "yes"}), "stream", "invalid_value"),
        (
            json!({"stream_options": {"include_usage": true}}),
            "stream_options",
            "invalid_value",
        ),
        (json!({"temprature": 1}), "temprature", "unknown_parameter"),
        (json!({"format": "json"}), "format", "unknown_parameter"),
        (json!({"model": null}), "model", "missing_required_parameter"),
        (json!({"messages": []}), "messages", "invalid_value"),
        (
            json!({"messages": [{"role": "assistant", "content": "Hi"}]}),
            "messages",
            "invalid_value",
        ),
        (
            json!({"messages": [{"role": "king", "content": "Hi"}]}),
            "messages[0].role",
            "invalid_value",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}),
            "messages[0].content",
            "invalid_value",
        ),
        (
            json!({"messages": [{"role": "user", "content": "x".repeat(9000)}]}),
            "messages[0].content",
            "string_above_max_length",
        ),
        (
            json!({"emend": {"question": "Why?"}}),
            "emend.question",
            "unknown_parameter",
        ),
        (
            json!({"emend": {"options": {"top_k": "many"}}}),
            "emend",
            "invalid_value",
        ),
    ] {
        assert_eq!(
            refused(body(more.clone())),
            (param.to_owned(), code.to_owned()),
            "{more}"
        );
    }
    assert_eq!(refused(json!([1])).0, "body");
}

#[test]
fn what_is_not_used_is_taken() {
    let asked = read(body(json!({
        "temperature": 0.2, "top_p": 1, "max_tokens": 100, "seed": 1, "stop": ["\n"], "user": "u", "tools": [], "n": 1,
        "min_p": 0.05, "top_k": 40, "repetition_penalty": 1.1, "num_ctx": 4096,
        "tool_choice": "auto", "response_format": {"type": "text"}, "logprobs": false, "metadata": null, "stream": true,
        "stream_options": {"include_usage": true},
        "emend": {"options": {"top_k": 2}, "budget": {"web_searches": 0}, "filter": {"team": "people"}, "exact": true,
            "web_off": true,
            "conditions": [{"field": "year", "range": {"gte": "2024"}}], "drafts": true},
    })))
    .unwrap();
    assert!(asked.stream && asked.include_usage && asked.drafts);
    assert_eq!(asked.question.options["top_k"], 2.0);
    assert_eq!(asked.question.filter["team"], "people");
    assert!(asked.question.web_off);
    assert!(asked.question.exact && asked.question.conditions[0].field == "year");
    assert_eq!(asked.question.budget.unwrap().web_searches, Some(0));
}

#[test]
fn pictures_of_earlier_messages_are_passed_over() {
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}});
    let asked = read(body(json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]},
        {"role": "user", "content": [picture]},
        {"role": "user", "content": "And that?"},
    ]})))
    .unwrap();
    let history = &asked.question.history;
    assert_eq!((history.len(), history[0].content.as_str()), (1, "What is this?"));
    let wrong = json!({"messages": [{"role": "user", "content": 5}, {"role": "user", "content": "And that?"}]});
    assert_eq!(refused(body(wrong)).0, "messages[0].content");
}
