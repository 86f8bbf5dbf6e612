use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::*;

/// What a bar that counts to three writes.
fn written(interval: Duration) -> String {
    /// Bytes that the test can read while the bar has them.
    #[derive(Clone, Default)]
    struct Bytes(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Bytes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let out = Bytes::default();
    let lines = LogLines::new(interval, out.clone());
    let bar = ProgressBar::with_draw_target(Some(3), ProgressDrawTarget::term_like(Box::new(lines)));
    bar.set_style(ProgressStyle::with_template("{msg} {pos}/{len} pairs").unwrap());
    bar.set_message("reading");
    for position in 1..=3 {
        bar.set_position(position);
        bar.tick();
    }
    bar.finish_and_clear();
    let bytes = out.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_bar_is_a_line_from_time_to_time() {
    let all = written(Duration::ZERO);
    assert!(all.ends_with("reading 3/3 pairs\n"), "{all:?}");
    assert!(all.lines().all(|line| line.starts_with("reading ")), "{all:?}");
}

#[test]
fn a_short_task_leaves_a_log_as_it_is() {
    assert_eq!(written(Duration::MAX), "");
}
