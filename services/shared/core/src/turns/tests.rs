use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};

use futures::future::{BoxFuture, FutureExt as _, join_all};

use super::*;

#[tokio::test]
async fn every_item_is_computed_in_order_and_in_pieces() {
    let turns = Turns::new(1);
    let items = vec![PIECE_BYTES * 3, 1, 2, PIECE_BYTES, 5];
    let threads = turns
        .each(items.clone(), |size| *size, |size| (size, std::thread::current().id()))
        .await;
    let sizes: Vec<usize> = threads.unwrap().into_iter().map(|(size, _)| size).collect();
    assert_eq!(sizes, items);
    assert_eq!(
        turns.each(Vec::<usize>::new(), |_| 1, |item| item).await,
        Ok(Vec::new())
    );
}

#[tokio::test]
async fn a_caller_that_is_dropped_computes_no_further_piece() {
    let turns = Turns::new(1);
    let done = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&done);
    {
        let mut call = pin!(turns.each(
            0..1000,
            |_| PIECE_BYTES,
            move |_| counted.fetch_add(1, Ordering::SeqCst)
        ));
        // Polled once: the first piece is on its way, and no other can be before the next poll.
        assert_eq!(
            call.as_mut().poll(&mut Context::from_waker(Waker::noop())),
            Poll::Pending
        );
    }
    // Its turn is over when another gets one.
    turns.piece(0, || ()).await.unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_small_call_waits_for_one_piece_of_a_large_one() {
    let turns = Turns::new(1);
    let (open, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let done = Arc::new(AtomicUsize::new(0));
    let (counted, gate) = (Arc::clone(&done), Arc::new(gate));
    let large = turns.each(
        0..1000,
        |_| PIECE_BYTES,
        move |number| {
            if number < 2 {
                gate.lock().unwrap().recv().unwrap();
            }
            counted.fetch_add(1, Ordering::SeqCst)
        },
    );
    let mut large = pin!(large);
    let mut context = Context::from_waker(Waker::noop());
    assert!(large.as_mut().poll(&mut context).is_pending());
    // The first piece holds the only place; the small call is in the queue behind it.
    let mut small = pin!(turns.piece(0, || 7));
    assert!(small.as_mut().poll(&mut context).is_pending());
    open.send(()).unwrap();
    // The large call asks for its next turn, and has to wait for the small one.
    let next = poll_fn(|context| {
        let _ = large.as_mut().poll(context);
        small.as_mut().poll(context)
    });
    assert_eq!(next.await, Ok(7));
    assert_eq!(done.load(Ordering::SeqCst), 1);
    open.send(()).unwrap();
}

#[tokio::test]
async fn a_piece_that_panics_is_an_error_and_gives_its_place_back() {
    let turns = Turns::new(1);
    assert_eq!(turns.piece(0, || panic!("on purpose")).await, Err::<(), _>(BrokenOff));
    assert_eq!(turns.piece(0, || 1).await, Ok(1));
}

/// Callers of a queue with one place, which is taken until `open` is sent to; they wait in their order.
struct Waiting {
    turns: Turns,
    open: mpsc::Sender<()>,
    taken: BoxFuture<'static, ()>,
    ended: Arc<Mutex<Vec<&'static str>>>,
    callers: Vec<BoxFuture<'static, ()>>,
}

impl Waiting {
    fn new() -> Self {
        let turns = Turns::new(1);
        let (open, gate) = mpsc::channel();
        let holder = turns.clone();
        let taken = async move { holder.piece(0, move || gate.recv().unwrap()).await.unwrap() };
        let mut taken = taken.boxed();
        assert!(poll_once(&mut taken).is_pending());
        Self {
            turns,
            open,
            taken,
            ended: Arc::default(),
            callers: Vec::new(),
        }
    }

    /// A caller of so many pieces of so many bytes.
    fn add(&mut self, name: &'static str, pieces: usize, bytes: usize) {
        let (turns, ended) = (self.turns.clone(), Arc::clone(&self.ended));
        let work = move |_| ended.lock().unwrap().push(name);
        let caller = async move {
            let call = turns.each(0..pieces, move |_| bytes, work);
            as_caller(call).await.unwrap();
        };
        let mut caller = caller.boxed();
        assert!(poll_once(&mut caller).is_pending());
        self.callers.push(caller);
    }

    /// Frees the place. Who ended pieces, in order.
    async fn run(self) -> Vec<&'static str> {
        self.open.send(()).unwrap();
        futures::join!(self.taken, join_all(self.callers));
        Arc::into_inner(self.ended).unwrap().into_inner().unwrap()
    }
}

fn poll_once(future: &mut BoxFuture<'_, ()>) -> Poll<()> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn a_small_call_overtakes_the_large_ones_that_wait() {
    let mut waiting = Waiting::new();
    for _ in 0..63 {
        waiting.add("large", 1, PIECE_BYTES);
    }
    waiting.add("small", 1, 10);
    let ended = waiting.run().await;
    assert_eq!(ended.len(), 64);
    assert_eq!(ended[0], "small");
}

#[tokio::test]
async fn the_pieces_of_a_call_are_added_up() {
    // Both have pieces of the same size; the first has had three when the second comes to its second one.
    let mut waiting = Waiting::new();
    waiting.add("first", 2, 3 * PIECE_BYTES / 4);
    waiting.add("second", 1, PIECE_BYTES);
    assert_eq!(waiting.run().await, ["first", "second", "first"]);

    let turns = Turns::new(1);
    let both = async {
        turns.piece(PIECE_BYTES, || ()).await.unwrap();
        turns.piece(PIECE_BYTES, || ()).await.unwrap();
        USED.with(|used| used.load(Ordering::Relaxed))
    };
    let expected = 2 * PIECE_BYTES / BYTES_PER_MICROSECOND;
    assert!(as_caller(both).await >= expected as u64);
}

#[tokio::test]
async fn no_large_call_waits_for_ever() {
    let mut waiting = Waiting::new();
    waiting.add("large", 1, 100 * PIECE_BYTES);
    for _ in 0..20 {
        waiting.add("small", 1, 10);
    }
    let ended = waiting.run().await;
    let place = ended.iter().position(|name| *name == "large").unwrap();
    assert!(place < OLDEST_EVERY as usize, "{ended:?}");
}

#[tokio::test]
async fn callers_that_are_gone_get_no_turn() {
    let mut waiting = Waiting::new();
    for name in ["gone", "here", "gone", "gone", "here"] {
        waiting.add(name, 1, 10);
    }
    let callers = std::mem::take(&mut waiting.callers).into_iter().enumerate();
    waiting.callers = callers
        .filter(|(place, _)| [1, 4].contains(place))
        .map(|(_, caller)| caller)
        .collect();
    let turns = waiting.turns.clone();
    assert_eq!(waiting.run().await, ["here", "here"]);
    assert_eq!(turns.piece(0, || 1).await, Ok(1), "the place is free again");
    assert_eq!(turns.queue.lock().unwrap().free, 1);
}
