//! `emend feedback`: records what people say of answers, and writes it as labelled pairs.

mod export;

use std::{fs, path::Path, process::ExitCode, time::Duration};

use anyhow::{Context as _, Result, bail};
use emend_core::{
    Deadline, Scope, cut,
    limits::{MAX_MESSAGE_BYTES, MAX_TITLE_BYTES},
};
use emend_orchestrator::feedback::FeedbackFolder;
use emend_proto::v1::{
    Feedback, FeedbackPassage, FeedbackVerdict, RecordFeedbackRequest, WalkResult,
    orchestrator_service_client::OrchestratorServiceClient,
};
use emend_text::one_line;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    args::{FeedbackCommand, RecordOptions, SaidVerdict},
    terminal, walk_file,
};

/// Longest time to record feedback.
const MAX_RECORD_TIME: Duration = Duration::from_secs(30);

/// Runs the command.
///
/// # Errors
/// The result cannot be read, the feedback is invalid, or nothing keeps it.
pub async fn run(command: FeedbackCommand) -> Result<ExitCode> {
    match command {
        FeedbackCommand::Record(options) => record(*options).await?,
        FeedbackCommand::Export(options) => export::run(&options)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn record(options: RecordOptions) -> Result<()> {
    let result = options.result.as_deref().map(walk_file::read).transpose()?;
    let feedback = feedback(&options, result)?;
    let deadline = Deadline::after(MAX_RECORD_TIME);
    let id = match (&options.url, &options.feedback_dir) {
        (Some(url), _) => {
            let mut client = OrchestratorServiceClient::new(options.connect.upstream(url)?.channel())
                .max_encoding_message_size(MAX_MESSAGE_BYTES);
            let feedback = Some(feedback);
            let request = emend_chassis::request(RecordFeedbackRequest { feedback }, deadline);
            client.record_feedback(request).await?.into_inner().id
        }
        (None, Some(folder)) => {
            let feedback = emend_orchestrator::check_feedback(Some(feedback)).map_err(tonic::Status::from)?;
            let scope = Scope {
                deadline,
                cancel: CancellationToken::new(),
            };
            FeedbackFolder::open(folder)?.record(feedback, &scope).await?
        }
        (None, None) => bail!("give --url of an orchestrator that keeps feedback, or --feedback-dir of a folder"),
    };
    if options.json {
        terminal::print_json(&json!({ "id": id }), false)
    } else {
        terminal::eprintln(format_args!("recorded as {id}"));
        Ok(())
    }
}

fn feedback(options: &RecordOptions, result: Option<WalkResult>) -> Result<Feedback> {
    let verdict = match options.verdict {
        SaidVerdict::Right => FeedbackVerdict::Right,
        SaidVerdict::Wrong => FeedbackVerdict::Wrong,
        SaidVerdict::WronglyAbstained => FeedbackVerdict::WronglyAbstained,
    };
    let result = result.unwrap_or_default();
    let count = result.documents.len();
    for (option, numbers) in [("--relevant", &options.relevant), ("--irrelevant", &options.irrelevant)] {
        if let Some(number) = numbers.iter().find(|number| !(1..=count).contains(number)) {
            bail!("{option} {number}: the result has {count} documents, numbered from 1");
        }
    }
    if let Some(number) = options
        .relevant
        .iter()
        .find(|number| options.irrelevant.contains(number))
    {
        bail!("document {number} is both in --relevant and in --irrelevant");
    }
    let cited: Vec<u32> = result
        .sentences
        .iter()
        .flat_map(|sentence| &sentence.citations)
        .map(|citation| citation.number)
        .collect();
    let passages = result
        .documents
        .into_iter()
        .zip(1_u32..)
        .filter_map(|(graded, number)| {
            let passage = graded.passage?;
            let is_said = |numbers: &[usize]| numbers.contains(&(number as usize));
            // A result that was too large has documents without their texts.
            let has_text = !passage.text.trim().is_empty();
            let title = one_line(&passage.title_line(), MAX_TITLE_BYTES);
            has_text.then(|| FeedbackPassage {
                id: passage.id,
                title,
                text: passage.text,
                cited: cited.contains(&number),
                relevant: match (is_said(&options.relevant), is_said(&options.irrelevant)) {
                    (true, _) => Some(true),
                    (_, true) => Some(false),
                    _ => None,
                },
            })
        });
    Ok(Feedback {
        walk_id: result.trace_id,
        question: options.question.clone(),
        answer: options.answer.clone().unwrap_or(result.answer),
        status: result.status,
        verdict: verdict.into(),
        comment: options.comment.clone().unwrap_or_default(),
        passages: passages.collect(),
    })
}

/// Creates a folder for what is exported.
fn create_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot write {}", cut(&folder.display().to_string())))
}

#[cfg(test)]
mod tests;
