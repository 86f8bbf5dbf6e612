//! Benchmarks an embedder: `cargo run -p emend-models --example embed_speed -- --embedder minilm`.
#![expect(clippy::print_stdout, reason = "a program that prints its result")]

use std::time::{Duration, Instant};

use clap::Parser;
use emend_models::{
    embed::{EmbedderOptions, Input, load},
    progress::Progress,
};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    embedder: EmbedderOptions,
    /// Repetitions of each measurement. The median is reported.
    #[arg(long, default_value_t = 9)]
    runs: usize,
}

const SENTENCE: &str =
    "The ferry to the outer islands leaves at half past six, unless the wind is stronger than the captain likes. ";

/// A text of about `tokens` tokens, unique per run so that it is not cached.
fn text(tokens: usize, run: usize) -> String {
    let mut text = format!("Report {run}. ");
    while text.len() < tokens * 4 {
        text.push_str(
            SENTENCE
                .get(..(tokens * 4 - text.len()).min(SENTENCE.len()))
                .unwrap_or_default(),
        );
    }
    text
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let line = Line::parse();
    let started = Instant::now();
    let embedder = load(&line.embedder, Progress::none()).await?;
    println!(
        "{}: loaded in {:?}, memory {}",
        embedder.id(),
        started.elapsed(),
        memory()
    );
    for (name, kind, count, tokens) in [
        ("a short query", Input::Query, 1, 10),
        ("16 short queries", Input::Query, 16, 10),
        ("a passage of 280 tokens", Input::Passage, 1, 270),
        ("8 passages of 280 tokens", Input::Passage, 8, 270),
        ("64 sentences of 30 tokens", Input::Passage, 64, 24),
    ] {
        let mut times: Vec<Duration> = Vec::new();
        let mut size = 0;
        for run in 0..line.runs {
            let texts: Vec<String> = (0..count).map(|n| text(tokens, 1000 * run + n)).collect();
            size = texts.iter().map(|text| embedder.count_tokens(text)).sum();
            let started = Instant::now();
            embedder.embed(kind, texts).await?;
            times.push(started.elapsed());
        }
        times.sort();
        if let (Some(median), Some(best)) = (times.get(times.len() / 2), times.first()) {
            println!("{name} ({size} tokens): {median:.1?}, best {best:.1?}");
        }
    }
    println!("memory {}", memory());
    Ok(())
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
