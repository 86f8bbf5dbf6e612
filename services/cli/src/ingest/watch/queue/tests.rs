use notify::event::{CreateKind, Flag, ModifyKind, RemoveKind};

use super::*;

fn event(kind: EventKind, path: &str) -> notify::Result<Event> {
    Ok(Event::new(kind).add_path(PathBuf::from(path)))
}

fn created(path: &str) -> notify::Result<Event> {
    event(EventKind::Create(CreateKind::File), path)
}

fn taken(queue: &Queue) -> Batch {
    queue.waiting().take()
}

#[test]
fn changes_of_a_path_are_one_and_reading_is_none() {
    let queue = Queue::default();
    queue.add(created("/docs/a"));
    queue.add(event(EventKind::Modify(ModifyKind::Any), "/docs/a"));
    queue.add(event(EventKind::Remove(RemoveKind::File), "/docs/b"));
    queue.add(event(EventKind::Access(AccessKind::Open(AccessMode::Any)), "/docs/c"));
    queue.add(event(
        EventKind::Access(AccessKind::Close(AccessMode::Write)),
        "/docs/d",
    ));
    let paths = ["/docs/a", "/docs/b", "/docs/d"].map(PathBuf::from);
    assert_eq!(taken(&queue), Batch::Paths(paths.into()));
    assert_eq!(queue.waiting().due(Instant::now()), None, "nothing waits");
}

#[test]
fn any_number_of_changes_is_taken_in_bounded_memory() {
    let queue = Queue::default();
    for number in 0..3 * MAX_PATHS {
        queue.add(created(&format!("/docs/{number}")));
        assert!(queue.waiting().paths.len() <= MAX_PATHS);
    }
    assert_eq!(taken(&queue), Batch::Everything);
    queue.add(created("/docs/a"));
    assert_eq!(
        taken(&queue),
        Batch::Paths([PathBuf::from("/docs/a")].into()),
        "and then on as before"
    );
}

#[test]
fn lost_events_and_errors_make_everything_looked_at() {
    let queue = Queue::default();
    queue.add(created("/docs/a"));
    queue.add(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    assert_eq!(taken(&queue), Batch::Everything);
    queue.add(Err(notify::Error::generic("lost")));
    assert_eq!(taken(&queue), Batch::Everything);
}

#[test]
fn changes_wait_until_they_rest_but_not_for_ever() {
    let mut waiting = Waiting::default();
    let begin = Instant::now();
    let path = || [PathBuf::from("/docs/a")];
    waiting.add(path(), begin);
    assert_eq!(waiting.due(begin), Some(QUIET));
    assert_eq!(waiting.due(begin + QUIET), Some(Duration::ZERO));
    let mut now = begin;
    while now < begin + MAX_WAIT {
        waiting.add(path(), now);
        assert!(waiting.due(now).unwrap() <= QUIET);
        now += QUIET / 2;
    }
    assert_eq!(
        waiting.due(begin + MAX_WAIT),
        Some(Duration::ZERO),
        "although there is no rest"
    );
}

#[tokio::test]
async fn what_could_not_be_dealt_with_comes_again_with_what_came_meanwhile() {
    let queue = Queue::default();
    queue.add(created("/docs/a"));
    let batch = queue.next().await;
    queue.add(created("/docs/b"));
    queue.put_back(batch);
    assert_eq!(
        queue.next().await,
        Batch::Paths(["/docs/a", "/docs/b"].map(PathBuf::from).into())
    );
    queue.put_back(Batch::Everything);
    assert_eq!(queue.next().await, Batch::Everything);
}
