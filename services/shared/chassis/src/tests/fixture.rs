//! A small service behind an actor, for the tests of this crate.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use emend_proto::v1::generator_service_server::{GeneratorService, GeneratorServiceServer};
use emend_proto::v1::web_search_service_client::WebSearchServiceClient;
use emend_proto::v1::web_search_service_server::{WebSearchService, WebSearchServiceServer};
use emend_proto::v1::{GenerateRequest, GenerateResponse, SearchRequest, SearchResponse, generate_response};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};

use emend_core::{Backoff, Reason, Scope, ServiceError};

use crate::{
    ActorHandle, ActorOptions, ActorSystem, Caller, EventSender, HealthFlag, RestartPolicy, ServeError, Server,
    ServiceOptions, Work,
};

/// What tests see of the work, and hold it back with.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Works that began.
    pub(crate) begun: AtomicUsize,
    /// Works that ran to their end.
    pub(crate) done: AtomicUsize,
    /// Works that were dropped before.
    pub(crate) dropped: AtomicUsize,
    /// A `hold` ends when it gets one.
    pub(crate) release: Semaphore,
    /// A `block` blocks the actor's whole thread while a test holds this.
    pub(crate) thread: std::sync::Mutex<()>,
    changed: Notify,
}

impl Gate {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            begun: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            release: Semaphore::new(0),
            thread: std::sync::Mutex::new(()),
            changed: Notify::new(),
        })
    }

    fn count(&self, counter: &AtomicUsize) {
        counter.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// Waits until a counter has reached a value; fails a test that would wait for ever.
    pub(crate) async fn reached(&self, counter: &AtomicUsize, value: usize) {
        let reached = async {
            loop {
                let changed = self.changed.notified();
                if counter.load(Ordering::SeqCst) >= value {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, reached)
            .await
            .expect("it was never reached");
    }
}

struct Working<'a>(&'a Gate, bool);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.count(if self.1 { &self.0.done } else { &self.0.dropped });
    }
}

/// Says its text, after doing what the text says: `hold` waits for the gate, `block` blocks its thread, `panic` panics, `fail` fails, `left` says how
/// many milliseconds are left, `where` says its thread.
pub(crate) struct Say(pub(crate) &'static str);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("told to fail")]
pub(crate) struct Failed;

impl ServiceError for Failed {
    fn reason(&self) -> Reason {
        Reason::StateUnsuitable
    }
}

impl Work<Gate> for Say {
    type Reply = String;
    type Error = Failed;
    const NAME: &'static str = "say";

    async fn run(self, gate: &Gate, scope: &Scope) -> Result<String, Failed> {
        let Self(text) = self;
        gate.count(&gate.begun);
        let mut working = Working(gate, false);
        match text {
            "hold" => gate.release.acquire().await.unwrap().forget(),
            "panic" => panic!("told to panic"),
            "fail" => return Err(Failed),
            "left" => return Ok(scope.deadline.remaining().as_millis().to_string()),
            "where" => return Ok(format!("{:?}", std::thread::current().id())),
            "block" => drop(gate.thread.lock().unwrap()),
            _ => {}
        }
        working.1 = true;
        Ok(text.to_owned())
    }
}

/// Sends numbers from zero, one for each permit of the gate; fails after `fail_after` of them.
pub(crate) struct CountUp {
    pub(crate) events: EventSender<usize>,
    pub(crate) fail_after: usize,
}

impl Work<Gate> for CountUp {
    type Reply = ();
    type Error = Failed;
    const NAME: &'static str = "count_up";

    async fn run(self, gate: &Gate, _: &Scope) -> Result<(), Failed> {
        gate.count(&gate.begun);
        let _working = Working(gate, false);
        for number in 0..self.fail_after {
            gate.release.acquire().await.unwrap().forget();
            self.events.send(number).await.unwrap();
        }
        Err(Failed)
    }
}

/// A handle of one actor that is restarted at once.
pub(crate) fn actor(gate: &Arc<Gate>, max_in_flight: usize, health: HealthFlag) -> (ActorSystem, ActorHandle<Gate>) {
    actors(gate, 1, max_in_flight, health)
}

/// A handle of some actors that are restarted at once.
pub(crate) fn actors(
    gate: &Arc<Gate>,
    threads: usize,
    max_in_flight: usize,
    health: HealthFlag,
) -> (ActorSystem, ActorHandle<Gate>) {
    let options = ServiceOptions {
        max_in_flight,
        ..ServiceOptions::default()
    };
    start(gate, threads, &options, health)
}

fn start(
    gate: &Arc<Gate>,
    threads: usize,
    options: &ServiceOptions,
    health: HealthFlag,
) -> (ActorSystem, ActorHandle<Gate>) {
    let system = ActorSystem::start("actors").unwrap();
    let options = ActorOptions {
        threads,
        restart: RestartPolicy {
            backoff: Backoff::new(Duration::from_millis(1), Duration::from_millis(1)),
            max_restarts: 3,
            window: Duration::from_secs(3600),
        },
        ..ActorOptions::new("say", options)
    };
    let gate = Arc::clone(gate);
    let handle = ActorHandle::start(&system, options, health, move || Arc::clone(&gate)).unwrap();
    (system, handle)
}

/// A caller with a long deadline.
pub(crate) fn caller() -> Caller {
    Caller::of(&Request::new(()), Duration::from_secs(60))
}

/// Says the query as `provider`, through the actor.
struct Service {
    handle: ActorHandle<Gate>,
    name: &'static str,
}

#[tonic::async_trait]
impl WebSearchService for Service {
    async fn search(&self, request: Request<SearchRequest>) -> Result<Response<SearchResponse>, Status> {
        let caller = self.handle.caller(&request);
        let text = match request.into_inner().query.as_str() {
            "hold" => "hold",
            "panic" => "panic",
            "fail" => "fail",
            "left" => "left",
            "where" => "where",
            "block" => "block",
            "who" => self.name,
            "fail at length" => return Err(Status::not_found("名".repeat(20_000))),
            _ => "said",
        };
        let provider = self.handle.call(Say(text), caller).await?;
        Ok(Response::new(SearchResponse {
            provider,
            ..Default::default()
        }))
    }
}

#[tonic::async_trait]
impl GeneratorService for Service {
    type GenerateStream = BoxStream<'static, Result<GenerateResponse, Status>>;

    async fn generate(&self, request: Request<GenerateRequest>) -> Result<Response<Self::GenerateStream>, Status> {
        let caller = self.handle.caller(&request);
        let numbers = self
            .handle
            .stream(caller, 2, |events| CountUp { events, fail_after: 3 });
        let texts = numbers.map(|number| {
            let event = generate_response::Event::TextDelta(number?.to_string());
            Ok(GenerateResponse { event: Some(event) })
        });
        Ok(Response::new(texts.boxed()))
    }
}

/// The service on a port of its own.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) gate: Arc<Gate>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) served: JoinHandle<Result<(), ServeError>>,
    _system: ActorSystem,
    _stop: DropGuard,
}

impl Running {
    pub(crate) async fn start(name: &'static str, options: ServiceOptions) -> Self {
        Self::start_on(name, 1, options).await
    }

    /// With an actor on each of some threads.
    pub(crate) async fn start_on(name: &'static str, threads: usize, options: ServiceOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let gate = Gate::new();
        let server = Server::new(name, &options);
        let health = server.health().flag("emend.v1.WebSearchService");
        let (system, handle) = start(&gate, threads, &options, health);
        let service = || Service {
            handle: handle.clone(),
            name,
        };
        let shutdown = CancellationToken::new();
        let server = server
            .on_threads_of(&handle)
            .add(WebSearchServiceServer::new(service()))
            .add(GeneratorServiceServer::new(service()))
            .descriptors(emend_proto::FILE_DESCRIPTOR_SET);
        let served = tokio::spawn(server.serve(listener, shutdown.clone()));
        let stop = shutdown.clone().drop_guard();
        Self {
            address,
            gate,
            shutdown,
            served,
            _system: system,
            _stop: stop,
        }
    }

    /// A plain client, without the chassis' own.
    pub(crate) async fn client(&self) -> WebSearchServiceClient<Channel> {
        WebSearchServiceClient::new(self.connect().await)
    }

    /// A plain connection.
    pub(crate) async fn connect(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        endpoint.connect().await.unwrap()
    }
}

/// A request with `query`.
pub(crate) fn search(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        ..Default::default()
    }
}

/// How long a test may hang before it fails. Generous: it is no measure of speed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until something is so.
pub(crate) async fn until(so: impl Fn() -> bool) {
    let waiting = async {
        while !so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it never was so");
}

/// Fails a test that hangs.
pub(crate) fn hang_guard<F: Future + Send + 'static>(future: F) -> BoxFuture<'static, F::Output> {
    async move {
        tokio::time::timeout(Duration::from_secs(60), future)
            .await
            .expect("the test hangs")
    }
    .boxed()
}
