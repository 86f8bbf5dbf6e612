//! `emend models`: the local models on this machine.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use emend_chassis::config::defaults;
use emend_models::{
    chat::ChatOptions,
    fetch::{self, FetchOptions, MODELS},
    progress::Progress,
};

use crate::{
    args::ModelsCommand,
    progress::{self, ModelProgress},
    terminal,
};

/// The default options of a chat model.
#[derive(Parser)]
struct Chats {
    #[command(flatten)]
    chat: ChatOptions,
}

/// Runs the command.
///
/// # Errors
/// There is no cache folder, or a model cannot be fetched from any source.
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
                    None => "not downloaded".to_owned(),
                };
                terminal::println(format_args!("{:<28} {:<12} {place}", model.name, model.licence))?;
            }
        }
        ModelsCommand::Fetch { embedder, llm_local } => {
            let loaded = progress::embedder(&embedder).await?;
            terminal::println(format_args!(
                "{} is ready: {} dimensions",
                loaded.id(),
                loaded.dimensions()
            ))?;
            if llm_local.is_some() {
                let options = ChatOptions {
                    llm_local,
                    llm_model_dir: embedder.model_dir,
                    ..defaults::<Chats>().chat
                };
                let (shown, progress) = ModelProgress::start();
                let loaded = options.load(progress).await;
                shown.finish();
                if let Some(chat) = loaded? {
                    terminal::println(format_args!("{} is ready to chat", chat.model()))?;
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
