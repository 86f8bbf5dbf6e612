//! HTML to Markdown, without what is not the page's own text.

use emend_text::html::{self, Rules};

use super::{Extracted, FormatError};

/// Elements whose text is not prose, or belongs to the site and not to the page.
const RULES: Rules = Rules {
    skipped: &[
        "script", "style", "noscript", "template", "nav", "footer", "iframe", "object", "svg", "canvas", "form",
        "button", "select", "img",
    ],
    shown: false,
};

/// Converts a page.
pub(super) fn extract(html: &str) -> Result<Extracted, FormatError> {
    let page = html::read(html, RULES)?;
    Ok(Extracted {
        text: page.markdown,
        title: page.title,
        markdown: true,
    })
}

#[cfg(test)]
mod tests;
