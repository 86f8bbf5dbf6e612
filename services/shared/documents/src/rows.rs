//! Rows of a table of text, one at a time: a table of any length takes the memory of its longest row.

use std::io::{self, Cursor, Read};

use encoding_rs::{Encoding, UTF_8};

use crate::{bounds::MAX_COLUMNS, delimited, encoding};

/// Longest row, in bytes: a document of the largest size, and what quoting adds to it.
pub const MAX_ROW_BYTES: usize = 40 << 20;
/// How much of a table its delimiter and its encoding are told by.
const SAMPLE_BYTES: u64 = 64 << 10;

/// Why a table, or a row of it, is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// It cannot be read from where it lies.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    /// It is no table of text.
    #[error("it is no table: {0}")]
    NoTable(&'static str),
    /// A row is too long; those after it are not read, since where they begin is unknown.
    #[error("the row that begins in line {line} is longer than {} MiB: neither it nor what follows is read; is a quotation mark missing?", MAX_ROW_BYTES >> 20)]
    TooLong {
        /// The line where it begins, from 1.
        line: u64,
    },
}

/// A row below the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The line where it begins, from 1.
    pub line: u64,
    /// Its values, by the columns of the header; a row may have fewer.
    pub values: Vec<String>,
}

/// The rows of a table whose first row names its columns, separated by commas, semicolons, tabs or bars, in UTF-8 or
/// another encoding that has ASCII in it.
#[derive(Debug)]
pub struct Rows<R> {
    reader: csv::Reader<Bounded<io::Chain<Cursor<Vec<u8>>, R>>>,
    header: Vec<String>,
    encoding: &'static Encoding,
    limit: usize,
}

impl<R: Read> Rows<R> {
    /// Reads the names of the columns.
    ///
    /// # Errors
    /// [`RowError`] where it cannot be read, or is no table.
    pub fn new(reader: R) -> Result<Self, RowError> {
        Self::bounded(reader, MAX_ROW_BYTES)
    }

    /// As [`new`](Self::new), with rows of at most `limit` bytes.
    fn bounded(mut reader: R, limit: usize) -> Result<Self, RowError> {
        let mut sample = Vec::new();
        reader.by_ref().take(SAMPLE_BYTES).read_to_end(&mut sample)?;
        if let Some(rest) = sample.strip_prefix(b"\xef\xbb\xbf") {
            sample = rest.to_vec();
        }
        if sample.contains(&0) || Encoding::for_bom(&sample).is_some() {
            return Err(RowError::NoTable("it is binary or in UTF-16; save it as CSV in UTF-8"));
        }
        // The last character may be cut off.
        let is_utf8 = match std::str::from_utf8(&sample) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        };
        let encoding = if is_utf8 { UTF_8 } else { encoding::guess(&sample) };
        let (told, skip) = delimited::told_delimiter(&sample);
        let (text, _) = encoding.decode_without_bom_handling(&sample[skip..]);
        // One column is a table too.
        let delimiter = told.or_else(|| delimited::delimiter(&text)).unwrap_or(b',');
        let mut rest = Cursor::new(sample);
        rest.set_position(skip as u64);
        let bounded = Bounded {
            reader: rest.chain(reader),
            left: limit,
        };
        let mut rows = Self {
            reader: delimited::reader(bounded, delimiter),
            header: Vec::new(),
            encoding,
            limit,
        };
        let header = rows.next().transpose()?.ok_or(RowError::NoTable("it is empty"))?.values;
        if header.len() > MAX_COLUMNS {
            return Err(RowError::NoTable("it has too many columns"));
        }
        rows.header = header.into_iter().map(|name| name.trim().to_owned()).collect();
        Ok(rows)
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }
}

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<Row, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.reader.get_mut().left = self.limit;
        let mut record = csv::ByteRecord::new();
        let line = self.reader.position().line();
        match self.reader.read_byte_record(&mut record) {
            Ok(false) => None,
            Ok(true) => {
                // The header is as long as it is.
                let columns = if self.header.is_empty() {
                    MAX_COLUMNS + 1
                } else {
                    self.header.len()
                };
                let text = |cell: &[u8]| self.encoding.decode_without_bom_handling(cell).0.into_owned();
                Some(Ok(Row {
                    line: record.position().map_or(line, csv::Position::line),
                    values: record.iter().take(columns).map(text).collect(),
                }))
            }
            Err(_) if self.reader.get_ref().left == 0 => Some(Err(RowError::TooLong { line })),
            Err(error) => Some(Err(RowError::Io(error.into()))),
        }
    }
}

/// What is read of a row, within a bound that is set anew for each.
#[derive(Debug)]
struct Bounded<R> {
    reader: R,
    left: usize,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.left);
        if most == 0 && !buffer.is_empty() {
            return Err(io::Error::other("the row is too long"));
        }
        let read = self.reader.read(&mut buffer[..most])?;
        self.left -= read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
