//! What people say of answers: JSON Lines in a folder, read by its owner alone.
//!
//! ```text
//! FOLDER/feedback.jsonl      what was said last
//! FOLDER/feedback.1.jsonl    what was said before, and so on; the oldest file is removed
//! ```

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use emend_core::{BoundedLines, DeadlineExceeded, NumberedLine, Reason, Scope, ServiceError, open_regular};
use emend_proto::v1::{Feedback, FeedbackPassage, FeedbackVerdict, WalkStatus};
use serde::{Deserialize, Serialize};
use tokio::{sync::Semaphore, task::spawn_blocking};
use uuid::Uuid;

/// Largest file of feedback, in bytes; what is said next begins another one.
pub const MAX_FILE_BYTES: u64 = 16 << 20;
/// Most files that are kept, the oldest of which is removed.
pub const MAX_FILES: usize = 8;
/// Calls that write, or wait to write, at once.
const MAX_AT_ONCE: usize = 16;
/// What a refused caller is told to wait.
const RETRY_AFTER: Duration = Duration::from_millis(200);
/// The file that is written.
const NAME: &str = "feedback";

/// Feedback as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Its identifier, a UUID.
    pub id: String,
    /// When it was recorded, RFC 3339.
    pub recorded_at: String,
    /// The walk, as the caller names it; empty when unknown.
    pub walk_id: String,
    /// What was asked.
    pub question: String,
    /// The answer; may be empty where the walk abstained.
    pub answer: String,
    /// How the walk ended, as `WALK_STATUS_…`.
    pub status: String,
    /// What was said of it.
    pub verdict: Verdict,
    /// What else was said.
    pub comment: String,
    /// The passages of the answer.
    pub passages: Vec<KeptPassage>,
}

/// What is said of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is right.
    Right,
    /// It is wrong.
    Wrong,
    /// There is none although there should be.
    WronglyAbstained,
}

impl Verdict {
    /// That of a contract; `None` where it is unspecified.
    pub(crate) fn of(verdict: FeedbackVerdict) -> Option<Self> {
        match verdict {
            FeedbackVerdict::Unspecified => None,
            FeedbackVerdict::Right => Some(Self::Right),
            FeedbackVerdict::Wrong => Some(Self::Wrong),
            FeedbackVerdict::WronglyAbstained => Some(Self::WronglyAbstained),
        }
    }
}

/// A passage of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptPassage {
    /// Its identifier.
    pub id: String,
    /// The title of its document.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Whether the answer cites it.
    pub cited: bool,
    /// Whether a person found that it helps with the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevant: Option<bool>,
}

impl From<FeedbackPassage> for KeptPassage {
    fn from(passage: FeedbackPassage) -> Self {
        Self {
            id: passage.id,
            title: passage.title,
            text: passage.text,
            cited: passage.cited,
            relevant: passage.relevant,
        }
    }
}

/// Why feedback is not kept, or cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FeedbackError {
    /// The service was started without a folder for it.
    #[error("this service keeps no feedback: start it with --feedback-dir FOLDER (EMEND_FEEDBACK_DIR)")]
    Off,
    /// The folder cannot be made or written.
    #[error("feedback folder {} cannot be used: choose a writable folder with --feedback-dir", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// The disk is full.
    #[error("no room is left for feedback in {}: free some space", folder.display())]
    NoSpace {
        /// The folder.
        folder: PathBuf,
    },
    /// Too many calls write at once.
    #[error("too much feedback comes at once: try again in {} ms", RETRY_AFTER.as_millis())]
    Full,
    /// The deadline passed first.
    #[error(transparent)]
    Deadline(#[from] DeadlineExceeded),
    /// Writing broke off.
    #[error("recording the feedback failed inside; the log has the cause")]
    Broken,
    /// A file of feedback has a line that is none.
    #[error("{}:{line} is no feedback: {reason}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

impl ServiceError for FeedbackError {
    fn reason(&self) -> Reason {
        match self {
            Self::Off => Reason::FeedbackDisabled,
            Self::Folder { .. } => Reason::StoreUnusable,
            Self::NoSpace { .. } => Reason::StorageFull,
            Self::Full => Reason::Overloaded,
            Self::Deadline(late) => late.reason(),
            Self::Broken | Self::Line { .. } => Reason::Fault,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        matches!(self, Self::Full).then_some(RETRY_AFTER)
    }
}

impl From<FeedbackError> for tonic::Status {
    fn from(error: FeedbackError) -> Self {
        emend_chassis::status(&error)
    }
}

/// A folder of feedback. Several processes may write to one; cheap to clone.
#[derive(Clone, Debug)]
pub struct FeedbackFolder {
    folder: Arc<Path>,
    /// A lock of a file does not hold between threads.
    writing: Arc<Mutex<()>>,
    admitted: Arc<Semaphore>,
    max_file_bytes: u64,
}

impl FeedbackFolder {
    /// Uses a folder, which is made for its owner alone if it is not there.
    ///
    /// # Errors
    /// [`FeedbackError::Folder`] if it cannot be made or written.
    pub fn open(folder: &Path) -> Result<Self, FeedbackError> {
        let opened = Self {
            folder: Arc::from(folder),
            writing: Arc::default(),
            admitted: Arc::new(Semaphore::new(MAX_AT_ONCE)),
            max_file_bytes: MAX_FILE_BYTES,
        };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|error| opened.failed(error))?;
        opened.current().map_err(|error| opened.failed(error))?;
        Ok(opened)
    }

    /// Keeps feedback that was checked, on a thread that may block. Returns its identifier once it is on the disk.
    ///
    /// # Errors
    /// [`FeedbackError`].
    pub async fn record(&self, feedback: Feedback, scope: &Scope) -> Result<String, FeedbackError> {
        let place = Arc::clone(&self.admitted).try_acquire_owned();
        let place = place.map_err(|_| FeedbackError::Full)?;
        let folder = self.clone();
        let span = tracing::Span::current();
        let writing = spawn_blocking(move || {
            let written = span.in_scope(|| folder.write(feedback));
            drop(place);
            written
        });
        scope.deadline.run(writing).await?.map_err(|_| FeedbackError::Broken)?
    }

    fn write(&self, feedback: Feedback) -> Result<String, FeedbackError> {
        let status = WalkStatus::try_from(feedback.status).unwrap_or_default();
        let verdict = FeedbackVerdict::try_from(feedback.verdict).unwrap_or_default();
        let kept = Kept {
            id: Uuid::new_v4().to_string(),
            recorded_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            walk_id: feedback.walk_id,
            question: feedback.question,
            answer: feedback.answer,
            status: status.as_str_name().to_owned(),
            // Others are refused before.
            verdict: Verdict::of(verdict).ok_or(FeedbackError::Broken)?,
            comment: feedback.comment,
            passages: feedback.passages.into_iter().map(KeptPassage::from).collect(),
        };
        let mut line = serde_json::to_vec(&kept).map_err(|_| FeedbackError::Broken)?;
        line.push(b'\n');
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.append(&line).map_err(|error| self.failed(error))?;
        Ok(kept.id)
    }

    /// Adds a line, and begins another file where it has no room in the one that is written.
    fn append(&self, line: &[u8]) -> io::Result<()> {
        // Freed when it is closed, even by a crash.
        let lock = private(self.folder.join(".lock"))?;
        lock.lock()?;
        let mut file = self.current()?;
        let length = file.metadata()?.len();
        if length > 0 && length + line.len() as u64 > self.max_file_bytes {
            self.rotate()?;
            file = self.current()?;
        }
        let before = file.metadata()?.len();
        if before > 0 && last_byte(&mut file)? != b'\n' {
            // A crash ended the last line early.
            file.write_all(b"\n")?;
        }
        let written = file.write_all(line).and_then(|()| file.sync_data());
        if written.is_err() {
            // Half a line would spoil the one after it.
            file.set_len(before)?;
        }
        written
    }

    /// Moves every file one place on, and removes the last.
    fn rotate(&self) -> io::Result<()> {
        for number in (1..MAX_FILES).rev() {
            let older = self.file(number);
            match fs::rename(self.file(number - 1), older) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&self, number: usize) -> PathBuf {
        match number {
            0 => self.folder.join(format!("{NAME}.jsonl")),
            number => self.folder.join(format!("{NAME}.{number}.jsonl")),
        }
    }

    fn current(&self) -> io::Result<File> {
        private(self.file(0))
    }

    fn failed(&self, source: io::Error) -> FeedbackError {
        let folder = self.folder.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FeedbackError::NoSpace { folder },
            _ => FeedbackError::Folder { folder, source },
        }
    }

    /// Reads all feedback of a folder, oldest first, and hands each to `each`. Returns how many lines were cut off by a
    /// crash.
    ///
    /// # Errors
    /// [`FeedbackError::Folder`] if there is none or it cannot be read, [`FeedbackError::Line`] for a line that is no
    /// feedback, and what `each` returns.
    pub fn read<E: From<FeedbackError>>(
        folder: &Path,
        mut each: impl FnMut(Kept) -> Result<(), E>,
    ) -> Result<usize, E> {
        let files = Self {
            folder: Arc::from(folder),
            writing: Arc::default(),
            admitted: Arc::new(Semaphore::new(0)),
            max_file_bytes: MAX_FILE_BYTES,
        };
        fs::read_dir(folder).map_err(|error| files.failed(error))?;
        let mut broken = 0;
        for number in (0..MAX_FILES).rev() {
            let path = files.file(number);
            let file = match open_regular(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(files.failed(error).into()),
            };
            let limit = usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX);
            for line in BoundedLines::new(BufReader::new(file), limit) {
                let NumberedLine { number: line, bytes } = line.map_err(|error| files.failed(error))?;
                let bad = |reason: &str| FeedbackError::Line {
                    file: path.clone(),
                    line,
                    reason: reason.to_owned(),
                };
                let bytes = bytes.ok_or_else(|| bad("it is too long"))?;
                if bytes.trim_ascii().is_empty() {
                    continue;
                }
                match serde_json::from_slice(&bytes) {
                    Ok(kept) => each(kept)?,
                    // The rest of it was never written.
                    Err(error) if error.is_eof() => broken += 1,
                    Err(error) => return Err(bad(&error.to_string()).into()),
                }
            }
        }
        Ok(broken)
    }
}

/// Opens a file to read it and to add to it, made for its owner alone if it is not there.
fn private(path: PathBuf) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut byte = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

#[cfg(test)]
mod tests;
