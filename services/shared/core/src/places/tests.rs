use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;

#[tokio::test]
async fn a_place_goes_to_the_lowest_rank_and_one_in_four_to_the_oldest() {
    let places = Places::new(1);
    let mut held = Some(places.place(0).await.unwrap());
    let mut context = Context::from_waker(Waker::noop());
    let mut waiting: Vec<_> = [9, 9, 1, 1, 1, 1, 1, 1]
        .map(|rank| Some(Box::pin(places.place(rank))))
        .into();
    for call in waiting.iter_mut().flatten() {
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    let mut order = Vec::new();
    while waiting.iter().any(Option::is_some) {
        held.take();
        let given =
            waiting
                .iter_mut()
                .enumerate()
                .find_map(|(index, call)| match call.as_mut()?.as_mut().poll(&mut context) {
                    Poll::Ready(place) => Some((index, place.unwrap())),
                    Poll::Pending => None,
                });
        let (index, place) = given.unwrap();
        waiting[index] = None;
        held = Some(place);
        order.push(index);
    }
    assert_eq!(order, [2, 3, 4, 0, 5, 6, 7, 1]);
}

#[tokio::test]
async fn a_place_of_somebody_who_left_goes_to_the_next() {
    let places = Places::new(1);
    let held = places.place(0).await.unwrap();
    let mut context = Context::from_waker(Waker::noop());
    let mut next = pin!(places.place(2));
    {
        let mut left = pin!(places.place(1));
        assert!(left.as_mut().poll(&mut context).is_pending());
        assert!(next.as_mut().poll(&mut context).is_pending());
    }
    drop(held);
    assert!(next.as_mut().poll(&mut context).is_ready());
}
