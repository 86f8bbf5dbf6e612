//! Text of others as a person may be shown it.

/// Text of documents, models and the web without the characters that a terminal would obey; lines and tabs stay.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

/// The beginning of a text on one line, at most `most` characters, and `…` where there is more; [`printable`].
#[must_use]
pub fn excerpt(text: &str, most: usize) -> String {
    let line = printable(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests;
