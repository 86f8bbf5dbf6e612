//! Benchmarks a local chat model and compares its speed with the memory bandwidth:
//! `cargo run --release -p emend-models --features local-chat --example chat_speed -- --llm-local smollm2`.
//!
//! Set `RAYON_NUM_THREADS=1` to measure one core. Speeds are reported per second of wall-clock time and per second of
//! CPU time. On a machine with other load, the second shows what the first would be without it.
#![expect(clippy::print_stdout, reason = "a program that prints its result")]

use std::hint::black_box;
use std::time::Instant;

use clap::Parser;
use emend_models::chat::local::{self, LocalChat};
use emend_models::chat::{Chat, ChatDelta, ChatOptions, ChatRequest, LocalModel, Message};
use emend_models::progress::Progress;
use futures::StreamExt;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    chat: ChatOptions,
    /// Repetitions of each measurement. The median is reported.
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
    println!(
        "memory bandwidth of one thread: {:.1} GB/s, {:.1} GB per CPU second",
        bandwidth.per_wall / 1e9,
        bandwidth.per_cpu / 1e9
    );

    let model = line.chat.llm_local.clone().unwrap_or(LocalModel::SmolLm2);
    let started = Timestamp::now();
    let chat = local::load(&line.chat, &model, Progress::none()).await?;
    let per_token = chat.bytes_per_token();
    println!(
        "{}: loaded in {:.2} s, {:.2} s of CPU time; {:.1} MB of weights per token, threads: {threads}",
        chat.model(),
        started.wall.elapsed().as_secs_f64(),
        Timestamp::now().cpu - started.cpu,
        per_token as f64 / 1e6
    );
    for sentences in [4, 16, 40] {
        let mut speeds = Vec::new();
        let mut tokens = 0;
        for run in 0..line.runs {
            let timing = ask(&chat, format!("Report {run}. {}", SENTENCE.repeat(sentences)), 1).await?;
            tokens = timing.prompt_tokens;
            speeds.push(timing.prompt);
        }
        println!("prefill of {tokens} tokens: {}", median(speeds));
    }
    for sentences in [1, 16] {
        let mut speeds = Vec::new();
        for run in 0..line.runs {
            let question = format!("Report {run}. {}Write a long story.", SENTENCE.repeat(sentences));
            speeds.push(ask(&chat, question, line.tokens).await?.reply);
        }
        let speed = median(speeds);
        println!(
            "decoding after {sentences} sentences: {speed}, {:.0} % of bandwidth / bytes per token",
            100.0 * speed.per_cpu * per_token as f64 / bandwidth.per_cpu
        );
    }
    println!("memory {}", memory());
    Ok(())
}

/// The speeds of one call.
struct Timing {
    /// Prefill speed.
    prompt: Speed,
    prompt_tokens: u64,
    /// Decoding speed.
    reply: Speed,
}

/// Times one call. The prefill ends with the first token.
async fn ask(chat: &LocalChat, question: String, tokens: u32) -> Result<Timing, Box<dyn std::error::Error>> {
    let request = ChatRequest {
        max_tokens: Some(tokens),
        temperature: Some(0.0),
        top_logprobs: 1,
        may_be_empty: true,
        ..ChatRequest::new(vec![Message::user(question)])
    };
    let started = Timestamp::now();
    let mut first = None;
    let mut deltas = chat.stream(request);
    while let Some(delta) = deltas.next().await {
        match delta? {
            ChatDelta::Finished { usage, .. } => {
                let end = Timestamp::now();
                let first = first.unwrap_or(end);
                return Ok(Timing {
                    prompt: Speed::new(usage.input_tokens as f64, started, first),
                    prompt_tokens: usage.input_tokens,
                    reply: Speed::new(usage.output_tokens.saturating_sub(1) as f64, first, end),
                });
            }
            ChatDelta::Text(_) | ChatDelta::Logprobs(_) => {
                first.get_or_insert_with(Timestamp::now);
            }
        }
    }
    Err("the stream ended before the reply".into())
}

/// A point in time: wall-clock time, and the CPU time of this process in seconds.
#[derive(Clone, Copy)]
struct Timestamp {
    wall: Instant,
    cpu: f64,
}

impl Timestamp {
    fn now() -> Self {
        // Fields 14 and 15 are user and system time in hundredths of a second. Field 2 is a name in parentheses.
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: f64 = fields
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<f64>().ok())
            .sum();
        Self {
            wall: Instant::now(),
            cpu: ticks / 100.0,
        }
    }
}

/// A rate per second of wall-clock time and per second of CPU time.
#[derive(Clone, Copy)]
struct Speed {
    per_wall: f64,
    per_cpu: f64,
}

impl Speed {
    fn new(count: f64, from: Timestamp, to: Timestamp) -> Self {
        Self {
            per_wall: count / to.wall.duration_since(from.wall).as_secs_f64().max(1e-9),
            per_cpu: count / (to.cpu - from.cpu).max(0.01),
        }
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:.1} tokens/s, {:.1} tokens per CPU second",
            self.per_wall, self.per_cpu
        )
    }
}

/// Memory bandwidth of one thread in bytes, read from a buffer much larger than the caches; the best of `runs`.
fn bandwidth(runs: usize) -> Speed {
    const BYTES: usize = 1 << 29;
    const PASSES: usize = 8;
    let buffer = vec![1_u64; BYTES / 8];
    let mut speeds = Vec::new();
    for _ in 0..runs.max(1) {
        let started = Timestamp::now();
        for _ in 0..PASSES {
            let (lanes, _) = black_box(&buffer).as_chunks::<16>();
            let mut sums = [0_u64; 16];
            for chunk in lanes {
                for (sum, value) in sums.iter_mut().zip(chunk) {
                    *sum = sum.wrapping_add(*value);
                }
            }
            black_box(sums);
        }
        speeds.push(Speed::new((PASSES * BYTES) as f64, started, Timestamp::now()));
    }
    let best = |rate: fn(&Speed) -> f64| speeds.iter().map(rate).fold(0.0, f64::max);
    Speed {
        per_wall: best(|speed| speed.per_wall),
        per_cpu: best(|speed| speed.per_cpu),
    }
}

fn median(mut speeds: Vec<Speed>) -> Speed {
    speeds.sort_by(|a, b| a.per_cpu.total_cmp(&b.per_cpu));
    let zero = Speed {
        per_wall: 0.0,
        per_cpu: 0.0,
    };
    speeds.get(speeds.len() / 2).copied().unwrap_or(zero)
}

/// Resident and peak memory, from `/proc/self/status`. Empty if it does not exist.
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
