//! A stand-in for a language model: an OpenAI-compatible server that grades by the words a text shares with the question
//! and answers with the sentence that shares most.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// A running stand-in. It stops with the runtime of the test.
pub struct Model {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Model {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(answer(socket, Arc::clone(&kept)));
            }
        });
        Self { address, asked }
    }

    /// The base URL of its API.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What it was asked for, in order: names of schemas, and `answer` for prose.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test panicked with it").clone()
    }
}

/// One request a connection.
async fn answer(mut socket: TcpStream, asked: Arc<Mutex<Vec<String>>>) {
    let Some(request) = read(&mut socket).await else {
        return;
    };
    let schema = request["response_format"]["json_schema"]["name"]
        .as_str()
        .map(str::to_owned);
    let name = schema.clone().unwrap_or_else(|| "answer".to_owned());
    asked.lock().expect("no test panicked with it").push(name);
    let prompt: String = request["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|message| message["content"].as_str())
        .collect::<Vec<_>>()
        .join("\n");
    let said = match schema {
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
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // A caller that is gone does not read it.
    let _ = socket.write_all((head + &body).as_bytes()).await;
    let _ = socket.shutdown().await;
}

/// The JSON of a request; `None` when the connection breaks first.
async fn read(socket: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 8192];
        let count = socket.read(&mut chunk).await.ok()?;
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(request) = serde_json::from_str(body)
        {
            return Some(request);
        }
        if count == 0 {
            return None;
        }
    }
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
            let verdicts: Vec<Value> = strips
                .iter()
                .enumerate()
                .map(|(place, strip)| json!({"strip": place + 1, "verdict": yes(helps(strip))}))
                .collect();
            json!({ "verdicts": verdicts })
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
