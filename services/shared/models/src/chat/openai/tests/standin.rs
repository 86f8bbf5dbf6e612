//! A fake server on 127.0.0.1 with concurrent, scripted responses.

use tokio::sync::watch;

use super::*;

/// How to respond to a request.
pub(super) enum Answer {
    /// Send these bytes and close.
    Bytes(Vec<Vec<u8>>),
    /// Send these bytes, then hang until the client disconnects.
    Stuck(Vec<Vec<u8>>),
}

/// Request counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// Total requests.
    pub(super) requests: usize,
    /// Requests in flight.
    pub(super) inside: usize,
    /// Maximum number of requests in flight at once.
    pub(super) most: usize,
}

pub(super) struct Standin {
    pub(super) url: String,
    seen: watch::Sender<Seen>,
    open: watch::Sender<bool>,
}

impl Standin {
    /// Responds to the n-th request, from 0, with `answer(n)`, once the gate is open.
    pub(super) async fn start(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, open) = (watch::Sender::new(Seen::default()), watch::Sender::new(true));
        let (counts, gate, answer) = (seen.clone(), open.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (counts, mut gate, answer) = (counts.clone(), gate.subscribe(), Arc::clone(&answer));
                tokio::spawn(async move {
                    read(&mut socket).await;
                    let mut number = 0;
                    counts.send_modify(|seen| {
                        number = seen.requests;
                        seen.requests += 1;
                        seen.inside += 1;
                        seen.most = seen.most.max(seen.inside);
                    });
                    let left = async {
                        // The client sends nothing more, so the read ends when it disconnects.
                        while socket.readable().await.is_ok() && !matches!(socket.try_read(&mut [0; 64]), Ok(0)) {
                            tokio::task::yield_now().await;
                        }
                    };
                    tokio::select! {
                        biased;
                        _ = gate.wait_for(|open| *open) => {}
                        () = left => return counts.send_modify(|seen| seen.inside -= 1),
                    }
                    // Decremented before the response is sent, because the next request may follow immediately.
                    let (parts, stuck) = match answer(number) {
                        Answer::Bytes(parts) => (parts, false),
                        Answer::Stuck(parts) => (parts, true),
                    };
                    if !stuck {
                        counts.send_modify(|seen| seen.inside -= 1);
                    }
                    for part in parts {
                        socket.write_all(&part).await.ok();
                    }
                    if stuck {
                        let mut rest = [0; 64];
                        while socket.read(&mut rest).await.is_ok_and(|read| read > 0) {}
                        counts.send_modify(|seen| seen.inside -= 1);
                    }
                    socket.shutdown().await.ok();
                });
            }
        });
        Self { url, seen, open }
    }

    /// Holds all responses until [`Standin::open`].
    pub(super) fn shut(self) -> Self {
        self.open.send_replace(false);
        self
    }

    pub(super) fn open(&self) {
        self.open.send_replace(true);
    }

    pub(super) fn seen(&self) -> Seen {
        *self.seen.borrow()
    }

    /// Waits until this many requests are in flight.
    pub(super) async fn wait_for(&self, inside: usize) {
        let mut seen = self.seen.subscribe();
        let reached = seen.wait_for(|seen| seen.inside == inside);
        // Guards against hanging; not a measurement.
        tokio::time::timeout(Duration::from_secs(60), reached)
            .await
            .unwrap()
            .unwrap();
    }

    pub(super) fn client(&self, flags: &[&str]) -> OpenAi {
        OpenAi::new(&options(flags), &self.url).unwrap()
    }
}

/// A 429 response with an optional header line.
pub(super) fn busy(header: &str) -> Vec<Vec<u8>> {
    response(
        "429 Too Many Requests",
        header,
        "{\"error\":{\"message\":\"slow down\"}}",
    )
}
