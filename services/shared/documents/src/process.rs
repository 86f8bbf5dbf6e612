//! Reading a document in a process of its own: what kills a reader, or fills its memory, leaves the others alone.
//!
//! The process is this program again, told by its first argument to read one document from standard input and to write
//! its text to standard output. It is killed once it takes too much memory or time, or nobody waits any more.

mod message;

use std::{
    ffi::OsString,
    fs,
    io::{self, Read as _, Write as _},
    path::PathBuf,
    process::{Child, Command, ExitCode, Stdio},
    sync::{
        OnceLock,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use crate::{
    Extracted,
    bounds::{Bounds, MAX_TEXT_BYTES, MAX_TIME},
    error::DocumentError,
    format::Format,
    reader,
};

/// The first argument of such a process.
const ARGUMENT: &str = "--read-document-from-standard-input";
/// Most memory of such a process, in bytes.
pub const MAX_READER_BYTES: u64 = 1 << 30;
/// How often its memory is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Most bytes that are read of its answer: a text with where its pages begin.
const MAX_ANSWER_BYTES: u64 = 2 * MAX_TEXT_BYTES as u64;

/// The program to start, once it was said that it can read documents.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Says that this program can be started to read a document, which is done here and now where it was. Whoever reads
/// documents with libraries that cannot be told to stop calls it first thing in `main`, and ends with the code that comes
/// back. Without it such libraries run on threads of this process.
pub fn reader_process() -> Option<ExitCode> {
    if std::env::args_os().nth(1) == Some(OsString::from(ARGUMENT)) {
        return Some(answer());
    }
    // The program may be replaced while it runs.
    let itself = PathBuf::from("/proc/self/exe");
    let program = if itself.exists() {
        Ok(itself)
    } else {
        std::env::current_exe()
    };
    if let Ok(program) = program {
        PROGRAM.get_or_init(|| program);
    }
    None
}

/// Whether documents can be read in a process of their own.
pub(crate) fn is_available() -> bool {
    PROGRAM.get().is_some()
}

/// Reads one document, and answers.
fn answer() -> ExitCode {
    // Whoever started it may be gone without having killed it.
    thread::spawn(|| {
        thread::sleep(MAX_TIME);
        std::process::exit(1);
    });
    let mut request = Vec::new();
    if io::stdin().lock().read_to_end(&mut request).is_err() {
        return ExitCode::FAILURE;
    }
    let Some((format, name, bytes)) = message::request(&request) else {
        return ExitCode::FAILURE;
    };
    let read = reader::on_own_stack(format, || crate::read(name, format, bytes, Bounds::new(&|| false)));
    match io::stdout().lock().write_all(&message::encode_answer(&read)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Reads a document in a process of its own.
///
/// # Errors
/// Those of its reader as [`DocumentError::Reader`]; [`DocumentError::TooMuchMemory`]; [`DocumentError::Broken`] where
/// the process dies; those of `bounds`.
pub(crate) fn read(name: &str, format: Format, bytes: &[u8], bounds: Bounds<'_>) -> Result<Extracted, DocumentError> {
    let broken = |reason: String| DocumentError::Broken { format, reason };
    let program = PROGRAM
        .get()
        .ok_or_else(|| broken("its reader is unknown".to_owned()))?;
    let started = Command::new(program)
        .arg(ARGUMENT)
        // It needs none of the settings and keys of this process.
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut process = Killed(started.map_err(|error| broken(format!("its reader cannot be started: {error}")))?);
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = process.0.stdout.take() {
        thread::spawn(move || {
            let mut answer = Vec::new();
            let read = output.take(MAX_ANSWER_BYTES).read_to_end(&mut answer);
            drop(sender.send(read.map(|_| answer)));
        });
    }
    let input = process.0.stdin.take();
    thread::scope(|scope| {
        // Dropped, and so killed, before the thread below is waited for.
        let process = process;
        // A process that hangs takes no more than fits into the pipe.
        scope.spawn(move || {
            if let Some(mut input) = input {
                // It reads all before it does anything; where it died, its answer says so.
                let begun = input.write_all(&message::encode_request(format, name));
                drop(begun.and_then(|()| input.write_all(bytes)));
            }
        });
        answer_of(process.0.id(), &receiver, format, bounds)
    })
}

/// The answer of a process, once it is there; an error where it dies before, takes too much, or is not waited for any more.
fn answer_of(
    process: u32,
    answers: &mpsc::Receiver<io::Result<Vec<u8>>>,
    format: Format,
    bounds: Bounds<'_>,
) -> Result<Extracted, DocumentError> {
    let broken = |reason: String| DocumentError::Broken { format, reason };
    loop {
        match answers.recv_timeout(LOOK_EVERY) {
            Ok(Ok(answer)) => {
                let broke_off = || broken("its reader broke off; save it in another format".to_owned());
                return message::answer(&answer).unwrap_or_else(|| Err(broke_off()));
            }
            Ok(Err(error)) => return Err(broken(error.to_string())),
            Err(RecvTimeoutError::Disconnected) => return Err(broken("its reader did not answer".to_owned())),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(error) = bounds.stopped() {
            return Err(error);
        }
        if resident(process).is_some_and(|bytes| bytes > MAX_READER_BYTES) {
            let limit = MAX_READER_BYTES;
            return Err(DocumentError::TooMuchMemory { limit });
        }
    }
}

/// A process that does not outlive its use.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Memory that a process holds, in bytes; `None` where the system does not tell.
fn resident(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests;
