//! What a reader's process is told, and what it answers. Numbers are little-endian.

use crate::{Extracted, PageStart, error::DocumentError, format::Format};

/// The first byte of an answer.
const TEXT: u8 = 0;
const ERROR: u8 = 1;

/// What comes before the bytes of a document: its format, and its name with its length.
pub(super) fn encode_request(format: Format, name: &str) -> Vec<u8> {
    let mut message = vec![format.number()];
    push_text(&mut message, name);
    message
}

/// The format, the name and the bytes of a document.
pub(super) fn request(message: &[u8]) -> Option<(Format, &str, &[u8])> {
    let mut rest = message;
    let format = Format::of_number(*take(&mut rest, 1)?.first()?)?;
    let name = text(&mut rest)?;
    Some((format, name, rest))
}

/// A text, or why there is none.
pub(super) fn encode_answer(read: &Result<Extracted, DocumentError>) -> Vec<u8> {
    let read = match read {
        Ok(read) => read,
        Err(error) => return [&[ERROR], error.to_string().as_bytes()].concat(),
    };
    let mut message = vec![TEXT, u8::from(read.markdown), u8::from(read.title.is_some())];
    push_text(&mut message, read.title.as_deref().unwrap_or_default());
    push_number(&mut message, read.pages.len());
    for page in &read.pages {
        push_number(&mut message, page.number as usize);
        push_number(&mut message, page.start);
    }
    message.extend_from_slice(read.text.as_bytes());
    message
}

/// The text, or why there is none; `None` for what is no whole answer.
pub(super) fn answer(message: &[u8]) -> Option<Result<Extracted, DocumentError>> {
    let mut rest = message;
    let kind = *take(&mut rest, 1)?.first()?;
    if kind == ERROR {
        return Some(Err(DocumentError::Reader(str::from_utf8(rest).ok()?.to_owned())));
    }
    let flags = take(&mut rest, 2)?;
    let title = text(&mut rest)?.to_owned();
    let count = number(&mut rest)?;
    let pages: Option<Vec<PageStart>> = (0..count)
        .map(|_| {
            Some(PageStart {
                number: u32::try_from(number(&mut rest)?).ok()?,
                start: number(&mut rest)?,
            })
        })
        .collect();
    Some(Ok(Extracted {
        pages: pages?,
        markdown: flags.first() == Some(&1),
        title: (flags.get(1) == Some(&1)).then_some(title),
        text: str::from_utf8(rest).ok()?.to_owned(),
    }))
}

fn push_number(message: &mut Vec<u8>, number: usize) {
    message.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn push_text(message: &mut Vec<u8>, text: &str) {
    push_number(message, text.len());
    message.extend_from_slice(text.as_bytes());
}

fn take<'m>(rest: &mut &'m [u8], length: usize) -> Option<&'m [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    Some(u32::from_le_bytes(take(rest, 4)?.try_into().ok()?) as usize)
}

fn text<'m>(rest: &mut &'m [u8]) -> Option<&'m str> {
    let length = number(rest)?;
    str::from_utf8(take(rest, length)?).ok()
}

#[cfg(test)]
mod tests;
