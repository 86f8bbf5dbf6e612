//! Server-sent events out of chunks of bytes, as the HTML standard's event stream interpretation has it.

/// The longest event that is kept, in bytes.
const MAX_EVENT: usize = 1 << 20;

/// Joins chunks and cuts them into events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Bytes of a line whose end has not come yet. A character may be cut in two here.
    line: Vec<u8>,
    /// The data lines of an event whose end has not come yet.
    data: Vec<u8>,
}

/// An event is longer than any server sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// The data of each event that `chunk` completes.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut found = Vec::new();
        for byte in chunk {
            if *byte == b'\n' {
                self.end_line(&mut found);
            } else {
                self.line.push(*byte);
            }
            if self.line.len() + self.data.len() > MAX_EVENT {
                return Err(TooLong);
            }
        }
        Ok(found)
    }

    /// The event that the end of the stream completes: some servers leave out the last blank line.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        let mut found = Vec::new();
        self.end_line(&mut found);
        self.end_line(&mut found);
        found.pop()
    }

    fn end_line(&mut self, found: &mut Vec<Vec<u8>>) {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.is_empty() {
            if !self.data.is_empty() {
                found.push(std::mem::take(&mut self.data));
            }
        } else if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        // Comments and the fields `event`, `id` and `retry` say nothing here.
    }
}

#[cfg(test)]
mod tests;
