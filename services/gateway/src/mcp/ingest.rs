//! The tool `ingest`.

use emend_core::cut;
use emend_proto::v1::{Document, IngestRequest, IngestStatus};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::server::{Call, Told, said, structured};
use super::{arguments, tools};

/// Most documents of a call.
pub(super) const MAX_DOCUMENTS: usize = 100;

pub(super) async fn ingest(call: Call) -> Told {
    let requests = read(&call.arguments)?;
    let total = requests.len();
    let asked = call.request(futures::stream::iter(requests));
    let answered = call.services.retriever().ingest(asked).await;
    let mut answers = answered.map_err(said)?.into_inner();
    let mut list = Vec::new();
    let mut text = String::new();
    let mut failed = 0;
    while let Some(answer) = answers.message().await.map_err(said)? {
        let status = answer.status().as_str_name().trim_start_matches("INGEST_STATUS_");
        text.push_str(&format!("{}: {status}", answer.document_id));
        if answer.status() == IngestStatus::Failed {
            failed += 1;
            text.push_str(&format!(" ({})", answer.error));
        }
        text.push('\n');
        list.push(json!({
            "id": answer.document_id,
            "status": status,
            "error": answer.error,
            "passages": answer.passages,
        }));
    }
    if failed == total {
        return Err(text);
    }
    Ok(structured(text, json!({"documents": list})))
}

fn read(given: &JsonObject) -> Result<Vec<IngestRequest>, String> {
    arguments::known(given, &tools::INGEST)?;
    let collection = arguments::text(given, "collection")?;
    let documents = match given.get("documents") {
        Some(Value::Array(documents)) if (1..=MAX_DOCUMENTS).contains(&documents.len()) => documents,
        other => {
            let is = match other {
                Some(Value::Array(documents)) => format!("has {}", documents.len()),
                Some(other) => format!("is `{}`", cut(&other.to_string())),
                None => "is missing".to_owned(),
            };
            return Err(format!(
                "`documents` must be an array of 1 to {MAX_DOCUMENTS} documents, {is}"
            ));
        }
    };
    documents
        .iter()
        .enumerate()
        .map(|(place, given)| {
            let document = document(given).map_err(|error| format!("documents[{place}]: {error}"))?;
            Ok(IngestRequest {
                collection: collection.clone(),
                document: Some(document),
                ..IngestRequest::default()
            })
        })
        .collect()
}

fn document(given: &Value) -> Result<Document, String> {
    let Value::Object(given) = given else {
        return Err("must be an object with `id` and `text`".to_owned());
    };
    arguments::known(given, &tools::DOCUMENT)?;
    let (id, text) = (arguments::text(given, "id")?, arguments::text(given, "text")?);
    if id.is_empty() || text.is_empty() {
        return Err("`id` and `text` must not be empty".to_owned());
    }
    let metadata = match given.get("metadata") {
        None | Some(Value::Null) => Default::default(),
        Some(metadata) => serde_json::from_value(metadata.clone())
            .map_err(|error| format!("`metadata` must be an object of strings: {error}"))?,
    };
    Ok(Document {
        id,
        title: arguments::text(given, "title")?,
        source: arguments::text(given, "source")?,
        content: text.into_bytes(),
        metadata,
        ..Document::default()
    })
}

#[cfg(test)]
mod tests;
