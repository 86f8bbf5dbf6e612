//! `emend documents`: lists the documents of a collection, and reads one back.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use emend_chassis::{TracedChannel, retrying};
use emend_core::{Deadline, printable, printable_line};
use emend_proto::v1::{
    GetDocumentRequest, GetDocumentResponse, ListDocumentsRequest, retriever_service_client::RetrieverServiceClient,
};

use crate::{
    args::{DocumentsCommand, StoredOptions},
    cluster, json, terminal,
};

/// Longest time for one page.
const MAX_PAGE_TIME: Duration = Duration::from_secs(60);
/// Largest message of a retriever, in bytes: a page of a list whose every document has the longest names.
const MAX_REPLY_BYTES: usize = 16 << 20;

/// Runs the command.
///
/// # Errors
/// There is no such collection or document, or the retriever is unreachable.
pub async fn run(command: DocumentsCommand) -> Result<ExitCode> {
    let options = match &command {
        DocumentsCommand::List(options) | DocumentsCommand::Show { stored: options, .. } => options,
    };
    let (local, channel) = cluster::retriever(&options.stored.at, &options.stored.local).await?;
    let client = RetrieverServiceClient::new(channel).max_decoding_message_size(MAX_REPLY_BYTES);
    let done = match &command {
        DocumentsCommand::List(options) => list(&client, options).await,
        DocumentsCommand::Show { id, chunks, stored } => show(&client, id, *chunks, stored).await,
    };
    if let Some(local) = local {
        local.stop().await;
    }
    done.map(|()| ExitCode::SUCCESS)
}

async fn list(client: &RetrieverServiceClient<TracedChannel>, options: &StoredOptions) -> Result<()> {
    let mut request = ListDocumentsRequest {
        collection: options.stored.collection.clone(),
        ..ListDocumentsRequest::default()
    };
    loop {
        let page = retrying(Deadline::after(MAX_PAGE_TIME), |attempt| {
            let (mut client, request) = (client.clone(), attempt.request(request.clone()));
            async move { client.list_documents(request).await }
        });
        let page = page.await?.into_inner();
        for document in page.documents {
            if options.json {
                terminal::print_json(&json::value("StoredDocument", &document)?, false)?;
            } else {
                let (id, title) = (printable_line(&document.id), printable_line(&document.title));
                terminal::println(format_args!("{id}\t{}\t{title}", document.passages))?;
            }
        }
        if page.next_page_token.is_empty() {
            return Ok(());
        }
        request.page_token = page.next_page_token;
    }
}

async fn show(
    client: &RetrieverServiceClient<TracedChannel>,
    id: &str,
    chunks: bool,
    options: &StoredOptions,
) -> Result<()> {
    let mut request = GetDocumentRequest {
        collection: options.stored.collection.clone(),
        document_id: id.to_owned(),
        parents: Some(!chunks),
        ..GetDocumentRequest::default()
    };
    loop {
        let page = retrying(Deadline::after(MAX_PAGE_TIME), |attempt| {
            let (mut client, request) = (client.clone(), attempt.request(request.clone()));
            async move { client.get_document(request).await }
        });
        let page = page.await?.into_inner();
        if options.json {
            terminal::print_json(&json::value("GetDocumentResponse", &page)?, false)?;
        } else {
            if request.page_token.is_empty() {
                terminal::print(described(&page))?;
            }
            for passage in &page.passages {
                let span = passage.span.unwrap_or_default();
                let (id, text) = (printable_line(&passage.id), printable(&passage.text));
                terminal::println(format_args!("\n{id} [{}, {})\n{text}", span.start, span.end))?;
            }
        }
        if page.next_page_token.is_empty() {
            return Ok(());
        }
        request.page_token = page.next_page_token;
    }
}

/// What is known of a document besides its text.
fn described(page: &GetDocumentResponse) -> String {
    let document = page.document.clone().unwrap_or_default();
    let mut lines = vec![
        ("document", document.id),
        ("title", document.title),
        ("source", document.source),
        ("belongs to", document.owner),
    ];
    lines.retain(|(_, value)| !value.is_empty());
    lines.push(("passages", page.total_passages.to_string()));
    let mut text: String = lines
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", printable_line(value)))
        .collect();
    let mut metadata: Vec<_> = page.metadata.iter().collect();
    metadata.sort();
    for (name, value) in metadata {
        text.push_str(&format!("  {} = {}\n", printable_line(name), printable_line(value)));
    }
    text
}
