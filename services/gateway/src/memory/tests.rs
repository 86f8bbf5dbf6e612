use super::*;

#[test]
fn what_is_held_is_given_back() {
    let memory = Memory::new(1);
    let mut first = memory.hold();
    first.grow(600 * 1024, 1).unwrap();
    let mut second = memory.hold();
    let refused = second.grow(600 * 1024, 1).unwrap_err();
    assert_eq!(refused.status(), 429);
    assert!(refused.retry_after.is_some());
    drop(first);
    second.grow(600 * 1024, 1).unwrap();
    // Growing asks for the difference alone.
    second.grow(1000 * 1024, 1).unwrap();
    assert!(second.grow(1025 * 1024, 1).is_err());
}

#[tokio::test]
async fn a_response_that_is_larger_than_all_waits_for_all() {
    let memory = Memory::new(1);
    let held = memory.wait(64 << 20).await;
    assert!(memory.hold().grow(1, 1).is_err());
    drop(held);
    assert!(memory.hold().grow(1, 1).is_ok());
}
