//! Why a document has no text that could be used.

use emend_text::html::HtmlError;

use crate::format::Format;

/// Why a document has no text that could be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The file is larger than [`emend_core::limits::MAX_DOCUMENT_BYTES`].
    #[error("it is larger than 32 MiB ({} MiB): split it into several documents", bytes.div_ceil(1 << 20))]
    TooLarge {
        /// Size of the file in bytes.
        bytes: usize,
    },
    /// A part or a count of the document is above a limit.
    #[error("it has more than {limit} {what}: split it into several documents")]
    TooMany {
        /// What is counted, in the plural.
        what: &'static str,
        /// Most of them.
        limit: usize,
    },
    /// Elements are nested too deep.
    #[error("its markup is nested more than {limit} elements deep: save it as plain text or PDF")]
    TooDeep {
        /// Most elements around an element.
        limit: usize,
    },
    /// The file unpacks to far more than what it holds.
    #[error("it unpacks to more than {} MiB: split it into several documents", limit >> 20)]
    Unpacked {
        /// Most bytes of all parts together.
        limit: usize,
    },
    /// Reading it took too long.
    #[error("reading it took longer than {seconds} s: split it, or save it as plain text")]
    TooSlow {
        /// Longest time in seconds.
        seconds: u64,
    },
    /// Too many readers of other documents are still at work after their time.
    #[error("reading {format} is held up by other documents that took too long: try again later")]
    Busy {
        /// The format that it would be read as.
        format: Format,
    },
    /// Reading it took too much memory.
    #[error("reading it takes more than {} MiB of memory: split it, or save it in another format", limit >> 20)]
    TooMuchMemory {
        /// Most bytes.
        limit: u64,
    },
    /// What the process that read it reported.
    #[error("{0}")]
    Reader(String),
    /// Nobody waits for its text any more.
    #[error("reading it was stopped")]
    Stopped,
    /// The content is of a format without text, or of one that is not read.
    #[error("it is {kind}, which is not read: {}", crate::READABLE)]
    Unreadable {
        /// What it is, with its article.
        kind: String,
    },
    /// The content is not of the format that was named.
    #[error("it is not {expected} as its format or extension says: it is {found}")]
    OtherFormat {
        /// The format that was named.
        expected: Format,
        /// What the content looks like.
        found: String,
    },
    /// It is neither UTF-8 nor in any other encoding that is recognised.
    #[error("it is not UTF-8, byte {offset} is wrong, nor text in another known encoding: save it as UTF-8")]
    UnknownEncoding {
        /// First byte that is no UTF-8.
        offset: usize,
    },
    /// There is no text in it.
    #[error("it has no text{after}: there is nothing to find in it")]
    Empty {
        /// What else was searched for text.
        after: &'static str,
    },
    /// A PDF without text, whose pages are pictures.
    #[error("its {pages} pages hold pictures and no text: run text recognition (OCR) over it first")]
    Scanned {
        /// Pages of the document.
        pages: usize,
    },
    /// It is protected by a password.
    #[error("it is protected by a password: save it without one")]
    Encrypted,
    /// The file is damaged, or its reader failed.
    #[error("it cannot be read as {format}: {reason}")]
    Broken {
        /// The format that it was read as.
        format: Format,
        /// What is wrong with it.
        reason: String,
    },
    /// The page of HTML cannot be read.
    #[error(transparent)]
    Html(#[from] HtmlError),
}
