//! A server that takes requests and answers none, and tells whether those who asked have left.

use std::{
    io::Read as _,
    net::{TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// Nothing takes near as long; a hang fails a test.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server on a free port of this machine, until the process ends.
pub(super) struct Silent {
    url: String,
    heard: Arc<Heard>,
}

#[derive(Default)]
struct Heard {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Connections on which a request came.
    asked: usize,
    /// Those of them that were closed or reset at the other end.
    left: usize,
}

impl Silent {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Heard::default());
        let of_all = Arc::clone(&heard);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let heard = Arc::clone(&of_all);
                thread::spawn(move || heard.listen(connection));
            }
        });
        Self { url, heard }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Waits until so many requests or more came, and nobody waits for an answer any more.
    pub(super) fn is_left_by_all_of(&self, requests: usize) {
        let counts = self.heard.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |counts: &mut Counts| counts.asked < requests || counts.left < counts.asked;
        let waited = self.heard.changed.wait_timeout_while(counts, PATIENCE, waiting);
        let (counts, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(
            !timeout.timed_out(),
            "{requests} requests are to come and to be given up: {counts:?}"
        );
    }
}

impl Heard {
    /// Reads a connection to its end.
    fn listen(&self, mut connection: TcpStream) {
        let mut asked = false;
        while connection.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {
            if !asked {
                asked = true;
                self.count(|counts| counts.asked += 1);
            }
        }
        if asked {
            self.count(|counts| counts.left += 1);
        }
    }

    fn count(&self, what: impl FnOnce(&mut Counts)) {
        what(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}
