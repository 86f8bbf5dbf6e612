//! The service over real sockets.

mod cache;
mod embedded;
mod http;
mod inflight;
mod injection;
mod largest;
mod limits;
mod lists;
mod llm;
mod refine;
mod retrieval_decision;

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use emend_models::chat::{Chat, ChatDelta, ChatError, ChatReply, ChatRequest, FinishReason, TokenLogprobs, Usage};
use emend_models::prompt::{PromptOptions, Prompts};
use emend_proto::v1::grader_service_client::GraderServiceClient;
use emend_proto::v1::{GradeDocumentsRequest, Passage, Relevance, Strip};
use emend_testkit::in_process::InProcess;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use tokio::sync::{Semaphore, watch};
use tonic::transport::Channel;
use tonic_types::StatusExt;

use crate::backend::{self, Backend, LlmBackend, LlmSettings};
use crate::config::Options;

/// A grader that stops when it is dropped.
struct Grader {
    client: GraderServiceClient<Channel>,
    service: InProcess,
}

fn options(flags: &[&str]) -> Options {
    Options::parse_from(
        ["emend-grader", "--embedder", "hashed", "--default-timeout", "1h"]
            .iter()
            .chain(flags),
    )
}

async fn serve(backend: Arc<dyn Backend>, options: Options) -> Grader {
    let service = InProcess::start(|listener, shutdown| async move {
        crate::serve_backend(backend, &options.service, listener, shutdown).await
    })
    .await;
    Grader {
        client: GraderServiceClient::new(service.channel.clone()),
        service,
    }
}

/// A grader with the evaluator on the hashed embedder.
async fn embedded() -> Grader {
    let options = options(&[]);
    serve(backend::load(&options).await.unwrap(), options).await
}

/// A grader with a language model.
async fn llm(chat: impl Chat + 'static, flags: &[&str]) -> Grader {
    let options = options(flags);
    let settings = LlmSettings::from_options(&options.llm).unwrap();
    let prompts = Prompts::load(&PromptOptions::default()).unwrap();
    serve(Arc::new(LlmBackend::new(Arc::new(chat), prompts, settings)), options).await
}

fn passage(id: &str, text: &str) -> Passage {
    Passage {
        id: id.to_owned(),
        text: text.to_owned(),
        ..Passage::default()
    }
}

/// What each grade says, and the calls they cost.
async fn relevances(grader: &mut Grader, request: GradeDocumentsRequest) -> (Vec<Relevance>, u32) {
    let response = soon(grader.client.grade_documents(request)).await.unwrap().into_inner();
    let grades = response.grades.iter().map(|grade| grade.relevance()).collect();
    (grades, response.usage.unwrap().model_calls)
}

fn documents(question: &str, texts: &[&str]) -> GradeDocumentsRequest {
    GradeDocumentsRequest {
        question: question.to_owned(),
        passages: texts
            .iter()
            .enumerate()
            .map(|(index, text)| passage(&format!("p{index}"), text))
            .collect(),
        ..GradeDocumentsRequest::default()
    }
}

/// Whether each strip is what stands at its place in the text of its passage.
fn assert_verbatim(passages: &[Passage], strips: &[Strip]) {
    for strip in strips {
        let passage = passages.iter().find(|passage| passage.id == strip.passage_id).unwrap();
        let span = strip.span.unwrap();
        let chars: Vec<char> = passage.text.chars().collect();
        let there: String = chars[span.start as usize..span.end as usize].iter().collect();
        assert_eq!(there, strip.text);
    }
}

/// The fields that a refusal names.
fn bad_fields(status: &tonic::Status) -> Vec<String> {
    assert_eq!(status.code(), tonic::Code::InvalidArgument, "{status:?}");
    let details = status.get_error_details();
    let violations = details.bad_request().unwrap().field_violations.iter();
    violations.map(|violation| violation.field.clone()).collect()
}

/// What a prompt says to the model.
fn said(request: &ChatRequest) -> String {
    request
        .messages
        .iter()
        .map(|message| message.content.as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

/// A hang guard, never a measure.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("hangs")
}

/// A model that answers "yes" once it is let, except to prompts that hold "stuck": those it never answers.
#[derive(Clone)]
struct Gated {
    inside: watch::Sender<usize>,
    /// The most calls that were being answered at one time.
    most: watch::Sender<usize>,
    open: Arc<Semaphore>,
}

impl Gated {
    fn shut() -> Self {
        Self {
            inside: watch::Sender::new(0),
            most: watch::Sender::new(0),
            open: Arc::new(Semaphore::new(0)),
        }
    }

    fn open(&self) {
        self.open.add_permits(1000);
    }

    /// Waits until this many calls are being answered.
    async fn wait_for(&self, calls: usize) {
        soon(self.inside.subscribe().wait_for(|inside| *inside == calls))
            .await
            .unwrap();
    }
}

struct Inside(watch::Sender<usize>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.send_modify(|inside| *inside -= 1);
    }
}

impl Chat for Gated {
    fn model(&self) -> &str {
        "gated"
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>> {
        request.receipt.called();
        async move {
            self.inside.send_modify(|inside| *inside += 1);
            let inside = *self.inside.borrow();
            self.most.send_modify(|most| *most = inside.max(*most));
            let _inside = Inside(self.inside.clone());
            if request.messages.iter().any(|message| message.content.contains("stuck")) {
                futures::future::pending::<()>().await;
            }
            self.open.acquire().await.unwrap().forget();
            Ok(reply_of("gated", "yes"))
        }
        .boxed()
    }

    fn stream(&self, _request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>> {
        futures::stream::empty().boxed()
    }
}

/// A whole reply of ten tokens read and one written.
fn reply_of(model: &str, text: &str) -> ChatReply {
    ChatReply {
        text: text.to_owned(),
        model: model.to_owned(),
        usage: Usage {
            input_tokens: 10,
            output_tokens: 1,
        },
        finish_reason: FinishReason::Stop,
        logprobs: Vec::new(),
    }
}

/// A model that replies with tokens, each of which has alternatives with their probabilities.
#[derive(Clone)]
struct Likely(Vec<(&'static str, Vec<(&'static str, f64)>)>);

impl Chat for Likely {
    fn model(&self) -> &str {
        "likely"
    }

    fn complete(&self, _request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>> {
        let logprobs = self.0.iter().map(|(token, top)| TokenLogprobs {
            token: (*token).to_owned(),
            logprob: 0.0,
            top: top
                .iter()
                .map(|(token, probability)| ((*token).to_owned(), probability.ln()))
                .collect(),
        });
        let reply = ChatReply {
            text: self.0.iter().map(|(token, _)| *token).collect(),
            model: "likely".to_owned(),
            usage: Usage::default(),
            finish_reason: FinishReason::Stop,
            logprobs: logprobs.collect(),
        };
        async move { Ok(reply) }.boxed()
    }

    fn stream(&self, _request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>> {
        futures::stream::empty().boxed()
    }
}
