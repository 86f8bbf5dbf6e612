//! The body of a request, measured while it is read.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tokio_util::sync::PollSemaphore;
use tonic::Status;
use tonic::body::Body;

use super::budget::{Held, Refused};
use super::contract::{Contract, Method};
use super::scan::Scan;

/// Bytes before each message: whether it is compressed, and its length.
const HEADER_BYTES: usize = 5;
/// Bytes from which a message takes so long to build that others are to come in between.
const LARGE_BYTES: usize = 64 * 1024;

/// A body that takes from the budget what its messages need, before tonic has them.
///
/// A request's bytes, and the memory that is built from them, are taken as they come, or the request is refused. A stream
/// waits for the whole of each message, and gives back what the one before had: it never waits with a message in hand that
/// is not complete, so streams cannot wait for each other.
///
/// A thread builds one message after the other, each at a stretch, and what else is to be done there would wait for all of
/// them. So a large request, once it is complete, waits until the one before is built: health probes come in between.
pub(super) struct RequestBody {
    inner: Body,
    messages: Messages,
    held: Arc<Held>,
    kind: Kind,
    turn: Turn,
}

enum Kind {
    /// One message, which has to be there in time.
    Single {
        within: Duration,
        late: Option<Pin<Box<Sleep>>>,
    },
    Stream,
}

/// What a message waits for: the memory that it needs in a stream, or to be built.
struct Turn {
    semaphore: PollSemaphore,
    held: Option<OwnedSemaphorePermit>,
    /// Permits that are waited for with this in hand.
    waiting: Option<(u32, Frame<Bytes>)>,
}

impl RequestBody {
    /// Measures the body of a call that holds `held`; a single message has to be there `within` a time.
    pub(super) fn new(inner: Body, method: Method, contract: Arc<Contract>, held: Arc<Held>, within: Duration) -> Self {
        let (kind, semaphore) = if method.client_streaming {
            (Kind::Stream, &held.budget.messages)
        } else {
            (Kind::Single { within, late: None }, &held.budget.builds)
        };
        let turn = Turn {
            semaphore: PollSemaphore::new(Arc::clone(semaphore)),
            held: None,
            waiting: None,
        };
        Self {
            inner,
            messages: Messages {
                contract,
                request: method.request,
                header: [0; HEADER_BYTES],
                filled: 0,
                length: 0,
                left: 0,
                scan: None,
            },
            held,
            kind,
            turn,
        }
    }

    /// Reads a frame, and takes what a single message needs. The permits that are to be waited for, if any.
    fn measure(&mut self, data: &[u8]) -> Result<Option<u32>, Refused> {
        let read = self.messages.read(data)?;
        match self.kind {
            Kind::Single { .. } => {
                self.held.take(data.len() + read.memory)?;
                Ok(self.messages.is_large_and_complete().then_some(1))
            }
            Kind::Stream => read.began.map(|bytes| self.held.budget.message(bytes)).transpose(),
        }
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        loop {
            let turn = &mut this.turn;
            if let Some((permits, frame)) = turn.waiting.take() {
                let Poll::Ready(held) = turn.semaphore.poll_acquire_many(context, permits) else {
                    turn.waiting = Some((permits, frame));
                    return Poll::Pending;
                };
                turn.held = held;
                return Poll::Ready(Some(Ok(frame)));
            }
            if let Kind::Single { .. } = this.kind {
                // Who reads on has built what there was.
                turn.held = None;
            }
            let frame = match (Pin::new(&mut this.inner).poll_frame(context), &mut this.kind) {
                (Poll::Ready(Some(Ok(frame))), _) => frame,
                (Poll::Pending, Kind::Single { within, late }) => {
                    let within = *within;
                    let late = late.get_or_insert_with(|| Box::pin(tokio::time::sleep(within)));
                    ready!(late.as_mut().poll(context));
                    return Poll::Ready(Some(Err(Refused::Late { within }.into())));
                }
                (other, _) => {
                    if matches!(other, Poll::Ready(Some(Err(_)))) {
                        // The caller took the call back, or its connection broke.
                        this.held.abandoned.store(true, Ordering::Relaxed);
                    }
                    return other;
                }
            };
            let waits = match frame.data_ref().map(|data| this.measure(data)).transpose() {
                Ok(waits) => waits.flatten(),
                Err(refused) => return Poll::Ready(Some(Err(refused.into()))),
            };
            let Some(permits) = waits else {
                return Poll::Ready(Some(Ok(frame)));
            };
            this.turn.held = None;
            this.turn.waiting = Some((permits, frame));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.turn.waiting.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The messages of a body, as their bytes pass.
struct Messages {
    contract: Arc<Contract>,
    request: usize,
    header: [u8; HEADER_BYTES],
    filled: usize,
    /// Bytes of the message, and those that are still to come.
    length: usize,
    left: usize,
    /// None between messages, and in one that is compressed, which no service takes.
    scan: Option<Scan>,
}

/// What some bytes brought.
#[derive(Default)]
struct Read {
    /// The length of the last message that began.
    began: Option<usize>,
    /// Bytes of memory that messages need beside their texts.
    memory: usize,
}

impl Messages {
    fn is_large_and_complete(&self) -> bool {
        self.left == 0 && self.length >= LARGE_BYTES
    }

    fn read(&mut self, mut data: &[u8]) -> Result<Read, Refused> {
        let mut read = Read::default();
        while let Some((&byte, rest)) = data.split_first() {
            if self.left == 0 {
                self.header[self.filled] = byte;
                self.filled += 1;
                data = rest;
                if self.filled == HEADER_BYTES {
                    self.filled = 0;
                    let [compressed, length @ ..] = self.header;
                    self.length = u32::from_be_bytes(length) as usize;
                    self.left = self.length;
                    self.scan = (compressed == 0).then(|| {
                        let contract = Arc::clone(&self.contract);
                        Scan::new(contract, self.request, self.left)
                    });
                    read.began = Some(self.left);
                }
                continue;
            }
            let (message, rest) = data.split_at(self.left.min(data.len()));
            data = rest;
            self.left -= message.len();
            if let Some(scan) = &mut self.scan {
                let before = scan.memory();
                scan.read(message)?;
                read.memory += scan.memory() - before;
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
