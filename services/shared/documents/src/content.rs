//! Detects the format of a file from its bytes.

use std::io::Cursor;

use crate::{error::DocumentError, format::Format, package::Package};

/// Types whose bytes are text and that are still not read as text.
const NOT_PROSE: [&str; 3] = ["application/pdf", "application/rtf", "application/postscript"];
/// Where the header of a PDF has to begin, in bytes.
const PDF_HEADER_BYTES: usize = 1024;
/// How files of the Office formats up to 2003 begin.
const COMPOUND_FILE: [u8; 8] = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];

/// The format of a file whose bytes are not text; `None` for formats that are not read.
pub(crate) fn binary_format(bytes: &[u8]) -> Option<Format> {
    let head = &bytes[..bytes.len().min(PDF_HEADER_BYTES)];
    if bytes.starts_with(b"PK\x03\x04") {
        return Package::open(Cursor::new(bytes)).ok()?.format();
    }
    if bytes.starts_with(&COMPOUND_FILE) {
        return match undoc::detect_format_from_bytes(bytes).ok()? {
            undoc::FormatType::Doc => Some(Format::Doc),
            undoc::FormatType::Ppt => Some(Format::Ppt),
            undoc::FormatType::Xls => Some(Format::Xls),
            _ => None,
        };
    }
    head.windows(5).any(|window| window == b"%PDF-").then_some(Format::Pdf)
}

/// Whether the bytes are those of a format whose text is not to be read as it stands.
pub(crate) fn is_not_prose(bytes: &[u8]) -> bool {
    infer::get(bytes).is_some_and(|kind| NOT_PROSE.contains(&kind.mime_type()))
}

/// The kind of file that begins with these bytes; `None` where they do not tell.
pub(crate) fn signature(bytes: &[u8]) -> Option<String> {
    let kind = infer::get(bytes)?;
    let extension = kind.extension().to_uppercase();
    // The article depends on how the first letter is pronounced: an EPUB, an MP3, a PDF.
    let article = if extension.starts_with(['A', 'E', 'F', 'H', 'I', 'L', 'M', 'N', 'O', 'R', 'S', 'X']) {
        "an"
    } else {
        "a"
    };
    Some(format!("{article} {extension} file"))
}

/// The error for bytes that are not text.
pub(crate) fn unreadable(bytes: &[u8]) -> DocumentError {
    DocumentError::Unreadable {
        kind: signature(bytes).unwrap_or_else(|| "a binary file".to_owned()),
    }
}
