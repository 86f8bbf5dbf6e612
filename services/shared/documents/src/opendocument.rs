//! OpenDocument: texts, spreadsheets, presentations.

use std::collections::HashMap;

use crate::{
    Extracted, PageStart,
    bounds::{Bounds, MAX_COLUMNS, MAX_PAGES, MAX_UNPACKED_BYTES},
    error::DocumentError,
    format::Format,
    markdown::{Markdown, one_line},
    package::Package,
    table,
    xml::{self, Element, Node},
};

/// Most times that a row or a cell with a value stands for itself.
const MAX_REPEATED: usize = 1000;
/// Elements that are no text of the document.
const SKIPPED: [&str; 8] = [
    "office:annotation",
    "text:tracked-changes",
    "text:table-of-content",
    "text:note-citation",
    "svg:title",
    "svg:desc",
    "office:forms",
    "presentation:settings",
];

/// Reads the content of a package.
pub(crate) fn extract(format: Format, bytes: &[u8], bounds: Bounds<'_>) -> Result<Extracted, DocumentError> {
    let mut package = Package::within_bounds(format, bytes, bounds)?;
    let Some(content) = package.text(format, "content.xml")? else {
        return Err(DocumentError::Broken {
            format,
            reason: "it has no part content.xml".to_owned(),
        });
    };
    let mut reader = OdfReader::new(bounds, format);
    if let Some(styles) = package.text(format, "styles.xml")? {
        xml::walk(format, &styles, bounds, |node| {
            if let Node::Open(element) = node {
                reader.style(element);
            }
            Ok(())
        })?;
    }
    xml::walk(format, &content, bounds, |node| reader.visit(node))?;
    let title = match package.text(format, "meta.xml")? {
        Some(meta) => title(format, &meta, bounds)?,
        None => None,
    };
    Ok(Extracted {
        text: reader.out.finish(),
        title,
        markdown: true,
        pages: reader.pages,
    })
}

fn title(format: Format, meta: &str, bounds: Bounds<'_>) -> Result<Option<String>, DocumentError> {
    let (mut title, mut is_inside) = (String::new(), false);
    xml::walk(format, meta, bounds, |node| {
        match node {
            Node::Open(element) if element.name() == "dc:title" => is_inside = true,
            Node::Close("dc:title") => is_inside = false,
            Node::Text(text) if is_inside => title.push_str(&text),
            _ => {}
        }
        Ok(())
    })?;
    Ok(Some(one_line(&title)).filter(|title| !title.is_empty()))
}

/// A table that is being read.
#[derive(Default)]
struct OpenTable {
    rows: Vec<Vec<String>>,
    row: Vec<String>,
    row_repeated: usize,
    cell: String,
    cell_repeated: usize,
    /// Bytes of its values, each as often as it stands for itself, and what it takes to keep them.
    bytes: usize,
}

impl OpenTable {
    /// Counts so many bytes more.
    fn add(&mut self, bytes: usize) -> Result<(), DocumentError> {
        self.bytes += bytes;
        let limit = MAX_UNPACKED_BYTES;
        match self.bytes <= limit {
            true => Ok(()),
            false => Err(DocumentError::Unpacked { limit }),
        }
    }
}

struct OdfReader<'b> {
    format: Format,
    bounds: Bounds<'b>,
    out: Markdown,
    pages: Vec<PageStart>,
    /// What each style is based on.
    parents: HashMap<String, String>,
    /// How many elements that are left out are open.
    skipped: usize,
    /// How many paragraphs and headings are open within each other, and what of them has been read.
    open_texts: usize,
    text: String,
    level: Option<usize>,
    is_code: bool,
    /// The target of the link that is open, and where its text begins.
    link: Option<(String, usize)>,
    /// The lists that are open: whether each is numbered is not told here.
    lists: usize,
    is_first_of_item: bool,
    tables: Vec<OpenTable>,
    /// The number of the slide whose title is still to come.
    slide: Option<u32>,
    /// Whether the frame that is open holds the title of the slide.
    is_title_frame: bool,
    in_notes: bool,
}

impl<'b> OdfReader<'b> {
    fn new(bounds: Bounds<'b>, format: Format) -> Self {
        Self {
            format,
            bounds,
            out: Markdown::default(),
            pages: Vec::new(),
            parents: HashMap::new(),
            skipped: 0,
            open_texts: 0,
            text: String::new(),
            level: None,
            is_code: false,
            link: None,
            lists: 0,
            is_first_of_item: false,
            tables: Vec::new(),
            slide: None,
            is_title_frame: false,
            in_notes: false,
        }
    }

    fn visit(&mut self, node: Node<'_>) -> Result<(), DocumentError> {
        match node {
            Node::Open(element) if SKIPPED.contains(&element.name()) => self.skipped += 1,
            Node::Close(name) if SKIPPED.contains(&name) => self.skipped = self.skipped.saturating_sub(1),
            _ if self.skipped > 0 => {}
            Node::Open(element) => self.open(element)?,
            Node::Close(name) => self.close(name)?,
            Node::Text(text) if self.open_texts > 0 => {
                // White space is one space, as in HTML.
                for c in text.chars() {
                    match c {
                        ' ' | '\t' | '\n' | '\r' if self.text.ends_with([' ', '\n']) || self.text.is_empty() => {}
                        ' ' | '\t' | '\n' | '\r' => self.text.push(' '),
                        c => self.text.push(c),
                    }
                }
            }
            Node::Text(_) => {}
        }
        Ok(())
    }

    fn open(&mut self, element: &Element<'_>) -> Result<(), DocumentError> {
        let repeated = |name: &str| {
            let number = element.attribute(name).and_then(|number| number.parse().ok());
            number.unwrap_or(1_usize).max(1)
        };
        match element.name() {
            "style:style" => self.style(element),
            "text:p" | "text:h" => {
                self.open_texts += 1;
                // Notes and text boxes stand in the middle of a paragraph.
                if self.open_texts > 1 {
                    if !self.text.ends_with([' ', '(']) {
                        self.text.push(' ');
                    }
                    return Ok(());
                }
                self.text.clear();
                let style = element.attribute("text:style-name").unwrap_or_default();
                let level = || {
                    element
                        .attribute("text:outline-level")
                        .and_then(|level| level.parse().ok())
                };
                self.level = match element.name() {
                    "text:h" => Some(level().unwrap_or(1)),
                    _ if self.is_based_on(&style, "Title") => Some(1),
                    _ => None,
                };
                self.is_code = self.is_based_on(&style, "Preformatted");
            }
            "text:note" => self.text.push_str(" ("),
            "text:s" => {
                let count = repeated("text:c").min(MAX_REPEATED);
                self.text.extend(std::iter::repeat_n(' ', count));
            }
            "text:tab" => self.text.push('\t'),
            "text:line-break" => self.text.push('\n'),
            "text:a" => self.link = element.attribute("xlink:href").map(|url| (url, self.text.len())),
            "text:list" => self.lists += 1,
            "text:list-item" => self.is_first_of_item = true,
            "table:table" => {
                if self.format == Format::Ods && self.tables.is_empty() {
                    let name = element.attribute("table:name").unwrap_or_default();
                    self.out.heading(1, &name);
                }
                self.tables.push(OpenTable::default());
            }
            "table:table-row" => {
                if let Some(table) = self.tables.last_mut() {
                    table.row.clear();
                    table.row_repeated = repeated("table:number-rows-repeated");
                }
            }
            "table:table-cell" | "table:covered-table-cell" => {
                if let Some(table) = self.tables.last_mut() {
                    table.cell.clear();
                    table.cell_repeated = repeated("table:number-columns-repeated");
                }
            }
            "draw:page" => {
                let number = u32::try_from(self.pages.len() + 1).unwrap_or(u32::MAX);
                if self.pages.len() >= MAX_PAGES {
                    return Err(DocumentError::TooMany {
                        what: "slides",
                        limit: MAX_PAGES,
                    });
                }
                let start = self.out.next_start();
                self.pages.push(PageStart { number, start });
                self.slide = Some(number);
            }
            "draw:frame" => self.is_title_frame = element.attribute("presentation:class").as_deref() == Some("title"),
            "presentation:notes" => self.in_notes = true,
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str) -> Result<(), DocumentError> {
        match name {
            "text:note" => self.text.push(')'),
            "text:p" | "text:h" => {
                self.open_texts = self.open_texts.saturating_sub(1);
                if self.open_texts == 0 {
                    self.end_text();
                }
            }
            "text:a" => {
                if let Some((url, start)) = self.link.take() {
                    let text = self.text.get(start..).unwrap_or_default().trim().to_owned();
                    if self.level.is_none() && !text.is_empty() && !url.starts_with('#') && url != text {
                        self.text.truncate(start);
                        self.text.push_str(&format!("[{text}]({url})"));
                    }
                }
            }
            "text:list" => self.lists = self.lists.saturating_sub(1),
            "table:table-cell" | "table:covered-table-cell" => self.end_cell()?,
            "table:table-row" => self.end_row()?,
            "table:table" => self.end_table()?,
            "draw:page" => {
                self.begin_slide("");
            }
            "presentation:notes" => self.in_notes = false,
            _ => {}
        }
        self.bounds.check(self.out.text())
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if let Some(table) = self.tables.last_mut() {
            table.cell.push(' ');
            table.cell.push_str(&text);
            return;
        }
        if self.slide.is_some() {
            let title = if self.is_title_frame { text.trim() } else { "" };
            let is_title = !title.is_empty();
            self.begin_slide(title);
            if is_title {
                return;
            }
        }
        if let Some(level) = self.level {
            self.out.heading(level, &text);
        } else if self.is_code {
            self.out.code(text.trim_end());
        } else if self.lists > 0 && self.is_first_of_item {
            self.out.item(self.lists - 1, None, &text);
            self.is_first_of_item = false;
        } else if self.in_notes && !text.trim().is_empty() {
            self.out.paragraph(&format!("Notes: {}", text.trim()));
        } else {
            self.out.paragraph(&text);
        }
    }

    /// Writes the heading of the slide that began, once.
    fn begin_slide(&mut self, title: &str) {
        if let Some(number) = self.slide.take() {
            let colon = if title.is_empty() { "" } else { ": " };
            self.out.heading(1, &format!("Slide {number}{colon}{title}"));
        }
    }

    fn end_cell(&mut self) -> Result<(), DocumentError> {
        let Some(table) = self.tables.last_mut() else {
            return Ok(());
        };
        let value = one_line(&table.cell);
        // Empty cells fill the sheet up to its last column.
        let count = if value.is_empty() {
            table.cell_repeated.min(MAX_COLUMNS)
        } else {
            table.cell_repeated.min(MAX_REPEATED)
        };
        if !value.is_empty() && table.row.len() + count > MAX_COLUMNS {
            return Err(DocumentError::TooMany {
                what: "columns",
                limit: MAX_COLUMNS,
            });
        }
        let room = MAX_COLUMNS.saturating_sub(table.row.len());
        // Before they are made: a long value may stand for many.
        table.add(value.len() * count.min(room))?;
        table.row.extend(std::iter::repeat_n(value, count.min(room)));
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), DocumentError> {
        let Some(table) = self.tables.last_mut() else {
            return Ok(());
        };
        let mut row = std::mem::take(&mut table.row);
        let used = row
            .iter()
            .rposition(|value| !value.is_empty())
            .map_or(0, |last| last + 1);
        row.truncate(used);
        // Empty rows fill the sheet up to its last row.
        let count = if row.is_empty() {
            0
        } else {
            table.row_repeated.min(MAX_REPEATED)
        };
        let bytes: usize = row.iter().map(|value| value.len() + size_of::<String>()).sum();
        table.add(bytes * count)?;
        table.rows.extend(std::iter::repeat_n(row, count));
        self.bounds.check("")
    }

    fn end_table(&mut self) -> Result<(), DocumentError> {
        let Some(table) = self.tables.pop() else {
            return Ok(());
        };
        if let Some(outer) = self.tables.last_mut() {
            let rows: Vec<String> = table.rows.iter().map(|row| row.join(" ")).collect();
            outer.cell.push(' ');
            outer.cell.push_str(&rows.join(" "));
            return Ok(());
        }
        self.begin_slide("");
        table::write(&mut self.out, table.rows.into_iter().map(Ok), self.bounds)
    }

    fn style(&mut self, element: &Element<'_>) {
        if element.name() != "style:style" {
            return;
        }
        let parent = element.attribute("style:parent-style-name");
        if let (Some(name), Some(parent)) = (element.attribute("style:name"), parent) {
            self.parents.insert(name, parent);
        }
    }

    /// Whether a style, or what it is based on, has a name that begins with `name`.
    fn is_based_on(&self, style: &str, name: &str) -> bool {
        let mut style = style;
        // A style may be based on itself.
        for _ in 0..16 {
            if style.starts_with(name) {
                return true;
            }
            match self.parents.get(style) {
                Some(parent) => style = parent,
                None => return false,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests;
