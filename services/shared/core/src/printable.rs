//! Makes text of documents, models, the web and callers safe to show on a terminal.
//!
//! A terminal obeys control characters: an escape sequence moves the cursor, changes the title or writes the clipboard,
//! and an override of the writing direction shows other text than is there. They are made visible and stay where they
//! are, so that a reader sees that something is odd.

/// The text with its control characters made visible; lines and tabs stay, and `\r\n` ends a line as `\n` does.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            c => show(c, &mut shown),
        }
    }
    shown
}

/// [`printable`] for text on one line, such as the name of a file: line ends and tabs are made visible too.
#[must_use]
pub fn printable_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        show(c, &mut shown);
    }
    shown
}

/// Whether a terminal obeys `c` in place of showing it: C0, DEL, C1, separators of lines and paragraphs, and what
/// embeds, overrides or isolates a direction of writing. Marks and joiners without a width stay as they are: emoji,
/// Persian and Indic scripts need them, and they move nothing.
#[must_use]
pub fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Appends `c`: C0 and DEL as their pictures (`␛`), others that a terminal obeys by their number (`\u{9b}`).
fn show(c: char, shown: &mut String) {
    match u32::from(c) {
        code @ 0..0x20 => shown.extend(char::from_u32(0x2400 + code)),
        0x7f => shown.push('\u{2421}'),
        _ if is_obeyed(c) => shown.extend(c.escape_unicode()),
        _ => shown.push(c),
    }
}

#[cfg(test)]
mod tests;
