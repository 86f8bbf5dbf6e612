//! Adding up the memory that a message will need while its bytes come in, before anything is built from them.
//!
//! An element that is empty takes two bytes on the wire and hundreds in memory. The scan reads keys and lengths, goes into
//! the messages that the contract knows, and skips the rest; so it costs next to nothing, and no memory.

use std::sync::Arc;

use super::contract::{Contract, Kind};

/// Most memory that a message may need beside its texts, in bytes. The most passages of a request, each of the most pieces
/// and with the most metadata, need 6 MiB.
pub(super) const MAX_MESSAGE_MEMORY: usize = 32 * 1024 * 1024;
/// Messages in messages that prost reads; a deeper one is malformed.
const MAX_DEPTH: usize = 100;
/// Longest number on the wire, in bytes.
const MAX_VARINT_BYTES: u32 = 10;

/// Reads one message as its bytes come in.
#[derive(Debug)]
pub(super) struct Scan {
    contract: Arc<Contract>,
    /// The messages that are open, outermost first; the first is the whole.
    open: Vec<Open>,
    /// Bytes that were read.
    at: usize,
    expects: Expects,
    memory: usize,
}

#[derive(Debug)]
struct Open {
    /// An index of the contract; none for a group, which nothing is built from.
    message: Option<usize>,
    /// The field that it is, of the message around it.
    field: u32,
    /// Where it ends; a group ends with a key, and at the latest with what is around it.
    end: usize,
}

#[derive(Clone, Copy, Debug)]
enum Expects {
    Key(Varint),
    Length(u32, Varint),
    Value(Varint),
    Bytes(usize),
    /// Nothing: the message is malformed, and prost reads no further either.
    Nothing,
}

const KEY: Expects = Expects::Key(Varint::NEW);

/// The message needs too much memory; where it became too much.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyElements {
    /// The path of the field, without places in lists.
    pub(super) field: String,
}

/// Why the scan does not go on.
enum Stop {
    Malformed,
    /// The field that was the last.
    TooMany(u32),
}

use Stop::Malformed;

impl Scan {
    /// Begins a message of so many bytes.
    pub(super) fn new(contract: Arc<Contract>, message: usize, bytes: usize) -> Self {
        let whole = Open {
            message: Some(message),
            field: 0,
            end: bytes,
        };
        Self {
            contract,
            open: vec![whole],
            at: 0,
            expects: KEY,
            memory: 0,
        }
    }

    /// Bytes that the message so far needs in memory, its texts apart.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// Whether the bytes so far are no message.
    #[cfg(test)]
    pub(super) fn is_malformed(&self) -> bool {
        matches!(self.expects, Expects::Nothing)
    }

    /// Reads the next bytes of the message.
    ///
    /// # Errors
    /// [`TooManyElements`], as soon as it needs too much memory.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Result<(), TooManyElements> {
        while !bytes.is_empty() {
            match self.step(bytes) {
                Ok(taken) => bytes = &bytes[taken..],
                Err(Malformed) => self.expects = Expects::Nothing,
                Err(Stop::TooMany(number)) => {
                    return Err(TooManyElements {
                        field: self.path(number),
                    });
                }
            }
        }
        Ok(())
    }

    /// Reads what is expected, as far as it is there; says how many bytes that took.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, Stop> {
        let end = self.end();
        let mut taken = 0;
        let next = match &mut self.expects {
            Expects::Nothing => return Ok(bytes.len()),
            Expects::Bytes(wanted) => {
                taken = bytes.len().min(*wanted);
                *wanted -= taken;
                self.at += taken;
                match *wanted {
                    0 => KEY,
                    _ => return Ok(taken),
                }
            }
            Expects::Key(varint) | Expects::Length(_, varint) | Expects::Value(varint) => {
                let number = loop {
                    if self.at >= end {
                        return Err(Malformed);
                    }
                    let Some(&byte) = bytes.get(taken) else {
                        return Ok(taken);
                    };
                    taken += 1;
                    self.at += 1;
                    if let Some(number) = varint.take(byte)? {
                        break number;
                    }
                };
                match self.expects {
                    Expects::Key(_) => self.key(number)?,
                    Expects::Length(field, _) => self.length(field, number)?,
                    _ => KEY,
                }
            }
        };
        self.expects = next;
        if matches!(next, Expects::Key(_)) {
            self.close()?;
        }
        Ok(taken)
    }

    fn key(&mut self, key: u64) -> Result<Expects, Stop> {
        let key = u32::try_from(key).map_err(|_| Malformed)?;
        let field = key >> 3;
        if field == 0 {
            return Err(Malformed);
        }
        match key & 7 {
            0 => Ok(Expects::Value(Varint::NEW)),
            1 => self.bytes(8),
            2 => Ok(Expects::Length(field, Varint::NEW)),
            3 => {
                let end = self.end();
                self.enter(None, field, end)?;
                Ok(KEY)
            }
            4 => {
                let ended = self.open.pop().ok_or(Malformed)?;
                if ended.message.is_some() || ended.field != field {
                    return Err(Malformed);
                }
                Ok(KEY)
            }
            5 => self.bytes(4),
            _ => Err(Malformed),
        }
    }

    fn length(&mut self, number: u32, length: u64) -> Result<Expects, Stop> {
        let length = usize::try_from(length).map_err(|_| Malformed)?;
        let skipped = self.bytes(length)?;
        let message = self.open.last().and_then(|open| open.message);
        let Some(field) = message.and_then(|message| self.contract.field(message, number)) else {
            return Ok(skipped);
        };
        let (kind, count) = match field.kind {
            Kind::Numbers(width) => (field.kind, length / width),
            kind => (kind, 1),
        };
        self.memory = self.memory.saturating_add(field.memory.saturating_mul(count));
        if self.memory > MAX_MESSAGE_MEMORY {
            return Err(Stop::TooMany(number));
        }
        if let Kind::Message(message) = kind {
            self.enter(Some(message), number, self.at + length)?;
            return Ok(KEY);
        }
        Ok(skipped)
    }

    /// Expects so many bytes, where what is open has them.
    fn bytes(&self, count: usize) -> Result<Expects, Stop> {
        match count {
            count if count > self.end().saturating_sub(self.at) => Err(Malformed),
            0 => Ok(KEY),
            count => Ok(Expects::Bytes(count)),
        }
    }

    fn enter(&mut self, message: Option<usize>, field: u32, end: usize) -> Result<(), Stop> {
        if self.open.len() > MAX_DEPTH {
            return Err(Malformed);
        }
        self.open.push(Open { message, field, end });
        Ok(())
    }

    /// Closes the messages that end here.
    fn close(&mut self) -> Result<(), Stop> {
        while self.open.len() > 1 && self.at >= self.end() {
            if self.open.pop().is_some_and(|ended| ended.message.is_none()) {
                return Err(Malformed);
            }
        }
        Ok(())
    }

    fn end(&self) -> usize {
        self.open.last().map_or(0, |open| open.end)
    }

    /// The path of a field of the innermost message.
    fn path(&self, field: u32) -> String {
        let mut names = Vec::new();
        let mut open = self.open.iter();
        let mut message = open.next().and_then(|whole| whole.message);
        for number in open.map(|open| open.field).chain([field]) {
            let Some(found) = message.and_then(|message| self.contract.field(message, number)) else {
                break;
            };
            names.push(found.name.as_str());
            message = match found.kind {
                Kind::Message(message) => Some(message),
                Kind::Bytes | Kind::Numbers(_) => None,
            };
        }
        names.join(".")
    }
}

/// A number on the wire, seven bits a byte, the lowest first.
#[derive(Clone, Copy, Debug)]
struct Varint {
    value: u64,
    bytes: u32,
}

impl Varint {
    const NEW: Self = Self { value: 0, bytes: 0 };

    /// Takes the next byte; the number with its last one.
    fn take(&mut self, byte: u8) -> Result<Option<u64>, Stop> {
        if self.bytes == MAX_VARINT_BYTES - 1 && byte > 1 {
            return Err(Malformed);
        }
        self.value |= u64::from(byte & 0x7f) << (7 * self.bytes);
        self.bytes += 1;
        Ok((byte & 0x80 == 0).then_some(self.value))
    }
}

#[cfg(test)]
mod tests;
