//! The readable part of a saved HTML page.

use std::borrow::Cow;

use emend_text::html::{self, HtmlError, Limits, Rules};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::page::Found;

/// How far into a page its encoding has to be declared (HTML Standard, 4.2.5.4).
const DECLARATION_BYTES: usize = 1024;

/// Most bytes of Markdown of a page: what people read is some thousandth of it.
const MAX_TEXT_BYTES: usize = 8 << 20;

/// Elements that hold no text of the page: code, frames, and what surrounds the content.
const RULES: Rules = Rules {
    skipped: &[
        "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "nav", "footer",
        "aside", "button", "select", "textarea", "dialog", "img",
    ],
    shown: true,
};

/// Decodes `bytes` by byte order mark, as UTF-8 if they are valid, otherwise by the encoding that
/// the page declares.
pub(in crate::backend) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if Encoding::for_bom(bytes).is_none() && std::str::from_utf8(bytes).is_err() {
        return declared(bytes).unwrap_or(WINDOWS_1252).decode(bytes).0;
    }
    UTF_8.decode(bytes).0
}

fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(DECLARATION_BYTES)].to_ascii_lowercase();
    let at = head.windows(8).position(|window| window == b"charset=")? + 8;
    let label: Vec<u8> = head[at..]
        .iter()
        .copied()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
        .collect();
    Encoding::for_label(&label)
}

/// URL, title, date and text of a page. The text is that of `<main>` if there is one, in blocks separated
/// by blank lines.
///
/// # Errors
/// The page is above a limit of [`html::read`], or `stop` says so.
pub(in crate::backend) fn read(content: &str, stop: &dyn Fn() -> bool) -> Result<Found, HtmlError> {
    let limits = Limits {
        bytes: MAX_TEXT_BYTES,
        stop,
    };
    let page = html::read(content, RULES, limits)?;
    Ok(Found {
        url: page.url,
        published: page.published,
        title: page.title.or(page.heading).unwrap_or_default(),
        text: emend_text::plain(&page.markdown),
    })
}

#[cfg(test)]
mod tests;
