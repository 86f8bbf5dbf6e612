//! A stand-in for a language model: an OpenAI-compatible server that grades by the words a text shares with the question
//! and answers with the sentence that shares most.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http_server::{HttpAnswer, HttpRequest, HttpServer};

/// A running stand-in. It stops with the runtime of the test.
#[derive(Debug)]
pub struct LanguageModel {
    server: HttpServer,
}

impl LanguageModel {
    /// Listens on a free port of 127.0.0.1.
    pub async fn start() -> Self {
        Self::start_slow(Duration::ZERO).await
    }

    /// The same, which takes so long for every answer, many at a time.
    pub async fn start_slow(delay: Duration) -> Self {
        Self {
            server: HttpServer::start(|_, request| answer(request)).await.delayed(delay),
        }
    }

    /// How many requests there were so far.
    pub fn requests(&self) -> usize {
        self.server.seen().requests
    }

    /// The base URL of its API.
    pub fn url(&self) -> String {
        format!("{}/v1", self.server.url())
    }

    /// What it was asked for, in order: names of schemas, and `answer` for prose.
    pub fn asked(&self) -> Vec<String> {
        let requests = self.server.requests().into_iter();
        requests
            .map(|request| schema(&request.json()).unwrap_or_else(|| "answer".to_owned()))
            .collect()
    }
}

/// The name of the schema that a reply is to follow.
fn schema(request: &Value) -> Option<String> {
    request["response_format"]["json_schema"]["name"]
        .as_str()
        .map(str::to_owned)
}

fn answer(request: &HttpRequest) -> HttpAnswer {
    let request = request.json();
    let prompt: String = request["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|message| message["content"].as_str())
        .collect::<Vec<_>>()
        .join("\n");
    let said = match schema(&request) {
        Some(schema) => verdict(&schema, &prompt).to_string(),
        None => prose(&prompt),
    };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5});
    let (kind, body) = if request["stream"] == json!(true) {
        let piece = json!({"choices": [{"delta": {"content": said}, "finish_reason": "stop"}], "usage": usage});
        ("text/event-stream", format!("data: {piece}\n\ndata: [DONE]\n\n"))
    } else {
        let whole = json!({
            "choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}],
            "usage": usage,
        });
        ("application/json", whole.to_string())
    };
    HttpAnswer::response("200 OK", &format!("content-type: {kind}\r\n"), &body)
}

/// The pieces of the prompt that are data: what stands between its fences.
fn data(prompt: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut open: Option<(String, Vec<&str>)> = None;
    for line in prompt.lines() {
        match &mut open {
            None => {
                if let Some(mark) = line.strip_prefix("begin ") {
                    open = Some((format!("end {mark}"), Vec::new()));
                }
            }
            Some((end, lines)) if line == end => {
                pieces.push(lines.join("\n"));
                open = None;
            }
            Some((_, lines)) => lines.push(line),
        }
    }
    pieces
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 3)
        .map(str::to_owned)
        .collect()
}

/// How many words of the question a text has.
fn shared(question: &str, text: &str) -> usize {
    let text = words(text);
    words(question).iter().filter(|word| text.contains(word)).count()
}

fn question(prompt: &str) -> &str {
    prompt
        .lines()
        .find_map(|line| line.strip_prefix("Question: "))
        .unwrap_or(prompt)
}

fn verdict(schema: &str, prompt: &str) -> Value {
    let asked = question(prompt);
    let helps = |text: &String| shared(asked, text) >= 2;
    let yes = |yes: bool| if yes { "yes" } else { "no" };
    match schema {
        "GradeDocuments" => json!({ "binary_score": yes(data(prompt).iter().any(helps)) }),
        "RefineKnowledge" => {
            let strips: Vec<String> = data(prompt);
            let verdicts = strips
                .iter()
                .zip(1..)
                .map(|(strip, number)| (number.to_string(), json!(yes(helps(strip)))));
            verdicts.collect::<serde_json::Map<_, _>>().into()
        }
        "GradeGroundedness" => json!({ "support": "fully" }),
        "GradeUsefulness" => json!({ "utility": 5 }),
        "DecideRetrieval" => json!({ "decision": "yes" }),
        _ => json!({ "query": asked }),
    }
}

/// The sentence that shares most words with the question, cited; nothing more once it was said.
fn prose(prompt: &str) -> String {
    let asked = question(prompt);
    if prompt.contains("Continue the answer.") {
        return "[complete]".to_owned();
    }
    let documents = data(prompt);
    let sentences = documents.iter().enumerate().flat_map(|(place, document)| {
        document
            .split_inclusive('.')
            .map(move |sentence| (place + 1, sentence.trim()))
    });
    match sentences.max_by_key(|(_, sentence)| shared(asked, sentence)) {
        Some((number, sentence)) => format!("{sentence} [{number}]"),
        None => "From what I know: a lighthouse.".to_owned(),
    }
}
