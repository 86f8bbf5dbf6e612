//! PDF, page by page.

use std::{collections::HashMap, ops::ControlFlow};

use unpdf::{
    Document, Error, PageStreamOptions, ParseEvent, ParseOptions, PdfParser, RenderOptions, render::to_markdown,
};

use crate::{
    Extracted, PageStart,
    bounds::{Bounds, MAX_PAGES},
    error::DocumentError,
    format::Format,
    markdown::{Markdown, one_line},
};

/// A line is the head or the foot of the pages where it stands on this many of them at least, and on most.
const MIN_RUNNING_PAGES: usize = 3;
/// Longest line, in bytes, that is looked at as head or foot.
const MAX_RUNNING_BYTES: usize = 200;

/// Reads the pages, each under a heading with its number; the headings of the document are below it.
pub(crate) fn extract(bytes: &[u8], bounds: Bounds<'_>) -> Result<Extracted, DocumentError> {
    let parser = PdfParser::from_bytes_with_options(bytes, ParseOptions::new().sequential()).map_err(error)?;
    let count = parser.page_count() as usize;
    if count > MAX_PAGES {
        return Err(DocumentError::TooMany {
            what: "pages",
            limit: MAX_PAGES,
        });
    }
    let options = PageStreamOptions {
        parallel: false,
        emit_progress_every: u32::MAX,
        ..PageStreamOptions::default()
    };
    let mut title = None;
    let mut read: Vec<(u32, String)> = Vec::new();
    let mut length = 0;
    let mut failed: Option<DocumentError> = None;
    let render = RenderOptions {
        escape_special_chars: false,
        ..RenderOptions::default()
    };
    let streamed = parser.for_each_page(options, |event| {
        let outcome = match event {
            ParseEvent::DocumentStart { metadata, .. } => {
                title = metadata.title.as_deref().and_then(own_title);
                Ok(())
            }
            ParseEvent::PageParsed(page) => {
                let number = page.number;
                let mut document = Document::new();
                document.add_page(page);
                to_markdown(&document, &render).map_err(error).map(|text| {
                    length += text.len();
                    read.push((number, without_pictures(&text)));
                })
            }
            // The others are worth reading.
            ParseEvent::PageFailed { .. } | ParseEvent::Progress { .. } | ParseEvent::DocumentEnd { .. } => Ok(()),
        };
        match outcome.and_then(|()| bounds.check_length(length)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    if let Some(failed) = failed {
        return Err(failed);
    }
    streamed.map_err(error)?;
    if read.iter().all(|(_, text)| text.trim().is_empty()) {
        return Err(match count {
            0 => DocumentError::Broken {
                format: Format::Pdf,
                reason: "it has no pages".to_owned(),
            },
            pages => DocumentError::Scanned { pages },
        });
    }
    drop_running_lines(&mut read);
    let title = title.or_else(|| first_heading(&read));
    let mut out = Markdown::default();
    let mut pages = Vec::new();
    for (number, text) in &read {
        if text.trim().is_empty() {
            continue;
        }
        pages.push(PageStart {
            number: *number,
            start: out.next_start(),
        });
        out.heading(1, &format!("Page {number}"));
        out.raw(&below(text));
    }
    Ok(Extracted {
        text: out.finish(),
        title,
        markdown: true,
        pages,
    })
}

fn error(error: Error) -> DocumentError {
    match error {
        Error::Encrypted | Error::InvalidPassword => DocumentError::Encrypted,
        error => DocumentError::Broken {
            format: Format::Pdf,
            reason: one_line(&error.to_string()),
        },
    }
}

/// The title in the properties; programs fill in the names of files, which are none.
fn own_title(title: &str) -> Option<String> {
    let title = one_line(title);
    let lower = title.to_lowercase();
    let is_filler = lower.is_empty()
        || lower == "untitled"
        || lower.starts_with("microsoft ")
        || [".doc", ".docx", ".pdf", ".tex", ".dvi", ".indd", ".pptx", ".xlsx"]
            .iter()
            .any(|extension| lower.ends_with(extension));
    (!is_filler).then_some(title)
}

fn without_pictures(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("![")).collect();
    lines.join("\n").trim().to_owned()
}

/// The first heading of the first page with text.
fn first_heading(pages: &[(u32, String)]) -> Option<String> {
    let (_, text) = pages.iter().find(|(_, text)| !text.trim().is_empty())?;
    let heading = text.lines().find(|line| line.starts_with('#'))?;
    Some(one_line(heading.trim_start_matches('#'))).filter(|heading| !heading.is_empty())
}

/// Headings one level further down.
fn below(text: &str) -> String {
    let mut fenced = false;
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            fenced ^= line.trim_start().starts_with("```");
            let is_heading = !fenced && line.starts_with('#') && !line.starts_with("######");
            if is_heading {
                format!("#{line}")
            } else {
                line.to_owned()
            }
        })
        .collect();
    lines.join("\n")
}

/// Drops the lines at the top and at the bottom of the pages that stand on most of them, whatever their page number.
fn drop_running_lines(pages: &mut [(u32, String)]) {
    for is_head in [true, false] {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (_, text) in pages.iter() {
            if let Some(line) = outer_line(text, is_head) {
                *counts.entry(without_digits(line)).or_default() += 1;
            }
        }
        let most = pages.len() / 2;
        counts.retain(|_, count| *count >= MIN_RUNNING_PAGES && *count > most);
        if counts.is_empty() {
            continue;
        }
        for (_, text) in pages.iter_mut() {
            let Some(line) = outer_line(text, is_head).filter(|line| counts.contains_key(&without_digits(line))) else {
                continue;
            };
            let length = text.len() - line.len();
            *text = if is_head {
                text.get(line.len()..).unwrap_or_default().trim_start().to_owned()
            } else {
                text.get(..length).unwrap_or_default().trim_end().to_owned()
            };
        }
    }
}

fn outer_line(text: &str, is_head: bool) -> Option<&str> {
    let line = if is_head {
        text.lines().next()
    } else {
        text.lines().last()
    };
    line.filter(|line| !line.trim().is_empty() && line.len() <= MAX_RUNNING_BYTES && !line.starts_with('|'))
}

fn without_digits(line: &str) -> String {
    line.chars().map(|c| if c.is_numeric() { '0' } else { c }).collect()
}

#[cfg(test)]
mod tests;
