//! A form of documents, read part by part.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use emend_core::cut;
use emend_core::limits::MAX_DOCUMENT_BYTES;
use emend_proto::v1::{Document, IngestRequest};
use futures::{Stream, StreamExt as _};
use http::{HeaderMap, header::CONTENT_TYPE};
use multer::{Field, Multipart};

use crate::memory::{Held, Memory};
use crate::problem::{FieldError, Problem};

/// Most documents of an upload.
const MAX_DOCUMENTS: usize = 10_000;
/// Longest part that is no document, in bytes.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Most bytes of a form that may be unread between two pieces of a document: headers of parts, and what frames them.
const MAX_UNREAD_BYTES: usize = 1024 * 1024;
/// Most parts that are no documents between two that are.
const MAX_TEXT_PARTS: usize = 16;
/// How long an upload may send nothing.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);

/// What ended the reading of a form, if it did not end by itself.
#[derive(Clone, Default)]
pub(super) struct Outcome(Arc<Mutex<Option<Problem>>>);

impl Outcome {
    /// What was wrong with the form.
    pub(super) fn problem(&self) -> Option<Problem> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, problem: Problem) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
    }
}

/// A form that is being read.
pub(super) struct Upload {
    form: Multipart<'static>,
    unread: Arc<AtomicUsize>,
    memory: Memory,
    outcome: Outcome,
    collection: String,
    metadata: HashMap<String, String>,
    documents: usize,
    /// The memory of the document that was handed on last.
    held: Option<Held>,
}

/// What is said of the next document.
#[derive(Default)]
struct About {
    id: String,
    title: String,
    source: String,
}

impl Upload {
    /// Reads the boundary of a form; its parts are read when they are asked for.
    pub(super) fn new(headers: &HeaderMap, body: Body, memory: &Memory) -> Result<(Self, Outcome), Problem> {
        let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let given = given.unwrap_or_default();
        let boundary = multer::parse_boundary(given).map_err(|_| {
            Problem::media_type(format!(
                "the content type must be multipart/form-data with a boundary, is `{}`",
                cut(given)
            ))
        })?;
        let outcome = Outcome::default();
        let unread = Arc::new(AtomicUsize::new(0));
        let upload = Self {
            form: Multipart::new(chunks(body, Arc::clone(&unread)), boundary),
            unread,
            memory: memory.clone(),
            outcome: outcome.clone(),
            collection: String::new(),
            metadata: HashMap::new(),
            documents: 0,
            held: None,
        };
        Ok((upload, outcome))
    }

    /// The documents one by one; the stream ends with the form, or where the form is wrong, which the outcome says.
    pub(super) fn documents(self) -> impl Stream<Item = IngestRequest> + Send + 'static {
        futures::stream::unfold(self, |mut upload| async {
            // What was handed on before is on its way.
            upload.held = None;
            match upload.next().await {
                Ok(document) => document.map(|document| (document, upload)),
                Err(problem) => {
                    upload.outcome.set(problem);
                    None
                }
            }
        })
    }

    async fn next(&mut self) -> Result<Option<IngestRequest>, Problem> {
        let mut about = About::default();
        for _ in 0..=MAX_TEXT_PARTS {
            self.unread.store(0, Ordering::Relaxed);
            let Some(part) = heard(self.form.next_field()).await? else {
                if self.documents == 0 {
                    return Err(Problem::invalid(
                        "the form has no document: send each as a part with a file name",
                    ));
                }
                return Ok(None);
            };
            if part.file_name().is_some() {
                return self.document(part, about).await.map(Some);
            }
            let name = part.name().unwrap_or_default().to_owned();
            let text = self.text(part, &name).await?;
            match name.as_str() {
                "collection" => self.collection = text,
                "metadata" => self.metadata = metadata(&text)?,
                "id" => about.id = text,
                "title" => about.title = text,
                "source" => about.source = text,
                other => {
                    return Err(Problem::field(
                        cut(other).to_string(),
                        "is unknown: known are collection, metadata, id, title, source, and parts with a file name",
                    ));
                }
            }
        }
        Err(Problem::invalid(format!(
            "the form must have at most {MAX_TEXT_PARTS} parts without a file name before each document"
        )))
    }

    async fn text(&self, part: Field<'_>, name: &str) -> Result<String, Problem> {
        let (bytes, _held) = self.bytes(part, name, MAX_TEXT_BYTES).await?;
        String::from_utf8(bytes).map_err(|_| Problem::field(cut(name).to_string(), "must be UTF-8"))
    }

    async fn document(&mut self, part: Field<'_>, about: About) -> Result<IngestRequest, Problem> {
        self.documents += 1;
        if self.documents > MAX_DOCUMENTS {
            return Err(Problem::invalid(format!(
                "an upload must have at most {MAX_DOCUMENTS} documents: send the others in another one"
            )));
        }
        let file = part.file_name().unwrap_or_default().to_owned();
        let (content, held) = self.bytes(part, &file, MAX_DOCUMENT_BYTES).await?;
        self.held = Some(held);
        let About { id, title, source } = about;
        let source = if source.is_empty() { file.clone() } else { source };
        Ok(IngestRequest {
            collection: self.collection.clone(),
            document: Some(Document {
                id: if id.is_empty() { file } else { id },
                title,
                content,
                source,
                metadata: self.metadata.clone(),
                ..Document::default()
            }),
            ..IngestRequest::default()
        })
    }

    async fn bytes(&self, mut part: Field<'_>, name: &str, most: usize) -> Result<(Vec<u8>, Held), Problem> {
        let mut held = self.memory.hold();
        let mut bytes = Vec::new();
        while let Some(piece) = heard(part.chunk()).await? {
            self.unread.store(0, Ordering::Relaxed);
            let length = bytes.len() + piece.len();
            if length > most {
                let description = format!("must have at most {most} bytes");
                let mut problem = Problem::too_large(format!("{}: {description}", cut(name)));
                problem.errors.push(FieldError {
                    field: cut(name).to_string(),
                    description,
                });
                return Err(problem);
            }
            // Once here, and once as the message on its way.
            held.grow(length, 2)?;
            bytes.extend_from_slice(&piece);
        }
        Ok((bytes, held))
    }
}

/// The pieces of a body. The reader of the form takes all that there is before it looks at it: so after each piece there is
/// nothing for once, and more than a document's frame is never unread.
fn chunks(body: Body, unread: Arc<AtomicUsize>) -> impl Stream<Item = Result<Bytes, String>> + Send + 'static {
    let pieces = body.into_data_stream().flat_map(|piece| {
        let piece = piece.map_err(|error| error.to_string());
        futures::stream::once(std::future::ready(Some(piece))).chain(futures::stream::once(async {
            tokio::task::yield_now().await;
            None
        }))
    });
    pieces.filter_map(move |piece| {
        let checked = piece.map(|piece| {
            let piece = piece?;
            let before = unread.fetch_add(piece.len(), Ordering::Relaxed);
            if before > MAX_UNREAD_BYTES {
                return Err(format!("the headers of a part have more than {MAX_UNREAD_BYTES} bytes"));
            }
            Ok(piece)
        });
        std::future::ready(checked)
    })
}

fn metadata(text: &str) -> Result<HashMap<String, String>, Problem> {
    serde_json::from_str(text)
        .map_err(|error| Problem::field("metadata", format!("must be a JSON object of strings: {error}")))
}

/// The next piece of a form, if it comes in time.
async fn heard<T>(piece: impl Future<Output = multer::Result<T>>) -> Result<T, Problem> {
    match tokio::time::timeout(SILENCE_TIMEOUT, piece).await {
        Ok(piece) => piece.map_err(|error| broken(&error)),
        Err(_) => Err(Problem::too_slow(format!(
            "nothing of the form came for {}",
            humantime::format_duration(SILENCE_TIMEOUT)
        ))),
    }
}

fn broken(error: &multer::Error) -> Problem {
    let reason = emend_core::error_chain(error);
    Problem::unreadable(format!("the form cannot be read: {reason}"))
}

#[cfg(test)]
mod tests;
