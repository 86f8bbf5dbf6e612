//! Rows of values separated by a delimiter: CSV, TSV.

use crate::{
    Extracted,
    bounds::{Bounds, MAX_COLUMNS},
    error::DocumentError,
    format::Format,
    markdown::Markdown,
    table,
};

/// Delimiters, the likelier one first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// How much of a file its delimiter is detected from, in bytes.
const SAMPLE_ROWS: usize = 100;
const SAMPLE_BYTES: usize = 64 << 10;

/// Reads rows. A text without a delimiter is plain text.
pub(crate) fn extract(text: &str, bounds: Bounds<'_>) -> Result<Extracted, DocumentError> {
    let (told, skip) = told_delimiter(text.as_bytes());
    let text = text.get(skip..).unwrap_or_default();
    let Some(delimiter) = told.or_else(|| delimiter(text)) else {
        return Ok(Extracted {
            text: text.to_owned(),
            ..Extracted::default()
        });
    };
    // A row takes eight bytes for each value before its length can be looked at.
    let columns = |line: &[u8]| line.iter().filter(|byte| **byte == delimiter).count() + 1;
    if text
        .as_bytes()
        .split(|byte| *byte == b'\n')
        .any(|line| columns(line) > MAX_COLUMNS)
    {
        return Err(DocumentError::TooMany {
            what: "columns",
            limit: MAX_COLUMNS,
        });
    }
    let mut out = Markdown::default();
    let mut reader = reader(text.as_bytes(), delimiter);
    let rows = reader.records().map(|record| match record {
        Ok(record) => Ok(record.iter().map(str::to_owned).collect()),
        Err(error) => Err(DocumentError::Broken {
            format: Format::Csv,
            reason: error.to_string(),
        }),
    });
    table::write(&mut out, rows, bounds)?;
    Ok(Extracted {
        text: out.finish(),
        markdown: true,
        ..Extracted::default()
    })
}

/// The delimiter that the first line names, as Excel writes it, and the length of that line in bytes.
pub(crate) fn told_delimiter(text: &[u8]) -> (Option<u8>, usize) {
    let line = text.iter().position(|byte| *byte == b'\n').map(|end| &text[..=end]);
    match line.and_then(|line| {
        Some((
            line.strip_prefix(b"sep=")?.trim_ascii_end().first().copied(),
            line.len(),
        ))
    }) {
        Some((told, length)) => (told, length),
        None => (None, 0),
    }
}

/// Reads rows of any width.
pub(crate) fn reader<R: std::io::Read>(text: R, delimiter: u8) -> csv::Reader<R> {
    csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(text)
}

/// The delimiter by which most rows have as many values as the first one.
pub(crate) fn delimiter(text: &str) -> Option<u8> {
    let sample = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
    let (mut best, mut most) = (None, 0);
    for delimiter in DELIMITERS {
        let mut widths: Vec<usize> = reader(sample.as_bytes(), delimiter)
            .records()
            .take(SAMPLE_ROWS)
            .map_while(Result::ok)
            .map(|record| record.len())
            .collect();
        // The sample may end within a row.
        if sample.len() < text.len() && widths.len() > 1 {
            widths.pop();
        }
        let score = widths.iter().copied().filter(|width| *width > 1).map(|width| {
            let alike = widths.iter().filter(|other| **other == width).count();
            // Rows that agree count most, then how many values they have.
            alike * alike * 1000 / widths.len().max(1) + width.min(100)
        });
        let score = score.max().unwrap_or(0);
        if score > most {
            (best, most) = (Some(delimiter), score);
        }
    }
    best
}

#[cfg(test)]
mod tests;
