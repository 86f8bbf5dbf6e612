//! A stand-in for an OpenAI-compatible model: this program again, as a child. It says the same to everybody, as fast as it
//! can, so that what is measured is what is around it.

use std::{
    io::{self, Write as _},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use emend_testkit::process::Process;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    runtime,
};

use crate::Failure;

/// The argument that makes this program the stand-in.
pub(crate) const ROLE: &str = "--stand-in";

/// The model's name.
pub(crate) const MODEL: &str = "stand-in";

/// Values of an embedding, as many as the default embedder has.
const DIMENSIONS: usize = 384;

/// What it writes, token by token.
const ANSWER: [&str; 12] = [
    "Fallen", " leaves", " and", " pruned", " twigs", " keep", " the", " soil", " moist", " [", "1", "].",
];

/// Starts it and waits until it listens.
pub(crate) fn start() -> Result<Process, Failure> {
    Ok(Process::start(
        Command::new(std::env::current_exe()?).args(["--bench", ROLE]),
    )?)
}

/// Is the stand-in until standard input closes: that is when the process that started it is gone.
pub(crate) fn serve() -> Result<(), Failure> {
    thread::spawn(|| {
        // An error is an end too.
        drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
        std::process::exit(0);
    });
    // One thread: it should take as little of the machine as it can.
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        writeln!(io::stdout(), "{}", listener.local_addr()?)?;
        let standin = Arc::new(StandIn::new());
        loop {
            let (socket, _) = listener.accept().await?;
            // Without it, the end of a reply waits for the acknowledgement of its beginning.
            socket.set_nodelay(true)?;
            let standin = Arc::clone(&standin);
            tokio::spawn(async move {
                // A caller that is gone needs no answer.
                drop(standin.answer(socket).await);
            });
        }
    })
}

/// Its replies, made once.
struct StandIn {
    delay_ms: AtomicU64,
    verdicts: Vec<(&'static str, Vec<u8>)>,
    answer: Vec<u8>,
}

impl StandIn {
    fn new() -> StandIn {
        let verdicts = [
            (
                "\"GradeDocuments\"",
                ["{\"", "binary", "_score", "\":\"", "yes", "\"}"],
                ["yes", "no", "Yes", "maybe", "true"],
            ),
            (
                "\"GradeGroundedness\"",
                ["{\"", "sup", "port", "\":\"", "fully", "\"}"],
                ["fully", "partially", "no", "full", "yes"],
            ),
            (
                "\"GradeUsefulness\"",
                ["{\"", "util", "ity", "\":", "5", "}"],
                ["5", "4", "3", "2", "1"],
            ),
        ];
        StandIn {
            delay_ms: AtomicU64::new(0),
            verdicts: verdicts
                .map(|(name, tokens, top)| (name, verdict(&tokens, &top)))
                .into(),
            answer: answer(),
        }
    }

    /// One request after the other, until the connection ends.
    async fn answer(&self, mut socket: TcpStream) -> io::Result<()> {
        let mut bytes = Vec::new();
        while let Some(request) = read(&mut socket, &mut bytes).await? {
            let request = String::from_utf8_lossy(&request).into_owned();
            let (head, body) = request.split_once("\r\n\r\n").unwrap_or((&request, ""));
            let path = head.split(' ').nth(1).unwrap_or_default();
            if let Some(delay) = path.strip_prefix("/delay/") {
                self.delay_ms
                    .store(delay.parse().unwrap_or_default(), Ordering::Relaxed);
                socket.write_all(&http("text/plain", b"")).await?;
                continue;
            }
            match self.delay_ms.load(Ordering::Relaxed) {
                0 => {}
                delay => tokio::time::sleep(Duration::from_millis(delay)).await,
            }
            if path.ends_with("/embeddings") {
                socket.write_all(&embeddings(body)).await?;
            } else if body.contains("\"stream\":true") {
                socket.write_all(&self.answer).await?;
            } else {
                let found = self.verdicts.iter().find(|(name, _)| body.contains(name));
                let said = found.map_or_else(|| http("text/plain", b"unknown schema"), |(_, said)| said.clone());
                socket.write_all(&said).await?;
            }
        }
        Ok(())
    }
}

/// The next request; `None` when there are no more. What was read beyond it stays in `bytes`.
async fn read(socket: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or_default();
            let whole = end + 4 + length;
            while bytes.len() < whole {
                if socket.read_buf(bytes).await? == 0 {
                    return Ok(None);
                }
            }
            let rest = bytes.split_off(whole);
            return Ok(Some(std::mem::replace(bytes, rest)));
        }
        if socket.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
}

fn http(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The log-probability of a token, with alternatives.
fn place(token: &str, top: &[&str]) -> Value {
    let top: Vec<Value> = (1..)
        .zip(top)
        .map(|(rank, token)| json!({"token": token, "logprob": -0.01 - f64::from(rank * rank), "bytes": token.as_bytes()}))
        .collect();
    json!({"token": token, "logprob": -0.01, "bytes": token.as_bytes(), "top_logprobs": top})
}

fn verdict(tokens: &[&str], top: &[&str]) -> Vec<u8> {
    let places = tokens.iter().map(|token| {
        let is_verdict = top.first() == Some(token);
        place(
            token,
            if is_verdict {
                top
            } else {
                &["{", "```", " ", "\n", "\""]
            },
        )
    });
    let body = json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": MODEL,
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": tokens.concat()},
            "logprobs": {"content": places.collect::<Vec<_>>()},
            "finish_reason": "stop",
        }],
        "usage": {"prompt_tokens": 300, "completion_tokens": tokens.len(), "total_tokens": 300 + tokens.len()},
    });
    http("application/json", body.to_string().as_bytes())
}

fn answer() -> Vec<u8> {
    let event = |choices: Value, usage: Value| {
        let event = json!({
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": MODEL,
            "choices": choices,
            "usage": usage,
        });
        format!("data: {event}\n\n")
    };
    let mut body: String = ANSWER
        .iter()
        .map(|token| {
            let logprobs = json!({"content": [place(token, &[token])]});
            event(
                json!([{"index": 0, "delta": {"content": token}, "logprobs": logprobs, "finish_reason": null}]),
                Value::Null,
            )
        })
        .collect();
    body.push_str(&event(
        json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]),
        Value::Null,
    ));
    body.push_str(&event(
        json!([]),
        json!({"prompt_tokens": 700, "completion_tokens": ANSWER.len()}),
    ));
    body.push_str("data: [DONE]\n\n");
    http("text/event-stream", body.as_bytes())
}

/// Each text's embedding, in the encoding that is asked for.
fn embeddings(body: &str) -> Vec<u8> {
    let request: Value = serde_json::from_str(body).unwrap_or_default();
    let texts = request["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_base64 = request["encoding_format"] == "base64";
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let embedding = embedding(text.as_str().unwrap_or_default());
            let embedding = if is_base64 {
                let bytes: Vec<u8> = embedding.iter().flat_map(|value| value.to_le_bytes()).collect();
                json!(base64(&bytes))
            } else {
                json!(embedding)
            };
            json!({"object": "embedding", "index": index, "embedding": embedding})
        })
        .collect();
    let body =
        json!({"object": "list", "model": MODEL, "data": data, "usage": {"prompt_tokens": 12, "total_tokens": 12}});
    http("application/json", body.to_string().as_bytes())
}

/// Values that depend on the text alone, of length about 1.
pub(crate) fn embedding(text: &str) -> Vec<f32> {
    let mut state = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let values = (0..DIMENSIONS).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f32::from((state >> 48) as u16) / f32::from(u16::MAX) - 0.5
    });
    let values: Vec<f32> = values.collect();
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.into_iter().map(|value| value / length).collect()
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The values of an embedding in base64; of none where it is something else.
pub(crate) fn from_base64(text: &str) -> Vec<f32> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.as_bytes().chunks(4) {
        let digits = group.iter().map_while(|byte| match byte {
            b'A'..=b'Z' => Some(byte - b'A'),
            b'a'..=b'z' => Some(byte - b'a' + 26),
            b'0'..=b'9' => Some(byte - b'0' + 52),
            b'+' => Some(62),
            b'/' => Some(63),
            _ => None,
        });
        let (group, count) = digits.fold((0_u32, 0), |(group, count), digit| {
            (group << 6 | u32::from(digit), count + 1)
        });
        let group = group << (6 * (4 - count));
        let whole = [(group >> 16) as u8, (group >> 8) as u8, group as u8];
        bytes.extend(whole.into_iter().take(3 * count / 4));
    }
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|value| f32::from_le_bytes(*value))
        .collect()
}
