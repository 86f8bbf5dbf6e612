//! HTML to Markdown, without what is not the page's own text.

use emend_text::html::{self, HtmlError, Limits, Rules};

use crate::{
    Extracted,
    bounds::{Bounds, MAX_TEXT_BYTES},
    error::DocumentError,
};

/// Elements whose text is not prose, or belongs to the site and not to the page.
const RULES: Rules = Rules {
    skipped: &[
        "script", "style", "noscript", "template", "nav", "footer", "iframe", "object", "svg", "canvas", "form",
        "button", "select", "img",
    ],
    shown: false,
};

/// Converts a page.
pub(crate) fn extract(html: &str, bounds: Bounds<'_>) -> Result<Extracted, DocumentError> {
    let limits = Limits {
        bytes: MAX_TEXT_BYTES,
        stop: &|| bounds.stopped().is_some(),
    };
    let page = html::read(html, RULES, limits).map_err(|error| match error {
        HtmlError::Stopped => bounds.stopped().unwrap_or(DocumentError::Stopped),
        error => DocumentError::Html(error),
    })?;
    Ok(Extracted {
        text: without_anchors(page.markdown),
        title: page.title,
        markdown: true,
        pages: Vec::new(),
    })
}

/// Drops links without a text to places within the page: `[](#line-1)`.
fn without_anchors(markdown: String) -> String {
    const ANCHOR: &str = "[](#";
    if !markdown.contains(ANCHOR) {
        return markdown;
    }
    let mut out = String::with_capacity(markdown.len());
    let mut rest = markdown.as_str();
    while let Some((before, after)) = rest.split_once(ANCHOR) {
        out.push_str(before);
        rest = match after.split_once(')') {
            Some((target, after)) if !target.contains(char::is_whitespace) => after,
            _ => {
                out.push_str(ANCHOR);
                after
            }
        };
    }
    out + rest
}

#[cfg(test)]
mod tests;
