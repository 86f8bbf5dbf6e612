//! How much is read of one document.

use std::time::{Duration, Instant};

use emend_core::limits::MAX_DOCUMENT_BYTES;

use crate::error::DocumentError;

/// Most bytes of text of one document.
pub const MAX_TEXT_BYTES: usize = MAX_DOCUMENT_BYTES;
/// Most bytes of all parts of a package (DOCX, ODT, EPUB, …) once they are unpacked.
pub const MAX_UNPACKED_BYTES: usize = 256 << 20;
/// Most bytes of the markup of a package once it is unpacked. Markup takes many times its size in memory.
pub const MAX_MARKUP_BYTES: usize = 64 << 20;
/// Most parts of a package.
pub const MAX_PARTS: usize = 10_000;
/// Most elements around an element of markup.
pub const MAX_DEPTH: usize = 256;
/// Most pages of a document.
pub const MAX_PAGES: usize = 10_000;
/// Most rows of a table.
pub const MAX_ROWS: usize = 1_048_576;
/// Most columns of a table.
pub const MAX_COLUMNS: usize = 16_384;
/// Longest time for one document. It is checked between pages, parts and rows.
pub const MAX_TIME: Duration = Duration::from_secs(120);

/// The bounds of reading one document.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'s> {
    until: Instant,
    /// Whether nobody waits for the text any more.
    stop: &'s (dyn Fn() -> bool + Sync),
}

impl<'s> Bounds<'s> {
    pub(crate) fn new(stop: &'s (dyn Fn() -> bool + Sync)) -> Self {
        Self::until(Instant::now() + MAX_TIME, stop)
    }

    pub(crate) fn until(until: Instant, stop: &'s (dyn Fn() -> bool + Sync)) -> Self {
        Self { until, stop }
    }

    /// Fails once the time is over, or where `text` has become too long.
    pub(crate) fn check(&self, text: &str) -> Result<(), DocumentError> {
        self.check_length(text.len())
    }

    /// Fails once the time is over, or where a text of this length, in bytes, is too long.
    pub(crate) fn check_length(&self, length: usize) -> Result<(), DocumentError> {
        if length > MAX_TEXT_BYTES {
            return Err(DocumentError::TooMany {
                what: "bytes of text",
                limit: MAX_TEXT_BYTES,
            });
        }
        match self.stopped() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// When the time is over.
    pub(crate) fn until_when(&self) -> Instant {
        self.until
    }

    /// Why reading is to stop, where it is.
    pub(crate) fn stopped(&self) -> Option<DocumentError> {
        if (self.stop)() {
            return Some(DocumentError::Stopped);
        }
        let seconds = MAX_TIME.as_secs();
        (Instant::now() > self.until).then_some(DocumentError::TooSlow { seconds })
    }
}
