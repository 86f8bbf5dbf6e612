use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, mpsc};
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
    let (open, gate) = mpsc::channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let done = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&done);
    {
        let mut call = pin!(turns.each(
            0..1000,
            |_| PIECE_BYTES,
            move |_| {
                gate.lock().unwrap().recv().unwrap();
                counted.fetch_add(1, Ordering::SeqCst)
            }
        ));
        assert_eq!(
            call.as_mut().poll(&mut Context::from_waker(Waker::noop())),
            Poll::Pending
        );
        open.send(()).unwrap();
    }
    // Its turn is over when another gets one.
    turns.piece(PIECE_BYTES, || ()).await.unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_short_call_waits_for_no_long_one_and_goes_first() {
    let turns = Turns::new(1);
    let (open, gate) = mpsc::channel::<()>();
    let mut long = pin!(turns.piece(PIECE_BYTES, move || {
        gate.recv().unwrap();
        niceness()
    }));
    assert!(long.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let of_short = turns.piece(10, niceness).await.unwrap();
    open.send(()).unwrap();
    let of_long = long.await.unwrap();
    if cfg!(target_os = "linux") {
        assert_eq!(of_long, (of_short + crate::COMPUTE_NICENESS).min(19));
    }
}

fn niceness() -> i32 {
    rustix::process::getpriority_process(None).unwrap()
}

#[tokio::test]
async fn a_call_that_has_used_its_short_time_is_a_long_one() {
    let turns = Turns::new(1);
    let many = turns.each(0..8, |_| PIECE_BYTES / 4, |_| niceness());
    // Four of them are a piece, which is long. Alone the first is short; with the second they are not.
    let calls = async {
        let first = turns.piece(PIECE_BYTES / 4, niceness).await.unwrap();
        let second = turns.piece(PIECE_BYTES / 4, niceness).await.unwrap();
        (first, second)
    };
    let (first, second) = as_caller(calls).await;
    let many = many.await.unwrap();
    if cfg!(target_os = "linux") && first < 19 {
        assert!(first < second, "{first}, {second}");
        assert!(many.iter().all(|niceness| *niceness == second), "{many:?}");
    }
}

#[tokio::test]
async fn a_piece_that_panics_is_an_error_and_gives_its_place_back() {
    let turns = Turns::new(1);
    assert_eq!(turns.piece(0, || panic!("on purpose")).await, Err::<(), _>(BrokenOff));
    assert_eq!(turns.piece(0, || 1).await, Ok(1));
}

/// The least that is long.
const LEAST_LONG: usize = (SHORT_MICROSECONDS as usize + 1) * BYTES_PER_MICROSECOND;

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
        let taken = async move { holder.piece(PIECE_BYTES, move || gate.recv().unwrap()).await.unwrap() };
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
    waiting.add("small", 1, LEAST_LONG);
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
        waiting.add("small", 1, LEAST_LONG);
    }
    let ended = waiting.run().await;
    let place = ended.iter().position(|name| *name == "large").unwrap();
    assert!(place < crate::places::OLDEST_EVERY as usize, "{ended:?}");
}

#[tokio::test]
async fn callers_that_are_gone_get_no_turn() {
    let mut waiting = Waiting::new();
    for name in ["gone", "here", "gone", "gone", "here"] {
        waiting.add(name, 1, LEAST_LONG);
    }
    let callers = std::mem::take(&mut waiting.callers).into_iter().enumerate();
    waiting.callers = callers
        .filter(|(place, _)| [1, 4].contains(place))
        .map(|(_, caller)| caller)
        .collect();
    let turns = waiting.turns.clone();
    assert_eq!(waiting.run().await, ["here", "here"]);
    assert_eq!(turns.piece(0, || 1).await, Ok(1), "the place is free again");
    assert_eq!(turns.long.free(), 1);
}

#[tokio::test]
async fn the_first_pieces_of_a_call_are_computed_where_they_are_asked_for() {
    let turns = Turns::new(1);
    let half = (SMALL_MICROSECONDS as usize * BYTES_PER_MICROSECOND - BYTES_PER_MICROSECOND) / 2;
    let here = std::thread::current().id();
    let is_here = || async { turns.piece(half, || std::thread::current().id()).await == Ok(here) };
    let of_one_call = async { [is_here().await, is_here().await, is_here().await] };
    // What the first two take beyond what was expected counts as well, and is next to nothing.
    assert_eq!(as_caller(of_one_call).await, [true, true, false]);
    assert!(as_caller(is_here()).await, "another call");
    assert!(!is_here().await, "part of no call");
}
