//! A proxy between a store and its server, which breaks off at any call.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::transport::{Channel, Endpoint};
use tower::Service;

/// What happens to the call at which a proxy breaks off. All calls after it are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    /// The server never sees it.
    Before,
    /// The server does it, and nobody learns.
    After,
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
}

enum Pass {
    Through,
    Lost,
    Refused,
}

impl Gate {
    /// Breaks off at the call after `calls` others.
    pub(crate) fn break_after(&self, calls: usize, how: Break) {
        *self.0.lock().unwrap() = State {
            left: Some((calls, how)),
            ..State::default()
        };
    }

    /// Whether it has broken off.
    pub(crate) fn is_broken(&self) -> bool {
        self.0.lock().unwrap().broken
    }

    /// The methods that were called since [`break_after`](Self::break_after).
    pub(crate) fn seen(&self) -> Vec<String> {
        self.0.lock().unwrap().seen.clone()
    }

    fn pass(&self, method: &str) -> Pass {
        let mut state = self.0.lock().unwrap();
        state.seen.push(method.rsplit('/').next().unwrap().to_owned());
        if state.broken {
            return Pass::Refused;
        }
        match &mut state.left {
            Some((0, how)) => {
                let how = *how;
                state.broken = true;
                match how {
                    Break::Before => Pass::Refused,
                    Break::After => Pass::Lost,
                }
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
            gate: Gate::default(),
        }))
        .add_service(Collections(Forward {
            channel: channel.clone(),
            gate: gate.clone(),
        }))
        .add_service(Points(Forward { channel, gate }));
    tokio::spawn(router.serve_with_incoming(tokio_stream::wrappers::TcpListenerStream::new(listener)));
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
            if let Pass::Refused = pass {
                return dead();
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
