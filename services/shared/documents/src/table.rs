//! Rows of a table as Markdown whose every piece carries the header.

use std::fmt::Write as _;

use crate::{
    bounds::{Bounds, MAX_COLUMNS, MAX_ROWS},
    error::DocumentError,
    markdown::{Markdown, one_line},
};

/// Size of a block of rows with its header, in tokens as estimated: below the size of a chunk that is embedded.
const BLOCK_TOKENS: f32 = 180.0;
/// Largest header, in tokens as estimated, that is repeated above rows. With a larger one, and with more columns than
/// this, every value is written behind its column's name.
const MAX_HEADER_TOKENS: f32 = 70.0;
const MAX_HEADER_COLUMNS: usize = 16;

/// Writes `rows` as tables. Rows before the first one with two values are titles and become paragraphs. The first row
/// is the header unless it looks like data.
///
/// # Errors
/// The table has more than [`MAX_ROWS`] rows or [`MAX_COLUMNS`] columns, or the bounds are reached.
pub(crate) fn write(
    out: &mut Markdown,
    rows: impl IntoIterator<Item = Result<Vec<String>, DocumentError>>,
    bounds: Bounds<'_>,
) -> Result<(), DocumentError> {
    let mut block: Option<Block> = None;
    let mut titles: Vec<String> = Vec::new();
    for (number, row) in rows.into_iter().enumerate() {
        let mut row = row?;
        too_many(number, MAX_ROWS, "rows")?;
        too_many(row.len().saturating_sub(1), MAX_COLUMNS, "columns")?;
        for value in &mut row {
            *value = one_line(value);
        }
        let values = row.iter().filter(|value| !value.is_empty()).count();
        if values == 0 {
            continue;
        }
        match &mut block {
            Some(block) => block.add(out, row),
            None if values == 1 => titles.push(row.concat()),
            None => {
                for title in titles.drain(..) {
                    out.paragraph(&title);
                }
                block = Some(Block::begin(row));
            }
        }
        bounds.check(out.text())?;
    }
    // All rows have one value: a list.
    for title in titles {
        out.item(0, None, &title);
    }
    if let Some(block) = block {
        block.end(out);
    }
    Ok(())
}

fn too_many(count: usize, limit: usize, what: &'static str) -> Result<(), DocumentError> {
    if count >= limit {
        return Err(DocumentError::TooMany { what, limit });
    }
    Ok(())
}

/// Rows that are written together.
struct Block {
    /// Names of the columns; empty where the table names none.
    header: Vec<String>,
    /// Whether every value stands behind its column's name.
    is_list: bool,
    header_tokens: f32,
    tokens: f32,
    rows: Vec<Vec<String>>,
}

impl Block {
    fn begin(first: Vec<String>) -> Self {
        let (header, rows) = if first.iter().any(|value| is_data(value)) {
            (Vec::new(), vec![first])
        } else {
            (first, Vec::new())
        };
        let header_tokens = tokens(&header);
        Self {
            is_list: header_tokens > MAX_HEADER_TOKENS || header.len() > MAX_HEADER_COLUMNS,
            header_tokens,
            tokens: header_tokens + rows.iter().map(|row| tokens(row)).sum::<f32>(),
            header,
            rows,
        }
    }

    fn add(&mut self, out: &mut Markdown, row: Vec<String>) {
        let size = tokens(&row);
        if self.is_list {
            let names = self.header.iter().map(String::as_str).chain(std::iter::repeat(""));
            let mut line = String::new();
            for (value, name) in row.iter().zip(names).filter(|(value, _)| !value.is_empty()) {
                let separator = if line.is_empty() { "" } else { "; " };
                let colon = if name.is_empty() { "" } else { ": " };
                let _ = write!(line, "{separator}{name}{colon}{value}");
            }
            out.paragraph(&line);
            self.tokens = 0.0;
            return;
        }
        if !self.rows.is_empty() && self.tokens + size > BLOCK_TOKENS {
            self.write(out);
        }
        self.tokens += size;
        self.rows.push(row);
    }

    fn end(mut self, out: &mut Markdown) {
        // A header alone is text too.
        if !self.rows.is_empty() || self.tokens > 0.0 {
            self.write(out);
        }
    }

    /// Writes the rows under the header, and begins anew.
    fn write(&mut self, out: &mut Markdown) {
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(self.header.len());
        let mut text = String::new();
        line(&mut text, &self.header, width);
        text.push('\n');
        for _ in 0..width {
            text.push_str("| --- ");
        }
        text.push('|');
        for row in self.rows.drain(..) {
            text.push('\n');
            line(&mut text, &row, width);
        }
        out.raw(&text);
        self.tokens = self.header_tokens;
        if self.header.is_empty() {
            self.tokens = 0.0;
        }
    }
}

fn line(text: &mut String, row: &[String], width: usize) {
    for column in 0..width {
        let value = row.get(column).map_or("", String::as_str);
        let _ = write!(text, "| {} ", value.replace('|', "\\|"));
    }
    text.push('|');
}

/// Whether a value is a number, an amount or a date rather than the name of a column. A year alone may be either.
fn is_data(value: &str) -> bool {
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let others = value
        .chars()
        .filter(|c| !c.is_ascii_digit() && !" .,:+-/%()'€$£¥T".contains(*c))
        .count();
    digits > 0 && others == 0 && !(digits == 4 && value.len() == 4)
}

/// About how many tokens an embedder makes of the values.
fn tokens(row: &[String]) -> f32 {
    let of = |c: char| match c {
        'a'..='z' | 'A'..='Z' => 0.28,
        ' ' => 0.1,
        c if c.is_ascii() => 0.6,
        c if u32::from(c) < 0x2E80 => 0.4,
        _ => 0.8,
    };
    row.iter().map(|value| 1.0 + value.chars().map(of).sum::<f32>()).sum()
}

#[cfg(test)]
mod tests;
