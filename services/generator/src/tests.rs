//! The service over real sockets.

mod continuing;
mod extractive;
mod limits;
mod openai;
mod server;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Parser;
use emend_models::chat::{Chat, ChatDelta, ChatError, ChatReply, ChatRequest, FinishReason, Usage};
use emend_models::prompt::{PromptOptions, Prompts};
use emend_proto::v1::generate_response::Event;
use emend_proto::v1::generator_service_client::GeneratorServiceClient;
use emend_proto::v1::{GenerateFinished, GenerateRequest, GenerateResponse, Passage};
use emend_testkit::in_process::InProcess;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tokio::sync::watch;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};

use crate::backend::{self, Backend, OpenAiBackend, OpenAiSettings};
use crate::config::Options;

/// A generator that stops when it is dropped.
struct Generator {
    client: GeneratorServiceClient<Channel>,
    service: InProcess,
}

impl Generator {
    /// The deltas and the end of an answer.
    async fn answer(&self, request: GenerateRequest) -> Result<(Vec<String>, GenerateFinished), Status> {
        read(self.start(Request::new(request)).await?).await
    }

    async fn start(&self, request: Request<GenerateRequest>) -> Result<Streaming<GenerateResponse>, Status> {
        soon(self.client.clone().generate(request))
            .await
            .map(tonic::Response::into_inner)
    }
}

/// Reads a stream to its end; the `finished` message has to be the only one, and last.
async fn read(mut events: Streaming<GenerateResponse>) -> Result<(Vec<String>, GenerateFinished), Status> {
    let mut deltas = Vec::new();
    while let Some(response) = soon(events.message()).await? {
        match response.event.unwrap() {
            Event::TextDelta(delta) => deltas.push(delta),
            Event::Finished(finished) => {
                assert_eq!(soon(events.message()).await?, None, "something follows the end");
                assert_eq!(deltas.concat(), finished.answer);
                check(&finished);
                return Ok((deltas, finished));
            }
        }
    }
    panic!("the stream ended without its end");
}

/// What holds for every answer: the sentences stand where they say.
fn check(finished: &GenerateFinished) {
    let chars: Vec<char> = finished.answer.chars().collect();
    for sentence in &finished.sentences {
        let span = sentence.span.unwrap();
        assert_eq!(
            sentence.text,
            chars[span.start as usize..span.end as usize].iter().collect::<String>()
        );
    }
}

fn options(flags: &[&str]) -> Options {
    Options::parse_from(
        ["emend-generator", "--embedder", "hashed", "--default-timeout", "1h"]
            .iter()
            .chain(flags),
    )
}

async fn serve(backend: Arc<dyn Backend>, options: Options) -> Generator {
    let service = InProcess::start(|listener, shutdown| async move {
        crate::serve_backend(backend, &options.service, listener, shutdown).await
    })
    .await;
    Generator {
        client: GeneratorServiceClient::new(service.channel.clone()),
        service,
    }
}

/// A generator that quotes, with the evaluator on the hashed embedder.
async fn extractive() -> Generator {
    let options = options(&[]);
    serve(backend::load(&options).await.unwrap(), options).await
}

/// A generator with a language model.
async fn openai(chat: impl Chat + 'static, flags: &[&str]) -> Generator {
    let prompts = Prompts::load(&PromptOptions::default()).unwrap();
    let settings = OpenAiSettings {
        max_sentences: 3,
        temperature: 0.0,
    };
    serve(
        Arc::new(OpenAiBackend::new(Arc::new(chat), prompts, settings)),
        options(flags),
    )
    .await
}

fn passage(id: &str, text: &str) -> Passage {
    Passage {
        id: id.to_owned(),
        text: text.to_owned(),
        ..Passage::default()
    }
}

fn ask(question: &str, texts: &[&str]) -> GenerateRequest {
    GenerateRequest {
        question: question.to_owned(),
        passages: texts
            .iter()
            .enumerate()
            .map(|(index, text)| passage(&format!("p{index}"), text))
            .collect(),
        attempt: 1,
        ..GenerateRequest::default()
    }
}

/// A hang guard, never a measure.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("hangs")
}

/// A model that streams what it is given and then, unless an end is among it, says nothing more for ever.
#[derive(Clone)]
struct Streamed {
    items: Vec<Result<ChatDelta, ChatError>>,
    requests: Arc<Mutex<Vec<ChatRequest>>>,
    /// Streams that somebody holds.
    held: watch::Sender<usize>,
}

impl Streamed {
    fn items(items: Vec<Result<ChatDelta, ChatError>>) -> Self {
        Self {
            items,
            requests: Arc::default(),
            held: watch::Sender::new(0),
        }
    }

    /// Says these pieces and ends well.
    fn saying(pieces: &[&str]) -> Self {
        let mut streamed = Self::stuck_after(pieces);
        let usage = Usage {
            input_tokens: 70,
            output_tokens: 9,
        };
        streamed.items.push(Ok(ChatDelta::Finished {
            finish_reason: FinishReason::Stop,
            usage,
        }));
        streamed
    }

    fn stuck_after(pieces: &[&str]) -> Self {
        Self::items(
            pieces
                .iter()
                .map(|piece| Ok(ChatDelta::Text((*piece).to_owned())))
                .collect(),
        )
    }

    async fn wait_until_held_by(&self, streams: usize) {
        soon(self.held.subscribe().wait_for(|held| *held == streams))
            .await
            .unwrap();
    }

    fn last_request(&self) -> ChatRequest {
        self.requests.lock().unwrap().last().cloned().unwrap()
    }
}

struct Held(watch::Sender<usize>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.send_modify(|held| *held -= 1);
    }
}

impl Chat for Streamed {
    fn model(&self) -> &str {
        "streamed"
    }

    fn complete(&self, _request: ChatRequest) -> BoxFuture<'_, Result<ChatReply, ChatError>> {
        async {
            Err(ChatError::Timeout {
                model: "streamed".to_owned(),
            })
        }
        .boxed()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ChatDelta, ChatError>> {
        self.requests.lock().unwrap().push(request);
        self.held.send_modify(|held| *held += 1);
        let held = Held(self.held.clone());
        stream::iter(self.items.clone())
            .chain(stream::pending())
            .map(move |item| {
                let _ = &held;
                item
            })
            .boxed()
    }
}
