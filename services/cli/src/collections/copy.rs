//! `emend collections copy`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use emend_core::{Deadline, printable_line};
use emend_proto::v1::CopyCollectionRequest;
use serde_json::json;

use super::{Client, MAX_LONG_TIME, described};
use crate::{progress, terminal};

pub(super) async fn run(mut client: Client, from: String, to: String, json: bool) -> Result<ExitCode> {
    let request = CopyCollectionRequest {
        collection: from.clone(),
        to: to.clone(),
    };
    let request = emend_chassis::request(request, Deadline::after(MAX_LONG_TIME));
    let mut answers = client.copy_collection(request).await?.into_inner();
    let bar = progress::documents("copying", 0);
    let copied = async {
        let mut published = None;
        while let Some(answer) = answers.message().await? {
            bar.set_length(answer.total);
            bar.set_position(answer.documents);
            published = Some(answer).filter(|answer| answer.published).or(published);
        }
        Ok::<_, tonic::Status>(published)
    }
    .await;
    bar.finish_and_clear();
    if copied?.is_none() {
        bail!("the retriever ended the copy before it was whole: copy again, it goes on where it broke off");
    }
    let made = described(&client, &to).await?;
    if json {
        let outcome = json!({ "from": from, "to": to, "documents": made.documents, "embedder": made.embedder });
        terminal::print_json(&outcome, true)?;
    } else {
        terminal::eprintln(format_args!(
            "copied {} to {}: {} documents, {} passages, {}",
            printable_line(&from),
            printable_line(&to),
            made.documents,
            made.passages,
            printable_line(&made.embedder)
        ));
    }
    Ok(ExitCode::SUCCESS)
}
