//! A call whose answer is a stream of events.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::{ActorHandle, Gone, Work};
use crate::caller::Caller;

/// Where work puts its events. A full stream makes the work wait: a slow reader slows the work down.
#[derive(Debug)]
pub struct EventSender<Ev>(mpsc::Sender<Ev>);

impl<Ev> Clone for EventSender<Ev> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Ev> EventSender<Ev> {
    /// Sends one event, waiting for room.
    ///
    /// # Errors
    /// [`Gone`] when nobody reads the stream any more.
    pub async fn send(&self, event: Ev) -> Result<(), Gone> {
        self.0.send(event).await.map_err(|_| Gone)
    }

    /// A sender and the events that come out of it, for tests of what sends events.
    pub fn channel(capacity: usize) -> (Self, impl Stream<Item = Ev> + Send + Unpin)
    where
        Ev: Send,
    {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        (Self(sender), tokio_stream::wrappers::ReceiverStream::new(receiver))
    }
}

impl<S> ActorHandle<S> {
    /// Hands an actor work that sends events, and streams them.
    ///
    /// `make` gets the sender and returns the work; at most `capacity` events wait for the reader. The call is admitted
    /// and bounded like any other, also while nobody reads the stream. A failure is the last item. Dropping the stream
    /// cancels the work.
    pub fn stream<W, Ev, F>(
        &self,
        caller: Caller,
        capacity: usize,
        make: F,
    ) -> impl Stream<Item = Result<Ev, tonic::Status>> + Send + 'static + use<S, W, Ev, F>
    where
        F: FnOnce(EventSender<Ev>) -> W,
        W: Work<S, Reply = ()>,
        Ev: Send + 'static,
    {
        let (sender, events) = mpsc::channel(capacity.max(1));
        let work = make(EventSender(sender));
        let handle = self.clone();
        let call = Box::pin(async move {
            let ended = handle.call_bounded(work, caller, true).await;
            ended.map_err(tonic::Status::from)
        });
        Events {
            events,
            call: Some(call),
            failure: None,
        }
    }
}

/// Polls the call beside the events, so that no task has to be spawned for it.
struct Events<Ev> {
    events: mpsc::Receiver<Ev>,
    call: Option<BoxFuture<'static, Result<(), tonic::Status>>>,
    failure: Option<tonic::Status>,
}

impl<Ev> Stream for Events<Ev> {
    type Item = Result<Ev, tonic::Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(call) = &mut this.call
            && let Poll::Ready(result) = call.as_mut().poll(context)
        {
            this.call = None;
            this.failure = result.err();
            // What was sent before the end is still delivered; nothing more is taken.
            this.events.close();
        }
        match this.events.poll_recv(context) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(Ok(event))),
            // All senders are gone, but only the call's own result says whether it went well.
            Poll::Ready(None) if this.call.is_some() => Poll::Pending,
            Poll::Ready(None) => Poll::Ready(this.failure.take().map(Err)),
            Poll::Pending => Poll::Pending,
        }
    }
}
