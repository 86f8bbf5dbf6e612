//! The text of the question: a word of the command line, or what stands on standard input.

use std::io::{self, Read};

use emend_core::limits::MAX_QUESTION_BYTES;

/// The word that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// The question that a word means.
///
/// # Errors
/// It is blank, too long, or cannot be read. The message says what to do.
pub(super) fn read(word: String, input: impl Read) -> Result<String, String> {
    let question = if word == STANDARD_INPUT {
        from(input).map_err(|error| format!("cannot read the question from standard input: {error}"))?
    } else {
        word
    };
    checked(question)
}

/// A question that is neither blank nor too long.
///
/// # Errors
/// It is. The message says what to do.
pub(super) fn checked(question: String) -> Result<String, String> {
    if question.trim().is_empty() {
        return Err(
            "the question is empty: give it as the last word, or `-` to read it from standard input".to_owned(),
        );
    }
    if question.len() > MAX_QUESTION_BYTES {
        return Err(format!(
            "the question is longer than {MAX_QUESTION_BYTES} bytes: shorten it, and put what it refers to into --docs"
        ));
    }
    Ok(question)
}

/// Reads as much as shows that a question is too long, and no more.
fn from(input: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    // Room for the end of a line, and for one byte too many.
    let most = MAX_QUESTION_BYTES + 3;
    input
        .take(u64::try_from(most).unwrap_or(u64::MAX))
        .read_to_end(&mut bytes)?;
    if bytes.len() == most {
        // Too long: the cut may lie within a character.
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8; convert it"))?;
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests;
