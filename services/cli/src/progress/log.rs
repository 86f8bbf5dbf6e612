//! Progress as lines of a log, where there is no terminal.

use std::{
    fmt, io,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use indicatif::TermLike;

/// Between two lines of a bar, and before its first.
const INTERVAL: Duration = Duration::from_secs(60);
const COLUMNS: u16 = 100;

/// Shows a bar as a line from time to time, so that a log shows that long work goes on and how long it will take.
pub(super) struct LogLines<W> {
    interval: Duration,
    state: Mutex<State<W>>,
}

struct State<W> {
    out: W,
    line: String,
    /// When the last line was written, or the bar began.
    written: Instant,
}

impl LogLines<io::Stderr> {
    pub(super) fn stderr() -> Self {
        Self::new(INTERVAL, io::stderr())
    }
}

impl<W> LogLines<W> {
    fn new(interval: Duration, out: W) -> Self {
        Self {
            interval,
            state: Mutex::new(State {
                out,
                line: String::new(),
                written: Instant::now(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> fmt::Debug for LogLines<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogLines")
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}

impl<W: io::Write + Send> TermLike for LogLines<W> {
    fn width(&self) -> u16 {
        COLUMNS
    }

    fn move_cursor_up(&self, _lines: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _lines: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _columns: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _columns: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.state().line.push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.state().line.clear();
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut state = self.state();
        let line = std::mem::take(&mut state.line);
        let line = line.trim();
        if !line.is_empty() && state.written.elapsed() >= self.interval {
            writeln!(state.out, "{line}")?;
            state.written = Instant::now();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
