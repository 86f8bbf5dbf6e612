//! The readable part of a saved HTML page.

use std::borrow::Cow;
use std::rc::Rc;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Node, NodeData, RcDom};

use super::page::Found;

/// How far into a page its encoding has to be declared (HTML Standard, 4.2.5.4).
const DECLARATION_BYTES: usize = 1024;
/// A `<main>` shorter than this, in characters, is a frame that a script would have filled: the whole body is read.
const SHORTEST_MAIN: usize = 200;

/// Elements that hold no text of the page: code, frames, and what surrounds the content.
const SKIPPED: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "nav", "footer", "aside",
    "button", "select", "textarea", "dialog", "head",
];
/// Elements whose text stands apart from what surrounds it.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "li",
    "main",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "tr",
    "ul",
];

/// Text of `bytes`: by byte order mark, as UTF-8 where they are, else by the encoding that the page declares.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if Encoding::for_bom(bytes).is_none() && std::str::from_utf8(bytes).is_err() {
        return declared(bytes).unwrap_or(WINDOWS_1252).decode(bytes).0;
    }
    UTF_8.decode(bytes).0
}

fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(DECLARATION_BYTES)].to_ascii_lowercase();
    let at = head.windows(8).position(|window| window == b"charset=")? + 8;
    let label: Vec<u8> = head[at..]
        .iter()
        .copied()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
        .collect();
    Encoding::for_label(&label)
}

/// URL, title and text of a page. The text is that of `<main>`, where there is one, in blocks with blank lines between.
pub(super) fn read(content: &str) -> Found {
    let dom = parse_document(RcDom::default(), ParseOpts::default()).one(content);
    let mut head = Head::default();
    let mut main = None;
    walk(&dom.document, |node| {
        head.look_at(node);
        let is_main = is(node, "main") || attribute(node, "role").is_some_and(|role| role == "main");
        if main.is_none() && is_main {
            main = Some(Rc::clone(node));
        }
        true
    });
    let text = main
        .map(|main| text(&main))
        .filter(|text| text.chars().count() >= SHORTEST_MAIN);
    let heading = head.heading.map(|node| text_line(&node));
    Found {
        url: head.canonical.or(head.open_graph),
        title: head
            .title
            .filter(|title| !title.is_empty())
            .or(heading)
            .unwrap_or_default(),
        text: text.unwrap_or_else(|| self::text(&dom.document)),
    }
}

/// What a page says about itself.
#[derive(Default)]
struct Head {
    canonical: Option<String>,
    open_graph: Option<String>,
    title: Option<String>,
    heading: Option<Rc<Node>>,
}

impl Head {
    fn look_at(&mut self, node: &Rc<Node>) {
        if is(node, "link")
            && attribute(node, "rel").is_some_and(|rel| {
                rel.split_ascii_whitespace()
                    .any(|rel| rel.eq_ignore_ascii_case("canonical"))
            })
        {
            self.canonical = self.canonical.take().or_else(|| attribute(node, "href"));
        } else if is(node, "meta") && attribute(node, "property").is_some_and(|property| property == "og:url") {
            self.open_graph = self.open_graph.take().or_else(|| attribute(node, "content"));
        } else if is(node, "title") && self.title.is_none() {
            self.title = Some(text_line(node));
        } else if is(node, "h1") && self.heading.is_none() {
            self.heading = Some(Rc::clone(node));
        }
    }
}

/// Visits `root` and what is in it, in order; children only where `visit` says so. Without recursion: how deep a saved
/// page nests is up to whoever wrote it.
fn walk(root: &Rc<Node>, mut visit: impl FnMut(&Rc<Node>) -> bool) {
    let mut stack = vec![Rc::clone(root)];
    while let Some(node) = stack.pop() {
        if visit(&node) {
            stack.extend(node.children.borrow().iter().rev().cloned());
        }
    }
}

fn tag(node: &Node) -> Option<&str> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        _ => None,
    }
}

fn is(node: &Node, name: &str) -> bool {
    tag(node) == Some(name)
}

fn attribute(node: &Node, name: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    attrs
        .borrow()
        .iter()
        .find(|attribute| &*attribute.name.local == name)
        .map(|attribute| attribute.value.to_string())
}

/// The text of `node` on one line.
fn text_line(node: &Rc<Node>) -> String {
    let mut found = String::new();
    walk(node, |node| {
        if let NodeData::Text { contents } = &node.data {
            found.push_str(&contents.borrow());
        }
        true
    });
    found.split_whitespace().collect::<Vec<_>>().join(" ")
}

enum Step {
    Enter(Rc<Node>),
    LeaveBlock,
    LeavePre,
}

/// The text of `root` as a person reads it.
fn text(root: &Rc<Node>) -> String {
    let mut writer = Writer::default();
    let mut preformatted = 0_usize;
    let mut stack = vec![Step::Enter(Rc::clone(root))];
    while let Some(step) = stack.pop() {
        let node = match step {
            Step::Enter(node) => node,
            Step::LeaveBlock => {
                writer.block();
                continue;
            }
            Step::LeavePre => {
                preformatted -= 1;
                continue;
            }
        };
        if let NodeData::Text { contents } = &node.data {
            writer.text(&contents.borrow(), preformatted > 0);
            continue;
        }
        let name = tag(&node).unwrap_or_default();
        // A child may be the root of a skipped kind only where the caller asked for it.
        if !Rc::ptr_eq(&node, root) && (SKIPPED.contains(&name) || attribute(&node, "hidden").is_some()) {
            continue;
        }
        match name {
            "br" => writer.line(),
            "td" | "th" => writer.cell(),
            "li" => writer.item(),
            _ if BLOCKS.contains(&name) => writer.block(),
            _ => {}
        }
        if BLOCKS.contains(&name) {
            stack.push(Step::LeaveBlock);
        }
        if name == "pre" {
            preformatted += 1;
            stack.push(Step::LeavePre);
        }
        stack.extend(node.children.borrow().iter().rev().cloned().map(Step::Enter));
    }
    writer.written
}

/// Writes text with white space as a browser shows it.
#[derive(Default)]
struct Writer {
    written: String,
    gap: Gap,
    prefix: &'static str,
}

/// What stands between the last text and the next.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Space,
    Cell,
    Line,
    Block,
}

impl Writer {
    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn line(&mut self) {
        self.widen(Gap::Line);
    }

    fn block(&mut self) {
        self.widen(Gap::Block);
        self.prefix = "";
    }

    fn cell(&mut self) {
        self.widen(Gap::Cell);
    }

    fn item(&mut self) {
        self.widen(Gap::Block);
        self.prefix = "- ";
    }

    fn text(&mut self, text: &str, preformatted: bool) {
        if preformatted && !text.trim().is_empty() {
            self.push(text.trim_end());
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.widen(Gap::Space);
        }
        for (index, word) in text.split_whitespace().enumerate() {
            if index > 0 {
                self.widen(Gap::Space);
            }
            self.push(word);
        }
        if text.ends_with(char::is_whitespace) {
            self.widen(Gap::Space);
        }
    }

    fn push(&mut self, text: &str) {
        let gap = std::mem::take(&mut self.gap);
        if !self.written.is_empty() {
            self.written.push_str(match gap {
                Gap::None => "",
                Gap::Space => " ",
                Gap::Cell => " | ",
                Gap::Line => "\n",
                Gap::Block => "\n\n",
            });
        }
        self.written.push_str(std::mem::take(&mut self.prefix));
        self.written.push_str(text);
    }
}

#[cfg(test)]
mod tests;
