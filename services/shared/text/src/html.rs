//! HTML as Markdown, with what a page says about itself.

mod nesting;

use std::{rc::Rc, thread};

use htmd::{
    Element, HtmlToMarkdown, Node,
    element_handler::{HandlerResult, Handlers},
};
use markup5ever_rcdom::NodeData;

/// Most elements around an element: the converter goes down into the page by recursion.
pub const MAX_DEPTH: usize = 512;
/// What may look deeper than it is before it is parsed: elements that nobody closes.
const MAX_PARSED_DEPTH: usize = 10_000;
/// Room for the recursion at [`MAX_DEPTH`].
const STACK_BYTES: usize = 64 << 20;
/// A `<main>` shorter than this, in characters, is a frame that a script would have filled: the whole body is read.
const MIN_MAIN_CHARS: usize = 200;

/// What of a page is read.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Elements that are left out with all that is in them, in lower case. `head` and `title` always are.
    pub skipped: &'static [&'static str],
    /// Whether the page is read as a browser shows its content: without hidden elements and the targets of links, and
    /// `<main>` alone where it holds the content.
    pub shown: bool,
}

/// A page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its first `<title>`, on one line; none where that is empty.
    pub title: Option<String>,
    /// Its first `<h1>`, on one line; none where that is empty.
    pub heading: Option<String>,
    /// Where it says that it is to be found: its canonical link, else its Open Graph URL, as written.
    pub url: Option<String>,
    /// Its content as Markdown.
    pub markdown: String,
}

/// Why a page cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HtmlError {
    /// More elements are nested than the converter can go down.
    #[error("its HTML is nested more than {MAX_DEPTH} elements deep: simplify it, or save it as plain text")]
    TooDeep,
    /// The converter failed.
    #[error("its HTML cannot be read: {0}")]
    Broken(String),
}

/// Reads a page, on a thread of its own with room for its depth. Blocks: a large page takes seconds.
///
/// # Errors
/// [`HtmlError::TooDeep`] for a page that nests more than [`MAX_DEPTH`] elements; a `<div>` that holds nothing but
/// another counts once with it.
pub fn read(html: &str, rules: Rules) -> Result<Page, HtmlError> {
    // The parser looks through all open elements for every one that it opens.
    if nesting::deeper_than(html, MAX_PARSED_DEPTH) {
        return Err(HtmlError::TooDeep);
    }
    thread::scope(|scope| {
        let converter = thread::Builder::new()
            .name("html".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || convert(html, rules))
            .map_err(|error| HtmlError::Broken(error.to_string()))?;
        let broke_off = |_| Err(HtmlError::Broken("the converter broke off".to_owned()));
        converter.join().unwrap_or_else(broke_off)
    })
}

fn convert(html: &str, rules: Rules) -> Result<Page, HtmlError> {
    let converter = converter(rules);
    let tree = converter
        .html_to_tree(html)
        .map_err(|error| HtmlError::Broken(error.to_string()))?;
    let mut head = Head::default();
    walk(&tree, |node, _| head.look_at(node));
    let mut main = None;
    let mut deepest = 0;
    walk(&tree, |node, depth| {
        deepest = deepest.max(depth);
        node.children.borrow_mut().retain(|child| !is_skipped(child, rules));
        unwrap_boxes(node);
        let is_main = || tag(node) == Some("main") || attribute(node, "role").is_some_and(|role| role == "main");
        if rules.shown && main.is_none() && is_main() {
            main = Some(Rc::clone(node));
        }
    });
    if deepest > MAX_DEPTH {
        return Err(HtmlError::TooDeep);
    }
    let main = main.map(|main| converter.tree_to_markdown(&main));
    let main = main.filter(|text| text.chars().count() >= MIN_MAIN_CHARS);
    Ok(Page {
        title: head.title.filter(|title| !title.is_empty()),
        heading: head.heading.filter(|heading| !heading.is_empty()),
        url: head.canonical.or(head.open_graph),
        markdown: main.unwrap_or_else(|| converter.tree_to_markdown(&tree)),
    })
}

fn converter(rules: Rules) -> HtmlToMarkdown {
    let mut builder = HtmlToMarkdown::builder().scripting_enabled(false);
    if rules.shown {
        let text = |handlers: &dyn Handlers, element: Element| Some(handlers.walk_children(element.node));
        builder = builder
            .add_handler(vec!["a"], text)
            .add_handler(vec!["pre"], preformatted);
    }
    builder.build()
}

/// As a code block whether it says that it is code or not: its lines and spaces are meant.
fn preformatted(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    if element
        .node
        .children
        .borrow()
        .iter()
        .any(|child| tag(child) == Some("code"))
    {
        return handlers.fallback(element);
    }
    let text = handlers.walk_children(element.node).content;
    let fence = "`".repeat(3.max(1 + text.split(|c| c != '`').map(str::len).max().unwrap_or(0)));
    let text = text.trim_matches('\n');
    Some(format!("\n\n{fence}\n{text}\n{fence}\n\n").into())
}

/// What a page says about itself.
#[derive(Default)]
struct Head {
    canonical: Option<String>,
    open_graph: Option<String>,
    title: Option<String>,
    heading: Option<String>,
}

impl Head {
    fn look_at(&mut self, node: &Rc<Node>) {
        let is_address = || attribute(node, "property").is_some_and(|property| property == "og:url");
        match tag(node) {
            Some("link") if self.canonical.is_none() && is_canonical(node) => self.canonical = attribute(node, "href"),
            Some("meta") if self.open_graph.is_none() && is_address() => {
                self.open_graph = attribute(node, "content");
            }
            // The first one: drawings inside the page may have titles of their own.
            Some("title") if self.title.is_none() => self.title = Some(line(node)),
            Some("h1") if self.heading.is_none() => self.heading = Some(line(node)),
            _ => {}
        }
    }
}

fn is_canonical(link: &Node) -> bool {
    let rel = attribute(link, "rel").unwrap_or_default();
    rel.split_ascii_whitespace()
        .any(|rel| rel.eq_ignore_ascii_case("canonical"))
}

/// Visits `root` and what is in it, in order, with the number of nodes around each; children as they are after the visit.
/// Without recursion: how deep a page nests is up to whoever wrote it.
fn walk(root: &Rc<Node>, mut visit: impl FnMut(&Rc<Node>, usize)) {
    let mut open = vec![(Rc::clone(root), 0)];
    while let Some((node, depth)) = open.pop() {
        visit(&node, depth);
        let children = node.children.borrow();
        open.extend(children.iter().rev().map(|child| (Rc::clone(child), depth + 1)));
    }
}

fn is_skipped(node: &Node, rules: Rules) -> bool {
    tag(node).is_some_and(|tag| matches!(tag, "head" | "title") || rules.skipped.contains(&tag))
        || (rules.shown && attribute(node, "hidden").is_some())
}

/// Takes out every `<div>` that is all that its parent, a `<div>` too, holds: it says nothing, and makes the page deep.
fn unwrap_boxes(node: &Rc<Node>) {
    while tag(node) == Some("div") {
        let only = match node.children.borrow().as_slice() {
            [only] if tag(only) == Some("div") => Rc::clone(only),
            _ => return,
        };
        let inner = only.children.take();
        for child in &inner {
            child.parent.set(Some(Rc::downgrade(node)));
        }
        node.children.replace(inner);
    }
}

fn tag(node: &Node) -> Option<&str> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        _ => None,
    }
}

fn attribute(node: &Node, name: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    let attrs = attrs.borrow();
    let found = attrs.iter().find(|attribute| &*attribute.name.local == name)?;
    Some(found.value.to_string())
}

/// The text of `node` on one line.
fn line(node: &Rc<Node>) -> String {
    let mut text = String::new();
    walk(node, |node, _| {
        if let NodeData::Text { contents } = &node.data {
            text.push_str(&contents.borrow());
        }
    });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
