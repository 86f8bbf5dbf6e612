//! A file descriptor for the time when there is none left.

use std::fs::File;
use std::io;

use futures::FutureExt;
use tokio::net::TcpListener;

/// What the operating system says when the process, or the machine, has no file descriptor left.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// A descriptor that is held to be given up: a client that waits in the queue of a server without descriptors would wait
/// until one is free, and `accept` fails for as long.
#[derive(Debug)]
pub(super) struct Spare(Option<File>);

impl Spare {
    pub(super) fn new() -> Self {
        Self(open())
    }

    /// Closes the next connection in the queue if descriptors have run out; says whether it did.
    pub(super) fn close_one(&mut self, listener: &TcpListener, error: &io::Error) -> bool {
        if !matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) {
            return false;
        }
        let closed = self.0.take().is_some() && matches!(listener.accept().now_or_never(), Some(Ok(_)));
        self.0 = open();
        closed
    }
}

fn open() -> Option<File> {
    File::open("/dev/null").ok()
}
