//! E-mail messages.

use mail_parser::{Address, MessageParser, MimeHeaders, PartType};

use crate::{
    Extracted,
    bounds::{Bounds, MAX_PARTS},
    content,
    error::DocumentError,
    format::Format,
    html,
    markdown::one_line,
};

/// Most addresses that are written down of one field.
const MAX_ADDRESSES: usize = 50;
/// Most attachments whose names are written down.
const MAX_ATTACHMENTS: usize = 100;

/// Reads subject, addresses, date, and the body: as text where there is one, else from HTML. Attachments are named and
/// not read.
pub(crate) fn extract(bytes: &[u8], bounds: Bounds<'_>) -> Result<Extracted, DocumentError> {
    if bytes.contains(&0) {
        return Err(content::unreadable(bytes));
    }
    let broken = |reason: &str| DocumentError::Broken {
        format: Format::Email,
        reason: reason.to_owned(),
    };
    let message = MessageParser::default()
        .parse(bytes)
        .ok_or_else(|| broken("it has no header"))?;
    if message.parts.len() > MAX_PARTS {
        return Err(DocumentError::TooMany {
            what: "parts",
            limit: MAX_PARTS,
        });
    }
    let subject = message.subject().map(one_line).filter(|subject| !subject.is_empty());
    let fields = [
        ("Subject", subject.clone()),
        ("From", message.from().map(addresses)),
        ("To", message.to().map(addresses)),
        ("Cc", message.cc().map(addresses)),
        ("Date", message.date().map(|date| date.to_rfc3339().replace('T', " "))),
    ];
    let mut text = String::new();
    for (name, value) in fields {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text.push_str(&format!("{name}: {value}\n"));
        }
    }
    if text.is_empty() {
        return Err(broken("it has neither a subject nor a sender"));
    }
    for part in message.text_bodies() {
        let body = match &part.body {
            PartType::Text(body) => body.replace("\r\n", "\n"),
            PartType::Html(body) => html::extract(body, bounds)?.text,
            _ => continue,
        };
        let body = body.trim();
        if !body.is_empty() {
            text.push('\n');
            text.push_str(body);
            text.push('\n');
        }
        bounds.check(&text)?;
    }
    let names: Vec<String> = message
        .attachments()
        .filter_map(|part| part.attachment_name().map(one_line))
        .take(MAX_ATTACHMENTS)
        .collect();
    if !names.is_empty() {
        text.push_str(&format!("\nAttachments: {}\n", names.join(", ")));
    }
    Ok(Extracted {
        text,
        title: subject,
        ..Extracted::default()
    })
}

fn addresses(field: &Address<'_>) -> String {
    let written: Vec<String> = field
        .iter()
        .take(MAX_ADDRESSES)
        .map(|one| {
            let address = one.address.as_deref().unwrap_or_default();
            match one.name.as_deref() {
                Some(name) if address.is_empty() => one_line(name),
                Some(name) => format!("{} <{address}>", one_line(name)),
                None => address.to_owned(),
            }
        })
        .collect();
    written.join(", ")
}

#[cfg(test)]
mod tests;
