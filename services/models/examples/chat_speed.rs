//! How fast a local chat model is on this machine, and how far that is from what its memory could deliver:
//! `cargo run --release -p emend-models --features local-chat --example chat_speed -- --llm-local smollm2`.
//!
//! `RAYON_NUM_THREADS=1` in front of it measures one core.
#![expect(clippy::print_stdout, reason = "a program that prints its result")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::Parser;
use emend_models::chat::local::{self, LocalChat};
use emend_models::chat::{Chat, ChatDelta, ChatOptions, ChatRequest, LocalModel, Message};
use emend_models::progress::Progress;
use futures::StreamExt;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    chat: ChatOptions,
    /// Repetitions of each measurement; the median counts.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Tokens to generate.
    #[arg(long, default_value_t = 100)]
    tokens: u32,
}

const SENTENCE: &str =
    "The ferry to the outer islands leaves at half past six, unless the wind is stronger than the captain likes. ";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let line = Line::parse();
    let threads = std::env::var("RAYON_NUM_THREADS").unwrap_or_else(|_| "all".to_owned());
    let bandwidth = bandwidth(line.runs);
    println!("memory: {:.1} GB/s read by one thread", bandwidth / 1e9);

    let model = line.chat.llm_local.clone().unwrap_or(LocalModel::SmolLm2);
    let started = Instant::now();
    let chat = local::load(&line.chat, &model, Progress::none()).await?;
    let per_token = chat.bytes_per_token();
    println!(
        "{}: loaded in {:.2?}, {:.1} MB of weights a token, threads: {threads}",
        chat.model(),
        started.elapsed(),
        per_token as f64 / 1e6
    );
    for sentences in [4, 16, 40] {
        let mut speeds = Vec::new();
        let mut tokens = 0;
        for run in 0..line.runs {
            let taken = ask(&chat, format!("Report {run}. {}", SENTENCE.repeat(sentences)), 1).await?;
            tokens = taken.prompt_tokens;
            speeds.push(taken.prompt_tokens as f64 / taken.prompt.as_secs_f64());
        }
        println!("a prompt of {tokens} tokens: {:.0} tokens/s", median(&mut speeds));
    }
    for sentences in [1, 16] {
        let mut speeds = Vec::new();
        for run in 0..line.runs {
            let question = format!("Report {run}. {}Write a long story.", SENTENCE.repeat(sentences));
            let taken = ask(&chat, question, line.tokens).await?;
            if taken.reply_tokens > 1 {
                speeds.push((taken.reply_tokens - 1) as f64 / taken.reply.as_secs_f64());
            }
        }
        let speed = median(&mut speeds);
        println!(
            "a reply to {sentences} sentences: {speed:.1} tokens/s, {:.0} % of bandwidth / bytes per token",
            100.0 * speed * per_token as f64 / bandwidth
        );
    }
    println!("memory {}", memory());
    Ok(())
}

struct Taken {
    prompt: Duration,
    prompt_tokens: u64,
    reply: Duration,
    reply_tokens: u64,
}

/// Times one call: the first token comes when the prompt has been read.
async fn ask(chat: &LocalChat, question: String, tokens: u32) -> Result<Taken, Box<dyn std::error::Error>> {
    let request = ChatRequest {
        max_tokens: Some(tokens),
        temperature: Some(0.0),
        top_logprobs: 1,
        may_be_empty: true,
        ..ChatRequest::new(vec![Message::user(question)])
    };
    let started = Instant::now();
    let mut first = None;
    let mut deltas = chat.stream(request);
    while let Some(delta) = deltas.next().await {
        match delta? {
            ChatDelta::Finished { usage, .. } => {
                let prompt = first.unwrap_or_else(|| started.elapsed());
                return Ok(Taken {
                    prompt,
                    prompt_tokens: usage.input_tokens,
                    reply: started.elapsed() - prompt,
                    reply_tokens: usage.output_tokens,
                });
            }
            ChatDelta::Text(_) | ChatDelta::Logprobs(_) => {
                first.get_or_insert_with(|| started.elapsed());
            }
        }
    }
    Err("the reply has no end".into())
}

/// Bytes a second that one thread reads of a buffer much larger than the caches, the best of `runs`.
fn bandwidth(runs: usize) -> f64 {
    const BYTES: usize = 1 << 29;
    let buffer = vec![1_u64; BYTES / 8];
    let mut best: f64 = 0.0;
    for _ in 0..runs.max(1) {
        let started = Instant::now();
        let (lanes, _) = black_box(&buffer).as_chunks::<16>();
        let mut sums = [0_u64; 16];
        for chunk in lanes {
            for (sum, value) in sums.iter_mut().zip(chunk) {
                *sum = sum.wrapping_add(*value);
            }
        }
        black_box(sums);
        best = best.max(BYTES as f64 / started.elapsed().as_secs_f64());
    }
    best
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Resident and peak memory, where the system tells.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let fields = status
        .lines()
        .filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"));
    fields
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join(", ")
}
