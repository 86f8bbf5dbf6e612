//! The result of a walk as a message of a chat.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use emend_core::printable_line;
use emend_proto::v1::{Citation, Origin, Passage, Sentence, WalkResult, WalkStatus};
use serde_json::{Value, json};
use url::Url;

/// What a message says.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The text in pieces, a sentence or so each, that together are the content.
    pub(crate) pieces: Vec<String>,
    /// Which passages which places of the content cite.
    pub(crate) annotations: Vec<Value>,
}

impl Answer {
    pub(crate) fn content(&self) -> String {
        self.pieces.concat()
    }
}

/// The answer with its citations as marks, footnotes and annotations.
pub(crate) fn of(result: &WalkResult) -> Answer {
    let mut content = Content::default();
    let text: Vec<char> = result.answer.chars().collect();
    let mut begin = 0;
    let sentences: &[Sentence] = match result.status() {
        // An abstention cites nothing, whatever it was written from.
        WalkStatus::Abstained => &[],
        _ => &result.sentences,
    };
    let mut cited: BTreeMap<u32, &Citation> = BTreeMap::new();
    for sentence in sentences {
        let Some(end) = sentence.span.map(|span| span.end as usize) else {
            continue;
        };
        if end < begin || end > text.len() {
            continue;
        }
        content.push(text[begin..end].iter().collect());
        begin = end;
        for citation in sentence.citations.iter().filter(|citation| citation.number > 0) {
            cited.entry(citation.number).or_insert(citation);
            let document = passage(result, citation);
            content.cite(citation.number, document);
        }
    }
    content.push(text[begin..].iter().collect());
    let mut notes: Vec<String> = cited
        .into_iter()
        .map(|(number, citation)| format!("[{number}] {}", source(passage(result, citation), citation)))
        .collect();
    match result.status() {
        WalkStatus::Unverified => notes.push(format!("Unverified: {}", harmless(&result.reason))),
        WalkStatus::Ungrounded => notes.push(format!("Ungrounded: {}", harmless(&result.reason))),
        _ => {}
    }
    if !notes.is_empty() {
        // Two spaces are the end of a line in Markdown.
        content.push(format!("\n\n{}", notes.join("  \n")));
    }
    Answer {
        pieces: content.pieces,
        annotations: content.annotations,
    }
}

#[derive(Default)]
struct Content {
    pieces: Vec<String>,
    annotations: Vec<Value>,
    /// Code points so far.
    length: usize,
}

impl Content {
    fn push(&mut self, piece: String) {
        if !piece.is_empty() {
            self.length += piece.chars().count();
            self.pieces.push(piece);
        }
    }

    /// Adds ` [1]`, which is the place of the annotation.
    fn cite(&mut self, number: u32, passage: Option<&Passage>) {
        let mark = format!("[{number}]");
        let start = self.length + 1;
        let end = start + mark.len();
        self.push(format!(" {mark}"));
        if let Some(passage) = passage {
            let title = if passage.title.is_empty() {
                &passage.source
            } else {
                &passage.title
            };
            self.annotations.push(json!({
                "type": "url_citation",
                "url_citation": {"start_index": start, "end_index": end, "title": title, "url": url(passage)},
            }));
        }
    }
}

fn passage<'a>(result: &'a WalkResult, citation: &Citation) -> Option<&'a Passage> {
    let document = result.documents.get((citation.number as usize).checked_sub(1)?)?;
    document.passage.as_ref()
}

/// Where a passage can be found: its source where that is a place, else a name for its document.
fn url(passage: &Passage) -> String {
    let source = &passage.source;
    match Url::parse(source) {
        Ok(url) if matches!(url.scheme(), "http" | "https" | "file") => source.clone(),
        // A path; of other schemes, some would run.
        Err(url::ParseError::RelativeUrlWithoutBase) => source.clone(),
        _ => {
            let id: String = url::form_urlencoded::byte_serialize(passage.document_id.as_bytes()).collect();
            format!("urn:emend:document:{id}")
        }
    }
}

fn source(passage: Option<&Passage>, citation: &Citation) -> String {
    let Some(passage) = passage else {
        return harmless(&citation.passage_id);
    };
    let mut line = match passage.origin() {
        Origin::Web => format!("web: {}", harmless(&passage.source)),
        _ => harmless(&passage.source),
    };
    if !passage.title.is_empty() && passage.title != passage.source {
        let _ = write!(line, " — {}", harmless(&passage.title));
    }
    let place = passage.place_line(citation.span);
    if !place.is_empty() {
        let _ = write!(line, ", {}", harmless(&place));
    }
    if let Some(quoted) = &citation.document_span {
        let _ = write!(line, " (characters {}–{})", quoted.start, quoted.end);
    }
    line
}

/// Names of documents in a text that is shown as Markdown: no links, no HTML, one line.
fn harmless(text: &str) -> String {
    printable_line(text)
        .chars()
        .map(|c| match c {
            '[' => '(',
            ']' => ')',
            '<' => '‹',
            '>' => '›',
            '`' => '\'',
            c => c,
        })
        .collect()
}

/// The name of a status without what every name begins with.
pub(crate) fn status(result: &WalkResult) -> &'static str {
    result.status().as_str_name().trim_start_matches("WALK_STATUS_")
}

#[cfg(test)]
mod tests;
