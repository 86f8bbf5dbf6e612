//! The tool `search`.

use emend_proto::v1::RetrieveRequest;
use serde_json::json;

use super::server::{Call, Told, said, structured};
use super::{arguments, tools};

pub(super) async fn search(mut call: Call) -> Told {
    arguments::known(&call.arguments, &tools::SEARCH)?;
    let query: RetrieveRequest = arguments::message("RetrieveRequest", std::mem::take(&mut call.arguments))?;
    let asked = call.request(query);
    let found = call.services.retriever().retrieve(asked).await;
    let passages = found.map_err(said)?.into_inner().passages;
    let mut text = String::new();
    let mut list = Vec::new();
    for (place, passage) in passages.iter().enumerate() {
        let title = if passage.title.is_empty() {
            String::new()
        } else {
            format!(" — {}", passage.title)
        };
        let within = match passage.place_line(None) {
            within if within.is_empty() => within,
            within => format!(", {within}"),
        };
        text.push_str(&format!(
            "[{}] {}{title}{within}\n{}\n\n",
            place + 1,
            passage.source,
            passage.text
        ));
        list.push(json!({
            "documentId": passage.document_id,
            "source": passage.source,
            "title": passage.title,
            "headings": passage.headings,
            "text": passage.text,
            "score": passage.score,
            "metadata": passage.metadata,
        }));
    }
    if passages.is_empty() {
        "No passage was found.".clone_into(&mut text);
    }
    Ok(structured(text, json!({"passages": list})))
}
