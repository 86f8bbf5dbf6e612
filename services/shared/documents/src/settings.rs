//! YAML and TOML, with blank lines where one entry ends and the next one begins.

use crate::bounds::MAX_ROWS;

/// A text up to this size, in bytes, stays as it is: it is not split. One of more than [`MAX_ROWS`] lines does so too.
const MIN_BYTES: usize = 600;

/// The text with a blank line before every entry of the top level that has more than one line, and after it.
/// A comment belongs to what follows it.
pub(crate) fn entries(text: &str) -> String {
    if text.len() <= MIN_BYTES {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().take(MAX_ROWS + 1).collect();
    if lines.len() > MAX_ROWS {
        return text.to_owned();
    }
    let has_tables = lines.iter().any(|line| line.starts_with('['));
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    // The lines of the last entry, and whether it is separated from the one before.
    let mut start = 0;
    let mut was_long = false;
    for at in 1..=lines.len() {
        if lines.get(at).is_some_and(|line| !begins_entry(line, has_tables)) {
            continue;
        }
        // Comments and blank lines above an entry belong to it.
        let above = |line: &&&str| line.trim().is_empty() || line.starts_with('#');
        let end = match at {
            at if at == lines.len() => at,
            at => {
                at - lines
                    .get(start + 1..at)
                    .map_or(0, |entry| entry.iter().rev().take_while(above).count())
            }
        };
        let entry = lines.get(start..end).unwrap_or_default();
        let is_long = entry
            .iter()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
            .count()
            > 1;
        if (is_long || was_long)
            && !out.is_empty()
            && !out.ends_with("\n\n")
            && !entry.first().is_some_and(|l| l.trim().is_empty())
        {
            out.push('\n');
        }
        for line in entry {
            out.push_str(line);
            out.push('\n');
        }
        start = end;
        was_long = is_long;
    }
    out
}

/// Whether a line begins an entry of the top level; in a text with tables, as TOML has them, those are the entries.
fn begins_entry(line: &str, has_tables: bool) -> bool {
    if has_tables {
        return line.starts_with('[');
    }
    line.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '\'' | '-' | '_'))
}

#[cfg(test)]
mod tests;
