use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

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
    turns.piece(|| ()).await.unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_small_call_waits_for_one_piece_of_a_large_one() {
    let turns = Turns::new(1);
    let (open, gate) = std::sync::mpsc::channel::<()>();
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
    let mut small = pin!(turns.piece(|| 7));
    assert!(small.as_mut().poll(&mut context).is_pending());
    open.send(()).unwrap();
    // The large call asks for its next turn, and has to wait for the small one.
    let next = std::future::poll_fn(|context| {
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
    assert_eq!(turns.piece(|| panic!("on purpose")).await, Err::<(), _>(BrokenOff));
    assert_eq!(turns.piece(|| 1).await, Ok(1));
}
