//! Looks over the header of a GGUF file before it is read: the reader holds each value of an array in some thirty bytes,
//! whatever it has in the file, so a small file could take all memory.

use std::io::{self, Read, Seek, SeekFrom};

/// Most entries of the metadata. Models have some fifty.
const MAX_ENTRIES: u64 = 10_000;
/// Most tensors. The largest models have some thousands.
const MAX_TENSORS: u64 = 100_000;
/// Most values of all arrays together. The largest vocabularies have a quarter of a million tokens, with a score and a type
/// each, and half a million merges.
const MAX_VALUES: u64 = 4_000_000;
/// Most bytes of a string; the longest is a chat template.
const MAX_STRING: u64 = 4 << 20;
/// Most dimensions of a tensor.
const MAX_DIMENSIONS: u32 = 4;

/// The number of the type of a string, and of an array.
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// Checks the counts and lengths of the header of `reader`, which is at its start, against the bounds and the length of the
/// file. Leaves the reader at its start.
///
/// # Errors
/// What is wrong, and where.
pub(super) fn check(reader: &mut (impl Read + Seek)) -> Result<(), String> {
    let length = reader.seek(SeekFrom::End(0)).map_err(|error| error.to_string())?;
    reader.rewind().map_err(|error| error.to_string())?;
    let mut header = Header {
        reader,
        length,
        narrow: false,
        values: 0,
    };
    header.check()?;
    header.reader.rewind().map_err(|error| error.to_string())
}

struct Header<'r, R> {
    reader: &'r mut R,
    /// Bytes of the file.
    length: u64,
    /// Whether lengths have 4 bytes, as in version 1, and not 8.
    narrow: bool,
    /// Values of arrays so far.
    values: u64,
}

impl<R: Read + Seek> Header<'_, R> {
    fn check(&mut self) -> Result<(), String> {
        // The reader that follows checks the magic bytes and the version.
        self.number()?;
        self.narrow = self.number()? == 1;
        let tensors = self.count("tensors", MAX_TENSORS)?;
        let entries = self.count("entries of metadata", MAX_ENTRIES)?;
        for _ in 0..entries {
            self.string()?;
            let kind = self.number()?;
            self.value(kind)?;
        }
        for _ in 0..tensors {
            self.string()?;
            let dimensions = self.number()?;
            if dimensions > MAX_DIMENSIONS {
                return Err(format!(
                    "a tensor has {dimensions} dimensions, more than {MAX_DIMENSIONS}"
                ));
            }
            let mut elements = 1_u64;
            for _ in 0..dimensions {
                let size = self.size()?;
                elements = elements
                    .checked_mul(size)
                    .ok_or_else(|| "a tensor has more elements than can be counted".to_owned())?;
            }
            self.skip(4 + 8)?;
        }
        Ok(())
    }

    fn value(&mut self, kind: u32) -> Result<(), String> {
        match kind {
            STRING => self.string(),
            ARRAY => {
                let kind = self.number()?;
                let count = self.size()?;
                self.values = self.values.saturating_add(count);
                if self.values > MAX_VALUES {
                    return Err(format!("its arrays have more than {MAX_VALUES} values"));
                }
                match kind {
                    STRING => (0..count).try_for_each(|_| self.string()),
                    ARRAY => Err("an array of arrays is no metadata of a model".to_owned()),
                    kind => self.skip(count.saturating_mul(width(kind)?)),
                }
            }
            kind => self.skip(width(kind)?),
        }
    }

    fn count(&mut self, what: &str, most: u64) -> Result<u64, String> {
        let count = self.size()?;
        if count > most {
            return Err(format!("it has {count} {what}, more than {most}"));
        }
        Ok(count)
    }

    fn string(&mut self) -> Result<(), String> {
        let length = self.size()?;
        if length > MAX_STRING {
            return Err(format!("a string has {length} bytes, more than {MAX_STRING}"));
        }
        self.skip(length)
    }

    /// A count or a length.
    fn size(&mut self) -> Result<u64, String> {
        if self.narrow {
            return Ok(self.number()?.into());
        }
        self.bytes().map(u64::from_le_bytes)
    }

    fn number(&mut self) -> Result<u32, String> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(|error| cut(&error))?;
        Ok(bytes)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), String> {
        let at = self.reader.stream_position().map_err(|error| error.to_string())?;
        if bytes > self.length.saturating_sub(at) {
            return Err("its header ends after the end of the file".to_owned());
        }
        let bytes = i64::try_from(bytes).map_err(|error| error.to_string())?;
        self.reader.seek_relative(bytes).map_err(|error| error.to_string())
    }
}

fn cut(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "its header ends after the end of the file".to_owned(),
        _ => error.to_string(),
    }
}

/// The bytes of a number of this type.
fn width(kind: u32) -> Result<u64, String> {
    match kind {
        0 | 1 | 7 => Ok(1),
        2 | 3 => Ok(2),
        4..=6 => Ok(4),
        10..=12 => Ok(8),
        other => Err(format!("a value has the unknown type {other}")),
    }
}

#[cfg(test)]
mod tests;
