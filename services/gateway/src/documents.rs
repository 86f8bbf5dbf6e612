//! `POST /v1/documents`: files in, what became of each out.

mod upload;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use emend_core::Deadline;
use emend_proto::v1::{IngestRequest, IngestResponse, IngestStatus};
use futures::{Stream, StreamExt as _};
use http::HeaderMap;
use serde_json::json;
use tonic::Streaming;

use crate::Gateway;
use crate::problem::Problem;
use crate::request::{self, Wanted};
use crate::respond;
use crate::sse::{self, Said};

use upload::{Outcome, Upload};

/// How long an upload may take without a time of the caller's.
const UPLOAD_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(600);

/// Stores the documents of a form.
pub(crate) async fn upload(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let deadline = request::deadline(&headers, UPLOAD_TIMEOUT)?;
    let (upload, outcome) = Upload::new(&headers, body, &gateway.memory)?;
    let progress = Progress {
        answers: ingest(&gateway, &headers, upload.documents(), deadline, &outcome).await?,
        outcome,
        counts: Counts::default(),
        ended: false,
    };
    match request::wanted(&headers) {
        Wanted::Json => Ok(progress.whole().await),
        Wanted::Events => Ok(sse::events(progress.said())),
        Wanted::Lines => Ok(sse::lines(progress.said())),
    }
}

async fn ingest(
    gateway: &Gateway,
    headers: &HeaderMap,
    documents: impl Stream<Item = IngestRequest> + Send + 'static,
    deadline: Deadline,
    outcome: &Outcome,
) -> Result<Streaming<IngestResponse>, Problem> {
    let call = request::call(headers, documents, deadline);
    match gateway.services.retriever().ingest(call).await {
        Ok(answers) => Ok(answers.into_inner()),
        // What is wrong with the form ended the stream, and is the reason.
        Err(status) => Err(outcome.problem().unwrap_or_else(|| status.into())),
    }
}

/// What became of the documents so far.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    ingested: u64,
    unchanged: u64,
    failed: u64,
}

impl Counts {
    fn add(&mut self, answer: &IngestResponse) {
        match answer.status() {
            IngestStatus::Ingested => self.ingested += 1,
            IngestStatus::Unchanged => self.unchanged += 1,
            IngestStatus::Failed | IngestStatus::Unspecified => self.failed += 1,
        }
    }

    fn json(self) -> serde_json::Value {
        json!({"ingested": self.ingested, "unchanged": self.unchanged, "failed": self.failed})
    }
}

struct Progress {
    answers: Streaming<IngestResponse>,
    outcome: Outcome,
    counts: Counts,
    /// Whether the last event of the stream was told.
    ended: bool,
}

impl Progress {
    /// The next acknowledgement; `None` after the last.
    async fn next(&mut self) -> Result<Option<IngestResponse>, Problem> {
        let answer = self.answers.message().await;
        let answer = answer.map_err(|status| self.outcome.problem().unwrap_or_else(|| status.into()))?;
        if let Some(answer) = &answer {
            self.counts.add(answer);
        } else if let Some(problem) = self.outcome.problem() {
            return Err(problem);
        }
        Ok(answer)
    }

    /// All acknowledgements as one response. If the form breaks off, the problem has those until then.
    async fn whole(mut self) -> Response {
        let mut documents = Vec::new();
        let problem = loop {
            match self.next().await {
                Ok(Some(answer)) => match emend_json::value("IngestResponse", &answer) {
                    Ok(answer) => documents.push(answer),
                    Err(error) => break Some(Problem::internal(error.to_string())),
                },
                Ok(None) => break None,
                Err(problem) => break Some(problem),
            }
        };
        let mut all = self.counts.json();
        all["documents"] = documents.into();
        match problem {
            None => respond::json(all.to_string(), None),
            Some(problem) => {
                let mut told = serde_json::to_value(&problem).unwrap_or_default();
                if let (Some(told), Some(all)) = (told.as_object_mut(), all.as_object()) {
                    told.extend(all.clone());
                }
                let mut response = problem.into_response();
                *response.body_mut() = Body::from(told.to_string());
                // The length is that of the shorter body.
                response.headers_mut().remove(http::header::CONTENT_LENGTH);
                response
            }
        }
    }

    /// An event for each acknowledgement, and the counts last.
    fn said(self) -> impl Stream<Item = Said> + Send + 'static {
        futures::stream::unfold(self, |mut progress| async move {
            if progress.ended {
                return None;
            }
            let said = match progress.next().await {
                Ok(Some(answer)) => {
                    respond::text("IngestResponse", &answer).map(|data| Said { name: "document", data })
                }
                Ok(None) => {
                    progress.ended = true;
                    Ok(Said {
                        name: "finished",
                        data: progress.counts.json().to_string(),
                    })
                }
                Err(problem) => Err(problem),
            };
            let said = said.unwrap_or_else(|problem| {
                progress.ended = true;
                Said::problem(&problem)
            });
            Some((said, progress))
        })
        .boxed()
    }
}
