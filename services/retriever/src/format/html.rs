//! HTML to Markdown, without what is not the page's own text.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use htmd::element_handler::Handlers;
use htmd::{Element, HtmlToMarkdown, Node};

use super::{Extracted, FormatError, nesting};

/// Elements whose text is not prose, or belongs to the site and not to the page.
const SKIPPED: [&str; 14] = [
    "script", "style", "noscript", "template", "nav", "footer", "iframe", "object", "svg", "canvas", "form", "button",
    "select", "img",
];

/// The converter goes down into the page by recursion.
const MAX_DEPTH: usize = 512;
/// What may look deeper than it is before it is parsed: elements that nobody closes.
const MAX_PARSED_DEPTH: usize = 10_000;
const STACK_BYTES: usize = 64 << 20;

/// Converts a page on a thread with room for its depth.
pub(super) fn extract(html: &str) -> Result<Extracted, FormatError> {
    let failed = |detail: String| FormatError::Html { detail };
    std::thread::scope(|scope| {
        let converter = std::thread::Builder::new()
            .name("html".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || convert(html))
            .map_err(|error| failed(error.to_string()))?;
        converter
            .join()
            .unwrap_or_else(|_| Err(failed("the converter broke off".to_owned())))
    })
}

fn convert(html: &str) -> Result<Extracted, FormatError> {
    let title = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&title);
    let converter = HtmlToMarkdown::builder()
        .skip_tags(SKIPPED.to_vec())
        .add_handler(vec!["title"], move |handlers: &dyn Handlers, element: Element| {
            let text = handlers.walk_children(element.node).content;
            // The first one: drawings inside the page may have titles of their own.
            seen.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
            None
        })
        .scripting_enabled(false)
        .build();
    // The parser looks through all open elements for every one that it opens.
    if nesting::deeper_than(html, MAX_PARSED_DEPTH) {
        return Err(FormatError::TooDeep { limit: MAX_DEPTH });
    }
    let tree = converter.html_to_tree(html).map_err(|error| FormatError::Html {
        detail: error.to_string(),
    })?;
    if deeper_than(&tree, MAX_DEPTH) {
        return Err(FormatError::TooDeep { limit: MAX_DEPTH });
    }
    let text = converter.tree_to_markdown(&tree);
    let title = title.lock().unwrap_or_else(PoisonError::into_inner).take();
    let title = title
        .map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|title| !title.is_empty());
    Ok(Extracted {
        text,
        title,
        markdown: true,
    })
}

/// Whether any element has more than `limit` around it; without recursion.
fn deeper_than(tree: &Rc<Node>, limit: usize) -> bool {
    let mut open = vec![(Rc::clone(tree), 0)];
    while let Some((node, depth)) = open.pop() {
        if depth > limit {
            return true;
        }
        open.extend(node.children.borrow().iter().map(|child| (Rc::clone(child), depth + 1)));
    }
    false
}

#[cfg(test)]
mod tests;
