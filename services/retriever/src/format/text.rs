//! Bytes that should be UTF-8.

use super::FormatError;

/// Types that are text by their bytes and still not to be read as text.
const NOT_PROSE: [&str; 3] = ["application/pdf", "application/rtf", "application/postscript"];

/// The text without its byte order mark.
pub(super) fn decode(content: &[u8]) -> Result<&str, FormatError> {
    let kind = infer::get(content);
    if let Some(kind) = kind.filter(|kind| NOT_PROSE.contains(&kind.mime_type())) {
        return Err(binary(kind));
    }
    if matches!(content, [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..]) {
        return Err(FormatError::Utf16);
    }
    let content = content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content);
    // The signatures of some formats are two plain letters: they only count where the rest is no text either.
    let no_text = |other| kind.map_or(other, binary);
    match std::str::from_utf8(content) {
        Ok(text) if text.contains('\0') => Err(no_text(FormatError::Binary {
            kind: "a binary file".to_owned(),
        })),
        Ok(text) => Ok(text),
        Err(error) => Err(no_text(FormatError::NotUtf8 {
            offset: error.valid_up_to(),
        })),
    }
}

fn binary(kind: infer::Type) -> FormatError {
    let extension = kind.extension().to_uppercase();
    // By the sound of its first letter: an EPUB, an MP3, a PDF.
    let article = if extension.starts_with(['A', 'E', 'F', 'H', 'I', 'L', 'M', 'N', 'O', 'R', 'S', 'X']) {
        "an"
    } else {
        "a"
    };
    FormatError::Binary {
        kind: format!("{article} {extension} file"),
    }
}

#[cfg(test)]
mod tests;
