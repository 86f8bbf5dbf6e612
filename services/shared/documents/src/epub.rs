//! EPUB, chapter by chapter.

use std::collections::HashMap;

use crate::{
    Extracted,
    bounds::{Bounds, MAX_PARTS},
    error::DocumentError,
    format::Format,
    html,
    markdown::{Markdown, one_line},
    package::Package,
    xml::{self, Node},
};

const FORMAT: Format = Format::Epub;
/// The part that names the part that lists the chapters.
const CONTAINER: &str = "META-INF/container.xml";

/// Reads the chapters in their order.
pub(crate) fn extract(bytes: &[u8], bounds: Bounds<'_>) -> Result<Extracted, DocumentError> {
    let mut package = Package::within_bounds(FORMAT, bytes, bounds)?;
    let container = part(&mut package, CONTAINER)?;
    let mut root = None;
    xml::walk(FORMAT, &container, bounds, |node| {
        if let Node::Open(element) = node
            && element.name().ends_with("rootfile")
            && root.is_none()
        {
            root = element.attribute("full-path");
        }
        Ok(())
    })?;
    let root = root.ok_or_else(|| broken(format!("{CONTAINER} names no root file")))?;
    let book = contents(&part(&mut package, &root)?, bounds)?;
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut out = Markdown::default();
    for chapter in book.chapters {
        let path = resolved(folder, &chapter);
        let Some(text) = package.text(FORMAT, &path)? else {
            continue;
        };
        out.raw(html::extract(&text, bounds)?.text.trim());
        bounds.check(out.text())?;
    }
    Ok(Extracted {
        text: out.finish(),
        title: book.title,
        markdown: true,
        ..Extracted::default()
    })
}

struct Book {
    title: Option<String>,
    /// The parts with text, in the order of reading, as written.
    chapters: Vec<String>,
}

fn contents(root: &str, bounds: Bounds<'_>) -> Result<Book, DocumentError> {
    let mut parts: HashMap<String, String> = HashMap::new();
    let mut order = Vec::new();
    let (mut title, mut is_in_title) = (String::new(), false);
    xml::walk(FORMAT, root, bounds, |node| {
        match node {
            Node::Open(element) => match local(element.name()) {
                "item" => {
                    let properties = element.attribute("properties").unwrap_or_default();
                    let is_contents = properties.split_whitespace().any(|property| property == "nav");
                    if let (Some(id), Some(href), false) =
                        (element.attribute("id"), element.attribute("href"), is_contents)
                    {
                        parts.insert(id, href);
                    }
                }
                "itemref" => order.extend(element.attribute("idref")),
                "title" if title.is_empty() => is_in_title = true,
                _ => {}
            },
            Node::Close(name) if local(name) == "title" => is_in_title = false,
            Node::Text(text) if is_in_title => title.push_str(&text),
            _ => {}
        }
        Ok(())
    })?;
    if order.len() > MAX_PARTS {
        return Err(DocumentError::TooMany {
            what: "chapters",
            limit: MAX_PARTS,
        });
    }
    Ok(Book {
        title: Some(one_line(&title)).filter(|title| !title.is_empty()),
        // A part that is named twice is read once.
        chapters: order.iter().filter_map(|id| parts.remove(id)).collect(),
    })
}

fn part(package: &mut Package<'_>, name: &str) -> Result<String, DocumentError> {
    let part = package.text(FORMAT, name)?;
    part.ok_or_else(|| broken(format!("it has no part {name}")))
}

fn broken(reason: String) -> DocumentError {
    DocumentError::Broken { format: FORMAT, reason }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// A part's name from an address within the part that lists it.
fn resolved(folder: &str, address: &str) -> String {
    let address = address.split('#').next().unwrap_or(address);
    let mut path: Vec<String> = folder
        .split('/')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    for part in address.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            part => path.push(percent_decoded(part)),
        }
    }
    path.join("/")
}

fn percent_decoded(part: &str) -> String {
    let bytes = part.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = part.get(at + 1..at + 3).filter(|_| *byte == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests;
