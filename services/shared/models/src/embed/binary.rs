//! A bounds-checked reader for binary weight files. Lengths are checked against the file size before allocation.

use std::{collections::HashMap, fmt, ops::RangeInclusive};

use super::q4;

/// A malformed file, with the reason.
#[derive(Debug)]
pub(super) struct Malformed(pub(super) String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A cursor over little-endian values.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Reads the next `count` bytes. `what` names them in the error.
    pub(super) fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8], Malformed> {
        let taken = self
            .at
            .checked_add(count)
            .and_then(|end| self.bytes.get(self.at..end))
            .ok_or_else(|| {
                let left = self.bytes.len() - self.at;
                Malformed(format!(
                    "unexpected end of file in the {what}: expected {count} bytes at offset {}, {left} left",
                    self.at
                ))
            })?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self, what: &str) -> Result<u8, Malformed> {
        self.array(what).map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self, what: &str) -> Result<u16, Malformed> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32, Malformed> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64, Malformed> {
        self.array(what).map(u64::from_le_bytes)
    }

    pub(super) fn f32(&mut self, what: &str) -> Result<f32, Malformed> {
        self.array(what).map(f32::from_le_bytes)
    }

    /// Reads an i32 and checks that it is within `range`.
    pub(super) fn size(&mut self, what: &str, range: RangeInclusive<usize>) -> Result<usize, Malformed> {
        let value = self.array(what).map(i32::from_le_bytes)?;
        usize::try_from(value)
            .ok()
            .filter(|size| range.contains(size))
            .ok_or_else(|| {
                Malformed(format!(
                    "{what} is {value}, expected {} to {}",
                    range.start(),
                    range.end()
                ))
            })
    }

    pub(super) fn u32s(&mut self, count: usize, what: &str) -> Result<Vec<u32>, Malformed> {
        let bytes = self.take(count.saturating_mul(4), what)?;
        Ok(bytes
            .as_chunks()
            .0
            .iter()
            .map(|value| u32::from_le_bytes(*value))
            .collect())
    }

    pub(super) fn f32s(&mut self, count: usize, what: &str) -> Result<Vec<f32>, Malformed> {
        let bytes = self.take(count.saturating_mul(4), what)?;
        Ok(floats(bytes))
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|value| f32::from_le_bytes(*value))
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    F32,
    Q4,
}

struct Entry<'a> {
    kind: Kind,
    elements: usize,
    bytes: &'a [u8],
}

/// The tensors of a file, by name.
pub(super) struct Tensors<'a>(HashMap<String, Entry<'a>>);

impl<'a> Tensors<'a> {
    /// Reads the tensor directory. `reader` covers the whole file, because offsets are relative to its start.
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let count = reader.u32("number of tensors")?;
        let mut tensors = HashMap::new();
        for _ in 0..count {
            let length = reader.u16("length of a tensor's name")?;
            let name = reader.take(length.into(), "name of a tensor")?;
            let name =
                std::str::from_utf8(name).map_err(|_| Malformed("the name of a tensor is not UTF-8".to_owned()))?;
            let kind = match reader.u8("type of a tensor")? {
                0 => Kind::F32,
                1 => Kind::Q4,
                other => return Err(Malformed(format!("tensor {name:?} has the unknown type {other}"))),
            };
            let elements = reader.u32("elements of a tensor")? as usize;
            let (offset, size) = (reader.u64("offset of a tensor")?, reader.u64("size of a tensor")?);
            let expected = match kind {
                Kind::F32 => elements.checked_mul(4),
                Kind::Q4 if elements.is_multiple_of(q4::BLOCK_VALUES) => {
                    (elements / q4::BLOCK_VALUES).checked_mul(q4::BLOCK_BYTES)
                }
                Kind::Q4 => None,
            };
            let (start, size) = (usize::try_from(offset).ok(), usize::try_from(size).ok());
            if expected.is_none() || expected != size {
                return Err(Malformed(format!(
                    "tensor {name:?} has an invalid size: {elements} values in {size:?} bytes"
                )));
            }
            let bytes = start
                .zip(size)
                .and_then(|(start, size)| reader.bytes.get(start..start.checked_add(size)?))
                .ok_or_else(|| {
                    Malformed(format!(
                        "tensor {name:?} is out of bounds: the file has {} bytes",
                        reader.bytes.len()
                    ))
                })?;
            tensors.insert(name.to_owned(), Entry { kind, elements, bytes });
        }
        Ok(Self(tensors))
    }

    fn get(&self, name: &str, kind: Kind, elements: usize) -> Result<&'a [u8], Malformed> {
        match self.0.get(name) {
            None => Err(Malformed(format!("tensor {name:?} is missing"))),
            Some(entry) if entry.kind != kind || entry.elements != elements => Err(Malformed(format!(
                "tensor {name:?} has {} values of {:?}, expected {elements} of {kind:?}",
                entry.elements, entry.kind
            ))),
            Some(entry) => Ok(entry.bytes),
        }
    }

    /// Reads a tensor stored as f32.
    pub(super) fn f32s(&self, name: &str, elements: usize) -> Result<Vec<f32>, Malformed> {
        self.get(name, Kind::F32, elements).map(floats)
    }

    /// Returns the raw blocks of a tensor stored as Q4_0.
    pub(super) fn q4_blocks(&self, name: &str, elements: usize) -> Result<&'a [u8], Malformed> {
        self.get(name, Kind::Q4, elements)
    }

    /// Reads a tensor stored as Q4_0 and dequantises it.
    pub(super) fn q4s(&self, name: &str, elements: usize) -> Result<Vec<f32>, Malformed> {
        let blocks = self.q4_blocks(name, elements)?;
        let mut values = vec![0.0; elements];
        q4::dequantize(blocks, &mut values);
        Ok(values)
    }
}
