//! Word, PowerPoint and Excel, in the formats of 2007 and of before.

use undoc::model::{Block, Document, ListType, Paragraph, RevisionType, Section, Table, TextRun};

use crate::{
    Extracted, PageStart,
    bounds::{Bounds, MAX_COLUMNS, MAX_PAGES},
    error::DocumentError,
    format::Format,
    markdown::{Markdown, one_line},
    package::Package,
    table,
};

/// Significant digits of a number that was stored in binary: what comes after them is not the number.
const SIGNIFICANT_DIGITS: usize = 15;

/// Reads a document, a presentation or a workbook.
pub(crate) fn extract(format: Format, bytes: &[u8], bounds: Bounds<'_>) -> Result<Extracted, DocumentError> {
    if format.is_package() {
        Package::within_bounds(format, bytes, bounds)?;
    }
    let document = undoc::parse_bytes(bytes).map_err(|error| match error {
        undoc::Error::Encrypted => DocumentError::Encrypted,
        error => DocumentError::Broken {
            format,
            reason: one_line(&error.to_string()),
        },
    })?;
    bounds.check("")?;
    if document.sections.len() > MAX_PAGES {
        return Err(DocumentError::TooMany {
            what: "sections",
            limit: MAX_PAGES,
        });
    }
    let mut out = Markdown::default();
    let mut pages = Vec::new();
    for (number, section) in (1_u32..).zip(&document.sections) {
        match format {
            Format::Pptx | Format::Ppt => {
                pages.push(PageStart {
                    number,
                    start: out.next_start(),
                });
                slide(&mut out, number, section, bounds)?;
            }
            Format::Xlsx | Format::Xls => {
                out.heading(1, section.name.as_deref().unwrap_or_default());
                blocks(&mut out, section, 0, bounds)?;
            }
            _ => blocks(&mut out, section, 0, bounds)?,
        }
        bounds.check(out.text())?;
    }
    let first_slide = || {
        document
            .sections
            .first()
            .filter(|_| !pages.is_empty())
            .and_then(slide_heading)
    };
    Ok(Extracted {
        text: out.finish(),
        title: title(&document).or_else(first_slide),
        markdown: true,
        pages,
    })
}

/// The title that the author gave. Names of templates and files, which programs fill in, are not titles.
fn title(document: &Document) -> Option<String> {
    let title = one_line(document.metadata.title.as_deref()?);
    let is_filler = title.is_empty()
        || title.eq_ignore_ascii_case("PowerPoint Presentation")
        || title.to_ascii_lowercase().starts_with("microsoft ");
    (!is_filler).then_some(title)
}

fn slide_heading(section: &Section) -> Option<String> {
    let heading = section.content.iter().find_map(|block| match block {
        Block::Paragraph(part) if part.heading.is_heading() => Some(one_line(&part.plain_text())),
        _ => None,
    });
    heading.filter(|heading| !heading.is_empty())
}

fn slide(out: &mut Markdown, number: u32, section: &Section, bounds: Bounds<'_>) -> Result<(), DocumentError> {
    let heading = slide_heading(section);
    out.heading(
        1,
        &heading.as_ref().map_or_else(
            || format!("Slide {number}"),
            |heading| format!("Slide {number}: {heading}"),
        ),
    );
    blocks(out, section, usize::from(heading.is_some()), bounds)?;
    for (index, note) in section.notes.iter().flatten().enumerate() {
        let label = if index == 0 { "Notes: " } else { "" };
        let text = text(note);
        if !text.trim().is_empty() {
            out.paragraph(&format!("{label}{text}"));
        }
    }
    Ok(())
}

/// Writes the blocks of a section without its first `skipped` headings.
fn blocks(out: &mut Markdown, section: &Section, skipped: usize, bounds: Bounds<'_>) -> Result<(), DocumentError> {
    let mut skipped = skipped;
    for block in &section.content {
        match block {
            Block::Paragraph(part) if skipped > 0 && part.heading.is_heading() => skipped -= 1,
            Block::Paragraph(part) => paragraph(out, part),
            Block::Table(part) => table::write(out, rows(part)?.into_iter().map(Ok), bounds)?,
            Block::Note { label, content } => {
                let content: Vec<String> = content.iter().map(text).collect();
                out.paragraph(&format!("[{label}] {}", content.join("\n")));
            }
            Block::PageBreak | Block::SectionBreak | Block::Image { .. } => {}
        }
        bounds.check(out.text())?;
    }
    Ok(())
}

fn paragraph(out: &mut Markdown, part: &Paragraph) {
    if part.heading.is_heading() {
        out.heading(usize::from(part.heading.level()), &part.plain_text());
    } else if let Some(list) = part.list_info.as_ref().filter(|list| list.list_type != ListType::None) {
        let number = list.number.filter(|_| list.list_type == ListType::Numbered);
        out.item(usize::from(list.level), number, &text(part));
    } else if part.runs.iter().any(|run| run.style.code) && part.runs.iter().all(is_code_or_blank) {
        let code: String = part
            .runs
            .iter()
            .map(|run| format!("{}{}", run.text, line_break(run)))
            .collect();
        let code = code.trim_matches('\n');
        if code.contains('\n') {
            out.code(code);
        } else {
            out.paragraph(&text(part));
        }
    } else {
        out.paragraph(&text(part));
    }
}

fn is_code_or_blank(run: &TextRun) -> bool {
    run.style.code || run.text.trim().is_empty()
}

fn line_break(run: &TextRun) -> &'static str {
    if run.line_break { "\n" } else { "" }
}

/// The text of a paragraph. Code and links are marked; emphasis is not, for it breaks quotations up.
fn text(part: &Paragraph) -> String {
    let mut out = String::new();
    let mut runs = part
        .runs
        .iter()
        .filter(|run| run.revision != RevisionType::Deleted)
        .peekable();
    while let Some(run) = runs.next() {
        // Programs cut a word or a link into several runs.
        let mut text = run.text.clone();
        let mut broken = line_break(run);
        while let Some(next) = runs.next_if(|next| {
            let is_same_link = run.hyperlink.is_some() || next.style.code == run.style.code;
            broken.is_empty() && is_same_link && next.hyperlink == run.hyperlink
        }) {
            text.push_str(&next.text);
            broken = line_break(next);
        }
        match &run.hyperlink {
            Some(url) if is_worth_showing(url, &text) => out.push_str(&format!("[{}]({url})", text.trim())),
            _ if run.style.code && !text.trim().is_empty() => out.push_str(&format!("`{text}`")),
            _ => out.push_str(&text),
        }
        out.push_str(broken);
    }
    out
}

/// Whether the target of a link says more than its text.
fn is_worth_showing(url: &str, text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && !url.starts_with('#')
        && url.trim_start_matches("mailto:").trim_end_matches('/') != text.trim_end_matches('/')
}

/// The values of a table, each at its column. The value of a cell that spans rows stands in each of them.
fn rows(part: &Table) -> Result<Vec<Vec<String>>, DocumentError> {
    let columns = part.cell_columns();
    let mut rows: Vec<Vec<String>> = vec![Vec::new(); part.rows.len()];
    for (index, (row, columns)) in part.rows.iter().zip(&columns).enumerate() {
        for (cell, column) in row.cells.iter().zip(columns) {
            if *column >= MAX_COLUMNS {
                return Err(DocumentError::TooMany {
                    what: "columns",
                    limit: MAX_COLUMNS,
                });
            }
            let paragraphs: Vec<String> = cell.content.iter().map(text).collect();
            let nested: Vec<String> = cell.nested_tables.iter().map(Table::plain_text).collect();
            let value = tidy_number([paragraphs, nested].concat().join(" "));
            if value.is_empty() {
                continue;
            }
            let spanned = (cell.row_span.max(1) as usize).min(part.rows.len() - index);
            for row in rows.iter_mut().skip(index).take(spanned) {
                if row.len() <= *column {
                    row.resize(*column + 1, String::new());
                }
                if let Some(place) = row.get_mut(*column) {
                    place.clone_from(&value);
                }
            }
        }
    }
    Ok(rows)
}

/// A number without the digits that come from its binary form: 64.9 in place of 64.90000000000001.
fn tidy_number(value: String) -> String {
    let is_long = value.len() > SIGNIFICANT_DIGITS && value.contains('.');
    let number = value.parse::<f64>().ok().filter(|number| is_long && number.is_finite());
    let Some(number) = number else {
        return value;
    };
    let rounded = format!("{number:.*e}", SIGNIFICANT_DIGITS - 1);
    rounded.parse::<f64>().map_or(value, |number| number.to_string())
}

#[cfg(test)]
mod tests;
