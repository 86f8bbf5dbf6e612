//! A server on 127.0.0.1 that speaks as much HTTP as a test needs, answers as it is told to, and keeps what it was sent.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// A request that came in.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// The request line and the headers.
    pub head: String,
    /// The body as text.
    pub body: String,
}

impl HttpRequest {
    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }
}

/// What to do with a request. The bytes are those on the wire, head and body, in the pieces they are sent in.
#[derive(Clone, Debug)]
pub enum HttpAnswer {
    /// These bytes, and the end of the connection.
    Bytes(Vec<Vec<u8>>),
    /// These bytes, and then nothing more for as long as the caller stays.
    Stuck(Vec<Vec<u8>>),
    /// These bytes, and then the last piece of them again and again for as long as the caller stays.
    Endless(Vec<Vec<u8>>),
}

impl HttpAnswer {
    /// A whole response: `status` as in `200 OK`; `headers` each with its `\r\n`.
    pub fn response(status: &str, headers: &str, body: &str) -> Self {
        Self::Bytes(vec![response(status, headers, body)])
    }
}

/// The bytes of a whole response: `status` as in `200 OK`; `headers` each with its `\r\n`.
pub fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}").into_bytes()
}

/// What is known about the requests of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Requests so far.
    pub requests: usize,
    /// Requests that are being answered.
    pub inside: usize,
    /// The most that were at one time.
    pub most: usize,
}

/// A running server; it answers many requests at a time, one a connection, and stops with the runtime of the test.
#[derive(Debug)]
pub struct HttpServer {
    url: String,
    shared: Shared,
}

#[derive(Clone, Debug)]
struct Shared {
    seen: watch::Sender<Seen>,
    open: watch::Sender<bool>,
    /// Before each answer.
    delay: watch::Sender<Duration>,
    requests: Arc<Mutex<Vec<HttpRequest>>>,
}

impl HttpServer {
    /// Answers the request with each number, from 0, with what `answer` says.
    pub async fn start(answer: impl Fn(usize, &HttpRequest) -> HttpAnswer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Shared {
            seen: watch::Sender::new(Seen::default()),
            open: watch::Sender::new(true),
            delay: watch::Sender::default(),
            requests: Arc::default(),
        };
        let (answer, of_server) = (Arc::new(answer), shared.clone());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (shared, answer) = (of_server.clone(), Arc::clone(&answer));
                tokio::spawn(async move { shared.serve(socket, &*answer).await });
            }
        });
        Self { url, shared }
    }

    /// Answers with each of `answers` once, in order; after the last it never answers.
    pub async fn replying(answers: Vec<HttpAnswer>) -> Self {
        Self::start(move |number, _| answers.get(number).cloned().unwrap_or(HttpAnswer::Stuck(Vec::new()))).await
    }

    /// Holds every answer until [`HttpServer::open`].
    pub fn shut(self) -> Self {
        self.shared.open.send_replace(false);
        self
    }

    /// Takes so long for every answer, many at a time.
    pub fn delayed(self, delay: Duration) -> Self {
        self.shared.delay.send_replace(delay);
        self
    }

    /// Lets every answer go.
    pub fn open(&self) {
        self.shared.open.send_replace(true);
    }

    /// Where it listens, without a path: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The requests so far, oldest first.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.shared
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How many requests there were and are.
    pub fn seen(&self) -> Seen {
        *self.shared.seen.borrow()
    }

    /// Waits until this many requests are being answered.
    pub async fn wait_for(&self, inside: usize) {
        let mut seen = self.shared.seen.subscribe();
        let reached = seen.wait_for(|seen| seen.inside == inside);
        // A guard against hanging, never a measure.
        tokio::time::timeout(Duration::from_secs(60), reached)
            .await
            .unwrap()
            .unwrap();
    }
}

impl Shared {
    async fn serve(self, mut socket: TcpStream, answer: &(dyn Fn(usize, &HttpRequest) -> HttpAnswer + Send + Sync)) {
        let Some(request) = read(&mut socket).await else {
            return;
        };
        let number = {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(request.clone());
            requests.len() - 1
        };
        self.seen.send_modify(|seen| {
            seen.requests += 1;
            seen.inside += 1;
            seen.most = seen.most.max(seen.inside);
        });
        let mut gate = self.open.subscribe();
        let left = async {
            // The caller sends nothing more: the end of its side is all there is to read.
            while socket.readable().await.is_ok() && !matches!(socket.try_read(&mut [0; 64]), Ok(0)) {
                tokio::task::yield_now().await;
            }
        };
        let delay = *self.delay.borrow();
        let may_answer = async {
            tokio::time::sleep(delay).await;
            gate.wait_for(|open| *open).await.is_ok()
        };
        tokio::select! {
            biased;
            _ = may_answer => {}
            () = left => return self.seen.send_modify(|seen| seen.inside -= 1),
        }
        // Counted out before the answer is sent, for the next request may come as soon as it is.
        let (parts, stuck, endless) = match answer(number, &request) {
            HttpAnswer::Bytes(parts) => (parts, false, false),
            HttpAnswer::Stuck(parts) => (parts, true, false),
            HttpAnswer::Endless(parts) => (parts, false, true),
        };
        if endless {
            let again = parts.last().cloned().unwrap_or_default();
            let mut next = parts.into_iter();
            while socket
                .write_all(&next.next().unwrap_or_else(|| again.clone()))
                .await
                .is_ok()
            {
                tokio::task::yield_now().await;
            }
            return self.seen.send_modify(|seen| seen.inside -= 1);
        }
        if !stuck {
            self.seen.send_modify(|seen| seen.inside -= 1);
        }
        // A caller that is gone does not read it.
        for part in parts {
            socket.write_all(&part).await.ok();
            tokio::task::yield_now().await;
        }
        if stuck {
            while socket.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
            self.seen.send_modify(|seen| seen.inside -= 1);
        }
        socket.shutdown().await.ok();
    }
}

/// Reads a request; `None` when the connection breaks first.
async fn read(socket: &mut TcpStream) -> Option<HttpRequest> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let count = socket.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim())
        });
        let body = &bytes[end + 4..];
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            let body = String::from_utf8_lossy(body).into_owned();
            return Some(HttpRequest { head, body });
        }
    }
}

#[cfg(test)]
mod tests;
