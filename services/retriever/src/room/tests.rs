use futures::FutureExt;

use super::*;

#[test]
fn a_document_waits_until_there_is_room_for_it() {
    let room = Room::of(10 * UNIT);
    let take = |units: usize| room.take(units * UNIT).now_or_never().map(|place| place.unwrap());
    let first = take(6).unwrap();
    let small = take(4).unwrap();
    assert!(take(1).is_none());
    drop(first);
    assert!(take(7).is_none());
    let second = take(6).unwrap();
    drop((second, small));
    // Larger than the room: alone.
    let large = take(100).unwrap();
    assert!(take(0).is_none());
    drop(large);
    assert!(take(0).is_some());
}

#[test]
fn one_of_the_largest_documents_has_room_beside_small_ones() {
    let room = Room::of_documents();
    let large = room
        .take(emend_core::limits::MAX_DOCUMENT_BYTES)
        .now_or_never()
        .unwrap();
    assert!(room.take(1 << 20).now_or_never().is_some());
    assert!(
        room.take(emend_core::limits::MAX_DOCUMENT_BYTES)
            .now_or_never()
            .is_none()
    );
    drop(large);
}
