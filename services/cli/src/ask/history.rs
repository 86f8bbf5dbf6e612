//! A conversation file, so that a question can refer to the previous ones.

use emend_core::limits::{MAX_HISTORY, MAX_QUESTION_BYTES};
use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use emend_proto::v1::{ChatMessage, chat_message};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The expected format of a conversation file.
const EXPECTED: &str =
    r#"expected [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}], oldest first"#;

/// A conversation, and its file where it has one.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    file: Option<PathBuf>,
    messages: Vec<Message>,
}

/// A message. Unknown fields are preserved.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Message {
    role: Role,
    content: String,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

/// The part of a conversation that is sent with a question.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// The messages, oldest first.
    pub(super) messages: Vec<ChatMessage>,
    /// A notice to the user of what was left out; empty if nothing was.
    pub(super) notice: String,
}

impl Conversation {
    /// Reads a conversation. A missing file is an empty conversation.
    ///
    /// # Errors
    /// The file is not a valid conversation, or its folder does not exist.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let messages = match fs::read_to_string(file) {
            Ok(text) => messages(&text).with_context(|| format!("{} is not a valid conversation", file.display()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = folder(file);
                if !folder.is_dir() {
                    bail!(
                        "cannot create the conversation {}: folder {} does not exist",
                        file.display(),
                        folder.display()
                    );
                }
                Vec::new()
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read the conversation {}", file.display()));
            }
        };
        Ok(Self {
            file: Some(file.to_owned()),
            messages,
        })
    }

    /// The messages to send with the next question: the latest ones, truncated to the maximum length.
    pub(super) fn sent(&self) -> Sent {
        let said: Vec<&Message> = self
            .messages
            .iter()
            .filter(|message| !message.content.trim().is_empty())
            .collect();
        let left_out = said.len().saturating_sub(MAX_HISTORY);
        let latest = &said[left_out..];
        let shortened = latest
            .iter()
            .filter(|message| message.content.len() > MAX_QUESTION_BYTES)
            .count();
        let mut notices = Vec::new();
        if left_out > 0 {
            notices.push(format!(
                "the latest {MAX_HISTORY} of {} messages are sent, the {left_out} before them are not",
                said.len()
            ));
        }
        if shortened > 0 {
            notices.push(format!("messages truncated to {MAX_QUESTION_BYTES} bytes: {shortened}"));
        }
        Sent {
            messages: latest.iter().map(|message| message.sent()).collect(),
            notice: notices.join("; "),
        }
    }

    /// Appends a question and its answer, and replaces the file atomically. Messages that were added to the file since
    /// it was read are kept.
    ///
    /// # Errors
    /// The file is no longer a valid conversation, or cannot be written. It is then unchanged.
    pub(super) fn add(&mut self, question: &str, answer: &str) -> Result<()> {
        if let Some(file) = &self.file {
            self.messages = Self::read(file)?.messages;
        }
        self.messages.push(Message::new(Role::User, question));
        self.messages.push(Message::new(Role::Assistant, answer));
        let Some(file) = &self.file else { return Ok(()) };
        let text = serde_json::to_string_pretty(&self.messages)?;
        replace(file, &text).with_context(|| format!("cannot write the conversation {}", file.display()))
    }
}

impl Message {
    fn new(role: Role, content: &str) -> Self {
        Self {
            role,
            content: content.to_owned(),
            other: Map::new(),
        }
    }

    fn sent(&self) -> ChatMessage {
        let end = self.content.floor_char_boundary(MAX_QUESTION_BYTES);
        ChatMessage {
            role: match self.role {
                Role::User => chat_message::Role::User,
                Role::Assistant => chat_message::Role::Assistant,
            }
            .into(),
            content: self.content[..end].to_owned(),
        }
    }
}

fn messages(text: &str) -> Result<Vec<Message>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).with_context(|| EXPECTED)
}

fn folder(file: &Path) -> &Path {
    file.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Writes a temporary file and renames it over the old one; a symbolic link is kept.
fn replace(file: &Path, text: &str) -> Result<()> {
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let mut new = tempfile::NamedTempFile::new_in(folder(&file))?;
    new.write_all(text.as_bytes())?;
    new.write_all(b"\n")?;
    if let Ok(old) = fs::metadata(&file) {
        new.as_file().set_permissions(old.permissions())?;
    }
    new.as_file().sync_all()?;
    new.persist(&file)?;
    Ok(())
}

#[cfg(test)]
mod tests;
