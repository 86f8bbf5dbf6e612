//! A parser of server-sent events, following the HTML standard's event stream interpretation.

/// Maximum size of an event in bytes.
const MAX_EVENT: usize = 1 << 20;

/// Splits a stream of byte chunks into events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The incomplete last line. It may end in the middle of a character.
    line: Vec<u8>,
    /// The data lines of the incomplete event.
    data: Vec<u8>,
}

/// An event exceeds the maximum size.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// Returns the data of each event that `chunk` completes.
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

    /// Returns the last event at the end of the stream: some servers omit the last blank line.
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
        // Comments and the fields `event`, `id` and `retry` are ignored.
    }
}

#[cfg(test)]
mod tests;
