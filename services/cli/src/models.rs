//! `emend models`: the local models on this machine.

use std::process::ExitCode;

use anyhow::Result;
use emend_models::{
    embed,
    fetch::{self, FetchOptions, MODELS},
    progress::Progress,
};

use crate::{args::ModelsCommand, progress::ModelProgress};

/// Runs the command.
///
/// # Errors
/// There is no cache folder, or a model cannot be had from any source.
pub async fn run(command: ModelsCommand) -> Result<ExitCode> {
    match command {
        ModelsCommand::List { model_dir } => {
            let options = FetchOptions::new(model_dir)?;
            for model in MODELS {
                let place = match fetch::cached(model, &options, &Progress::none()).await {
                    Some(files) => files
                        .paths()
                        .next()
                        .map(|path| path.display().to_string())
                        .unwrap_or_default(),
                    None => "not on this machine".to_owned(),
                };
                anstream::println!("{:<28} {:<12} {place}", model.name, model.licence);
            }
        }
        ModelsCommand::Fetch { embedder } => {
            let (shown, progress) = ModelProgress::start();
            let loaded = embed::load(&embedder, progress).await;
            shown.finish();
            let loaded = loaded?;
            anstream::println!("{} is ready: {} dimensions", loaded.id(), loaded.dimensions());
        }
    }
    Ok(ExitCode::SUCCESS)
}
