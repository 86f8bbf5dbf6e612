//! Reads untrusted files: regular files only, with lines of bounded length.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Opens a file to read it, where it is a regular one. Opening a pipe, a device or a socket could wait for ever, and
/// reading it too.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    regular(open(path, false)?)
}

/// Opens a regular file as [`open_regular`] does, where no part of its path is a symbolic link; outside Linux, where the
/// last part is none. A file found in a folder is opened so: meanwhile a link may stand there, which leads elsewhere.
///
/// # Errors
/// The file cannot be opened, is not a regular file, or is behind a symbolic link.
pub fn open_regular_unlinked(path: &Path) -> io::Result<File> {
    let file = open_unlinked(path).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => io::Error::new(
            io::ErrorKind::InvalidInput,
            "it became a symbolic link, or a folder of its path did, which is not followed",
        ),
        _ => error,
    })?;
    regular(file)
}

#[cfg(target_os = "linux")]
fn open_unlinked(path: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, ResolveFlags, openat2};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Kernels before 5.6 do not have it, and some sandboxes do not allow it.
        Err(Errno::NOSYS | Errno::PERM) => open(path, true),
        opened => Ok(opened?.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_unlinked(path: &Path) -> io::Result<File> {
    open(path, true)
}

/// Opens a file, or fails with `ELOOP` where its last part is a link that is not to be followed.
fn open(path: &Path, is_unlinked: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    // A pipe is opened without waiting for its writer; it makes no difference to a regular file.
    let mut flags = OFlags::NONBLOCK;
    flags.set(OFlags::NOFOLLOW, is_unlinked);
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits() as i32);
    options.open(path)
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        let what = "it is not a regular file but a folder, a pipe, a device or a socket";
        Err(io::Error::new(io::ErrorKind::InvalidInput, what))
    }
}

/// The lines of a file, none of them longer than a bound.
#[derive(Debug)]
pub struct BoundedLines<R> {
    reader: R,
    limit: usize,
    number: usize,
}

/// A line, without the break at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedLine {
    /// Its number in the file, from 1.
    pub number: usize,
    /// Its bytes; none where it is longer than the bound.
    pub bytes: Option<Vec<u8>>,
}

impl<R: BufRead> BoundedLines<R> {
    /// The lines of `reader` with at most `limit` bytes each; of a longer one only the number is told.
    pub fn new(reader: R, limit: usize) -> Self {
        let number = 0;
        Self { reader, limit, number }
    }

    fn read(&mut self) -> io::Result<Option<NumberedLine>> {
        let mut line = Vec::new();
        let (mut is_long, mut is_empty) = (false, true);
        loop {
            let buffer = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            if buffer.is_empty() && is_empty {
                return Ok(None);
            }
            is_empty = false;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..end.unwrap_or(buffer.len())];
            is_long |= line.len() + part.len() > self.limit;
            if is_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(part);
            }
            let is_last = end.is_some() || buffer.is_empty();
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if is_last {
                self.number += 1;
                let number = self.number;
                let bytes = (!is_long).then_some(line);
                return Ok(Some(NumberedLine { number, bytes }));
            }
        }
    }
}

impl<R: BufRead> Iterator for BoundedLines<R> {
    type Item = io::Result<NumberedLine>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests;
