//! Prints the mean of an embedder's embeddings of questions, a line for each language:
//!
//! `cargo run --release -p emend-retriever --example question_means -- en=questions.jsonl ko=more.jsonl ko=others.jsonl`
//!
//! Each line of a file is an object with a `question`. The files of a language count the same, however long they are.
#![expect(clippy::print_stdout, reason = "a program that prints its result")]

use std::error::Error;
use std::fs;

use clap::Parser;
use emend_models::embed::{EmbedderOptions, Input, load};
use emend_models::progress::Progress;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    embedder: EmbedderOptions,
    /// Files of questions.
    #[arg(value_name = "LANGUAGE=FILE", required = true)]
    files: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let line = Line::parse();
    let embedder = load(&line.embedder, Progress::none()).await?;
    let mut means: Vec<(&str, Vec<f64>, f64)> = Vec::new();
    for given in &line.files {
        let (language, file) = given.split_once('=').ok_or("give LANGUAGE=FILE")?;
        let mut questions = Vec::new();
        for row in fs::read_to_string(file)?.lines() {
            let row: serde_json::Value = serde_json::from_str(row)?;
            questions.push(row["question"].as_str().ok_or("a row has no question")?.to_owned());
        }
        let count = questions.len() as f64;
        let embedded = embedder.embed(Input::Query, questions).await?;
        if means.last().is_none_or(|(known, ..)| *known != language) {
            means.push((language, vec![0.0; embedder.dimensions()], 0.0));
        }
        let Some((_, sum, files)) = means.last_mut() else {
            continue;
        };
        *files += 1.0;
        for vector in &embedded {
            for (sum, value) in sum.iter_mut().zip(vector.iter()) {
                *sum += f64::from(*value) / count;
            }
        }
    }
    for (language, sum, files) in means {
        let values: Vec<String> = sum.iter().map(|sum| format!("{:.4}", sum / files)).collect();
        println!("{language} {}", values.join(" "));
    }
    Ok(())
}
