//! Rows of Markdown tables as sentences.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Characters of a column's name that are written before a value. A name is repeated in every row.
const MAX_NAME: usize = 80;

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// Its byte range in the Markdown, without white space around it.
    pub range: Range<usize>,
    /// Its values behind the names of their columns: `Country: Norway; Hotel: 182`. Empty values are left out.
    pub text: String,
}

/// The rows of all tables of `markdown`, in order, without those of names.
#[must_use]
pub fn table_rows(markdown: &str) -> Vec<TableRow> {
    let mut rows = Vec::new();
    if !markdown.contains('|') {
        return rows;
    }
    let mut names: Vec<String> = Vec::new();
    let mut values: Vec<String> = Vec::new();
    let mut in_cell = false;
    for (event, range) in Parser::new_ext(markdown, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::TableHead | Tag::TableRow) => values = Vec::new(),
            Event::Start(Tag::TableCell) => {
                in_cell = true;
                values.push(String::new());
            }
            Event::End(TagEnd::TableCell) => in_cell = false,
            Event::Text(part) | Event::Code(part) if in_cell => {
                if let Some(value) = values.last_mut() {
                    value.push_str(&part);
                }
            }
            Event::End(TagEnd::TableHead) => names = std::mem::take(&mut values),
            Event::End(TagEnd::TableRow) => {
                let row = markdown.get(range.clone()).unwrap_or_default();
                let start = range.start + (row.len() - row.trim_start().len());
                rows.push(TableRow {
                    range: start..start + row.trim().len(),
                    text: row_text(&names, &values),
                });
            }
            _ => {}
        }
    }
    rows
}

fn row_text(names: &[String], values: &[String]) -> String {
    let short = |name: &String| name.trim().chars().take(MAX_NAME).collect::<String>();
    let names = names.iter().map(short).chain(std::iter::repeat(String::new()));
    let pairs = values.iter().map(|value| value.trim()).zip(names);
    let parts = pairs.filter(|(value, _)| !value.is_empty()).map(|(value, name)| {
        if name.is_empty() {
            value.to_owned()
        } else {
            format!("{name}: {value}")
        }
    });
    parts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
