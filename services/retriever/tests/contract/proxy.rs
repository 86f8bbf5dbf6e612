//! A proxy between a store and its server, which breaks off at any call, or fails or says nothing for a while.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Request, Response};
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower::Service;

/// What happens to the call at which a proxy breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    /// The server never sees it, nor any call after it.
    Before,
    /// The server does it and nobody learns; it sees no call after it.
    After,
    /// This call and the ones after it, so many together, find the server away. Then it is back.
    Unavailable(usize),
    /// It is never answered, and the server never sees it. Calls after it pass.
    Hang,
    /// The server says with this code that the time of this call is over. Calls after it pass.
    OutOfTime(Code),
}

/// Which calls pass. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Calls that pass until the break.
    left: Option<(usize, Break)>,
    broken: bool,
    /// Calls that passed or did not, by the names of their methods.
    seen: Vec<String>,
    /// What is done before a method is called the next time.
    first: Option<(&'static str, Deed)>,
}

type Deed = Box<dyn FnOnce() + Send>;

enum Pass {
    Through,
    Lost,
    Refused,
    Away,
    Never,
    OutOfTime(Code),
}

impl Gate {
    /// Breaks at the call after `calls` others.
    pub(crate) fn break_after(&self, calls: usize, how: Break) {
        *self.0.lock().unwrap() = State {
            left: Some((calls, how)),
            ..State::default()
        };
    }

    /// Lets everything pass from now on, and does this before `method` is called the next time.
    pub(crate) fn before(&self, method: &'static str, first: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap() = State {
            first: Some((method, Box::new(first))),
            ..State::default()
        };
    }

    /// Whether it has broken.
    pub(crate) fn is_broken(&self) -> bool {
        self.0.lock().unwrap().broken
    }

    /// The methods that were called since [`break_after`](Self::break_after).
    pub(crate) fn seen(&self) -> Vec<String> {
        self.0.lock().unwrap().seen.clone()
    }

    fn pass(&self, method: &str) -> Pass {
        let mut state = self.0.lock().unwrap();
        let method = method.rsplit('/').next().unwrap();
        state.seen.push(method.to_owned());
        if let Some((_, first)) = state.first.take_if(|(at, _)| *at == method) {
            first();
        }
        let broken = state.broken;
        match &mut state.left {
            Some((0, Break::Before | Break::After)) if broken => Pass::Refused,
            Some((0, how)) => {
                let pass = match how {
                    Break::Before => Pass::Refused,
                    Break::After => Pass::Lost,
                    Break::Unavailable(0) => Pass::Through,
                    Break::Unavailable(more) => {
                        *more -= 1;
                        Pass::Away
                    }
                    Break::Hang | Break::OutOfTime(_) if broken => Pass::Through,
                    Break::Hang => Pass::Never,
                    Break::OutOfTime(code) => Pass::OutOfTime(*code),
                };
                state.broken = true;
                pass
            }
            Some((left, _)) => {
                *left -= 1;
                Pass::Through
            }
            None => Pass::Through,
        }
    }
}

/// Serves on a port of its own what the server at `url` does, and returns the address.
pub(crate) async fn start(url: &str, gate: Gate) -> String {
    let channel = Endpoint::from_shared(url.to_owned()).unwrap().connect().await.unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let router = tonic::transport::Server::builder()
        .add_service(Whole(Forward {
            channel: channel.clone(),
            gate: gate.clone(),
        }))
        .add_service(Collections(Forward {
            channel: channel.clone(),
            gate: gate.clone(),
        }))
        .add_service(Points(Forward { channel, gate }));
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    tokio::spawn(router.serve_with_incoming(incoming));
    address
}

#[derive(Clone)]
struct Forward {
    channel: Channel,
    gate: Gate,
}

impl Forward {
    fn forward(&mut self, request: Request<Body>) -> Forwarding {
        let (mut channel, gate) = (self.channel.clone(), self.gate.clone());
        Box::pin(async move {
            // Not a kind of error after which a call is made again: whoever called is dead.
            let dead = || Ok(Status::internal("the connection is gone").into_http());
            let pass = gate.pass(request.uri().path());
            match pass {
                Pass::Through | Pass::Lost => {}
                Pass::Refused => return dead(),
                Pass::Away => return Ok(Status::unavailable("the server is away").into_http()),
                Pass::Never => return std::future::pending().await,
                Pass::OutOfTime(code) => return Ok(Status::new(code, "Timeout expired").into_http()),
            }
            std::future::poll_fn(|context| Service::<Request<Body>>::poll_ready(&mut channel, context))
                .await
                .unwrap();
            let answer = channel.call(request).await.unwrap();
            match pass {
                Pass::Through => Ok(answer),
                _ => dead(),
            }
        })
    }
}

type Forwarding = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

macro_rules! forwarded {
    ($($service:ident = $name:literal;)*) => {$(
        #[derive(Clone)]
        struct $service(Forward);

        impl NamedService for $service {
            const NAME: &'static str = $name;
        }

        impl Service<Request<Body>> for $service {
            type Response = Response<Body>;
            type Error = Infallible;
            type Future = Forwarding;

            fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, request: Request<Body>) -> Forwarding {
                self.0.forward(request)
            }
        }
    )*};
}

forwarded! {
    Whole = "qdrant.Qdrant";
    Collections = "qdrant.Collections";
    Points = "qdrant.Points";
}
