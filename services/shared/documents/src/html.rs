//! HTML to Markdown, without what is not the page's own text.

use emend_text::html::{self, HtmlError, Rules};

use crate::Extracted;

/// Elements whose text is not prose, or belongs to the site and not to the page.
const RULES: Rules = Rules {
    skipped: &[
        "script", "style", "noscript", "template", "nav", "footer", "iframe", "object", "svg", "canvas", "form",
        "button", "select", "img",
    ],
    shown: false,
};

/// Converts a page.
pub(crate) fn extract(html: &str) -> Result<Extracted, HtmlError> {
    let page = html::read(html, RULES)?;
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
