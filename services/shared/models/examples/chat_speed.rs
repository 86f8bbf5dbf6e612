//! How fast a local chat model is on this machine, and how far that is from what its memory could deliver:
//! `cargo run --release -p emend-models --features local-chat --example chat_speed -- --llm-local smollm2`.
//!
//! `RAYON_NUM_THREADS=1` in front of it measures one core. Every speed is told by the clock and by the time of the
//! processors: on a machine that does other work the second is what the first would be without that.
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
    println!(
        "memory read by one thread: {:.1} GB/s, {:.1} GB a second of processor",
        bandwidth.by_clock / 1e9,
        bandwidth.by_processor / 1e9
    );

    let model = line.chat.llm_local.clone().unwrap_or(LocalModel::SmolLm2);
    let started = Moment::now();
    let chat = local::load(&line.chat, &model, Progress::none()).await?;
    let per_token = chat.bytes_per_token();
    println!(
        "{}: loaded in {:.2} s, {:.2} s of processor; {:.1} MB of weights a token, threads: {threads}",
        chat.model(),
        started.clock.elapsed().as_secs_f64(),
        Moment::now().processor - started.processor,
        per_token as f64 / 1e6
    );
    for sentences in [4, 16, 40] {
        let mut speeds = Vec::new();
        let mut tokens = 0;
        for run in 0..line.runs {
            let taken = ask(&chat, format!("Report {run}. {}", SENTENCE.repeat(sentences)), 1).await?;
            tokens = taken.prompt_tokens;
            speeds.push(taken.prompt);
        }
        println!("a prompt of {tokens} tokens: {}", median(speeds));
    }
    for sentences in [1, 16] {
        let mut speeds = Vec::new();
        for run in 0..line.runs {
            let question = format!("Report {run}. {}Write a long story.", SENTENCE.repeat(sentences));
            speeds.push(ask(&chat, question, line.tokens).await?.reply);
        }
        let speed = median(speeds);
        println!(
            "a reply to {sentences} sentences: {speed}, {:.0} % of bandwidth / bytes per token",
            100.0 * speed.by_processor * per_token as f64 / bandwidth.by_processor
        );
    }
    println!("memory {}", memory());
    Ok(())
}

struct Taken {
    prompt: Speed,
    prompt_tokens: u64,
    reply: Speed,
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
    let started = Moment::now();
    let mut first = None;
    let mut deltas = chat.stream(request);
    while let Some(delta) = deltas.next().await {
        match delta? {
            ChatDelta::Finished { usage, .. } => {
                let over = Moment::now();
                let first = first.unwrap_or(over);
                return Ok(Taken {
                    prompt: Speed::of(usage.input_tokens as f64, started, first),
                    prompt_tokens: usage.input_tokens,
                    reply: Speed::of(usage.output_tokens.saturating_sub(1) as f64, first, over),
                });
            }
            ChatDelta::Text(_) | ChatDelta::Logprobs(_) => {
                first.get_or_insert_with(Moment::now);
            }
        }
    }
    Err("the reply has no end".into())
}

/// A time by the clock, and what processors have spent on this process until then, in seconds.
#[derive(Clone, Copy)]
struct Moment {
    clock: Instant,
    processor: f64,
}

impl Moment {
    fn now() -> Self {
        // Its 14th and 15th field count hundredths of a second; the second one is a name in parentheses.
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: f64 = fields
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<f64>().ok())
            .sum();
        Self {
            clock: Instant::now(),
            processor: ticks / 100.0,
        }
    }
}

/// How many a second.
#[derive(Clone, Copy)]
struct Speed {
    by_clock: f64,
    by_processor: f64,
}

impl Speed {
    fn of(count: f64, from: Moment, to: Moment) -> Self {
        Self {
            by_clock: count / to.clock.duration_since(from.clock).as_secs_f64().max(1e-9),
            by_processor: count / (to.processor - from.processor).max(0.01),
        }
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:.1} tokens/s, {:.1} a second of processor",
            self.by_clock, self.by_processor
        )
    }
}

/// Bytes that one thread reads of a buffer much larger than the caches, the best of `runs`.
fn bandwidth(runs: usize) -> Speed {
    const BYTES: usize = 1 << 29;
    const PASSES: usize = 8;
    let buffer = vec![1_u64; BYTES / 8];
    let mut speeds = Vec::new();
    for _ in 0..runs.max(1) {
        let started = Moment::now();
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
        speeds.push(Speed::of((PASSES * BYTES) as f64, started, Moment::now()));
    }
    let best = |of: fn(&Speed) -> f64| speeds.iter().map(of).fold(0.0, f64::max);
    Speed {
        by_clock: best(|speed| speed.by_clock),
        by_processor: best(|speed| speed.by_processor),
    }
}

fn median(mut speeds: Vec<Speed>) -> Speed {
    speeds.sort_by(|a, b| a.by_processor.total_cmp(&b.by_processor));
    let nothing = Speed {
        by_clock: 0.0,
        by_processor: 0.0,
    };
    speeds.get(speeds.len() / 2).copied().unwrap_or(nothing)
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
