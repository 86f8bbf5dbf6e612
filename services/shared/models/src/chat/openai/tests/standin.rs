//! A server on 127.0.0.1 that answers many at a time, as it is told to.

use tokio::sync::watch;

use super::*;

/// What to do with a request.
pub(super) enum Answer {
    /// These bytes, and the end.
    Bytes(Vec<Vec<u8>>),
    /// These bytes, and then nothing more for as long as the caller stays.
    Stuck(Vec<Vec<u8>>),
}

/// What is known about it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// Requests so far.
    pub(super) requests: usize,
    /// Requests that are being answered.
    pub(super) inside: usize,
    /// The most that were at one time.
    pub(super) most: usize,
}

pub(super) struct Standin {
    pub(super) url: String,
    seen: watch::Sender<Seen>,
    open: watch::Sender<bool>,
}

impl Standin {
    /// Answers the request with each number, from 0, with what `answer` says, as soon as the gate is open.
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
                        // The caller sends nothing more: the end of its side is all there is to read.
                        while socket.readable().await.is_ok() && !matches!(socket.try_read(&mut [0; 64]), Ok(0)) {
                            tokio::task::yield_now().await;
                        }
                    };
                    tokio::select! {
                        biased;
                        _ = gate.wait_for(|open| *open) => {}
                        () = left => return counts.send_modify(|seen| seen.inside -= 1),
                    }
                    // Counted out before the answer is sent, for the next request may come as soon as it is.
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

    /// Holds every answer until [`Standin::open`].
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

    /// Waits until this many requests are being answered.
    pub(super) async fn wait_for(&self, inside: usize) {
        let mut seen = self.seen.subscribe();
        let reached = seen.wait_for(|seen| seen.inside == inside);
        // A guard against hanging, never a measure.
        tokio::time::timeout(Duration::from_secs(60), reached)
            .await
            .unwrap()
            .unwrap();
    }

    pub(super) fn client(&self, flags: &[&str]) -> OpenAi {
        OpenAi::new(&options(flags), &self.url).unwrap()
    }
}

/// 429 with a header line of its own, or none.
pub(super) fn busy(header: &str) -> Vec<Vec<u8>> {
    response(
        "429 Too Many Requests",
        header,
        "{\"error\":{\"message\":\"slow down\"}}",
    )
}
