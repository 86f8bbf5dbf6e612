//! Embedders and language models.

use std::{fs::File, io::Read as _, path::Path, time::Duration};

use emend_core::{error_chain, without_secrets};
use emend_models::{
    chat::{ChatOptions, LocalModel},
    embed::{self, EmbedderChoice, Input},
    fetch::{self, E5_SMALL, FetchOptions, MINILM, Model, SMOLLM2},
    progress::Progress,
};
use tokio::time::Instant;

use super::Finding;
use crate::{
    args::LocalOptions,
    cluster::{Component, chat_of},
};

/// What a GGUF file begins with.
const GGUF: &[u8] = b"GGUF";
/// A call that takes longer than this makes walks slow: each makes many.
const SLOW: Duration = Duration::from_secs(5);

/// The weights of the embedder, or its server.
pub(super) async fn embedder(local: &LocalOptions) -> Vec<Finding> {
    let options = &local.embedder;
    let name = options.embedder.to_string();
    let model = match options.embedder {
        EmbedderChoice::Hashed => {
            return vec![Finding::warning(
                "embedder",
                "hashed compares words, not meaning: for tests and first steps",
                "leave --embedder out for e5-small",
            )];
        }
        EmbedderChoice::OpenAi(_) => return vec![remote(local, &name).await],
        EmbedderChoice::E5Small => &E5_SMALL,
        EmbedderChoice::MiniLm => &MINILM,
    };
    vec![weights("embedder", &name, model, options.model_dir.as_deref()).await]
}

/// An embedder on a server, which is asked for one embedding.
async fn remote(local: &LocalOptions, name: &str) -> Finding {
    let began = Instant::now();
    let url = without_secrets(&local.embedder.embedder_url);
    let advice = "check --embedder-url, the model's name, and EMEND_EMBEDDER_API_KEY or --embedder-api-key-file";
    let embedder = match embed::load(&local.embedder, Progress::none()).await {
        Ok(embedder) => embedder,
        Err(error) => return Finding::error("embedder", error_chain(&error), advice),
    };
    match embedder.embed(Input::Query, vec!["leave".to_owned()]).await {
        Ok(_) => Finding::ok(
            "embedder",
            format_args!(
                "{name} at {url} answers in {} ms with {} dimensions",
                began.elapsed().as_millis(),
                embedder.dimensions()
            ),
        ),
        Err(error) => Finding::error("embedder", error_chain(&error), advice),
    }
}

/// Whether the files of a model are on this machine, whole.
async fn weights(check: &'static str, name: &str, model: &'static Model, folder: Option<&Path>) -> Finding {
    let options = match FetchOptions::new(folder.map(Path::to_owned)) {
        Ok(options) => options,
        Err(error) => return Finding::failed(check, error),
    };
    match fetch::at_hand(model, &options).await {
        Ok(Some(files)) => {
            let place = files.paths().next().unwrap_or_default();
            Finding::ok(
                check,
                format_args!("{name} is here, its checksum is right: {}", place.display()),
            )
        }
        Ok(None) => Finding::warning(
            check,
            format_args!("{name} is not on this machine: the first start fetches it"),
            "`emend models fetch` fetches it now; without internet --model-dir names a folder that has it",
        ),
        Err(error) => Finding::error(
            check,
            error_chain(&error),
            "remove the file, and `emend models fetch` fetches it again",
        ),
    }
}

/// The files of language models that run in this process.
pub(super) async fn chats(local: &LocalOptions) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for options in chosen(local) {
        let Some(model) = &options.llm_local else { continue };
        let finding = match model {
            LocalModel::SmolLm2 => weights("local models", "smollm2", &SMOLLM2, options.llm_model_dir.as_deref()).await,
            LocalModel::File(path) => match begins(path) {
                Ok(true) => Finding::ok("local models", format_args!("{} is a GGUF file", path.display())),
                Ok(false) => Finding::error(
                    "local models",
                    format_args!("{} is not a GGUF file", path.display()),
                    "name a GGUF file of the Llama, Qwen 2, Qwen 3 or Gemma 3 family",
                ),
                Err(error) => Finding::error(
                    "local models",
                    format_args!("{} cannot be read: {error}", path.display()),
                    "name `smollm2`, or the path of a GGUF file",
                ),
            },
        };
        if !found.contains(&finding) {
            found.push(finding);
        }
    }
    found
}

fn begins(path: &Path) -> std::io::Result<bool> {
    let mut head = Vec::new();
    let file: File = emend_core::open_regular(path)?;
    file.take(GGUF.len() as u64).read_to_end(&mut head)?;
    Ok(head == GGUF)
}

/// The language models of the components that use one.
fn chosen(local: &LocalOptions) -> Vec<ChatOptions> {
    let components = [Component::Generator, Component::Grader, Component::Rewriter];
    components
        .into_iter()
        .filter_map(|component| chat_of(local, component))
        .collect()
}

/// The model on a server, which is asked one short question.
pub(super) async fn language_model(local: &LocalOptions, patience: Duration) -> Vec<Finding> {
    const CHECK: &str = "language model";
    if let Err(error) = local.chat.check() {
        return vec![Finding::failed(CHECK, error)];
    }
    let asked = chosen(local).into_iter().find(|options| options.llm_local.is_none());
    let Some(mut options) = asked else {
        return vec![Finding::ok(
            CHECK,
            "none on a server; answers are quoted, or come from a local model",
        )];
    };
    let url = without_secrets(options.llm_url.as_deref().unwrap_or_default());
    let name = options.llm_model.clone().unwrap_or_default();
    options.llm_timeout = options.llm_timeout.min(patience);
    let probe = match options.probe().await {
        Ok(probe) => probe,
        Err(error) => {
            let advice =
                "check that the server runs, --llm-url, --llm-model, and EMEND_LLM_API_KEY or --llm-api-key-file";
            return vec![Finding::error(CHECK, error_chain(&error), advice)];
        }
    };
    let features = [
        ("JSON schema", probe.json_schema),
        ("logprobs", probe.logprobs),
        ("streaming", probe.streaming),
    ];
    let shown: Vec<String> = features
        .iter()
        .map(|(feature, has)| format!("{}{feature}", if *has { "" } else { "no " }))
        .collect();
    let message = format!(
        "{name} at {url}: {}; first words after {} ms, all after {} ms",
        shown.join(", "),
        probe.first.as_millis(),
        probe.whole.as_millis()
    );
    let mut advice = Vec::new();
    if !probe.json_schema {
        advice.push("without a JSON schema replies that cannot be read are asked for again");
    }
    if !probe.logprobs {
        advice.push("without logprobs grades are a plain yes or no");
    }
    if !probe.streaming {
        advice.push("without streaming an answer is shown when it is whole");
    }
    if probe.whole > SLOW {
        advice.push("it is slow for walks, which make many calls: --grader embedded or cascade makes fewer");
    }
    // What it lacks costs time or precision, and nothing else.
    vec![match probe.whole > SLOW {
        true => Finding::warning(CHECK, message, advice.join("; ")),
        false => Finding::new(CHECK, super::Level::Ok, message, advice.join("; ")),
    }]
}
