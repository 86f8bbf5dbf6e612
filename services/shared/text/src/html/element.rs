//! What the reader knows of each element of HTML.

/// The name of an element, in lower case. Two names are told apart by their first sixteen bytes, which is more than any
/// name of the standard has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(u128);

impl Name {
    pub(super) const P: Self = Self::of("p");
    pub(super) const LI: Self = Self::of("li");
    pub(super) const DD: Self = Self::of("dd");
    pub(super) const DT: Self = Self::of("dt");
    pub(super) const DIV: Self = Self::of("div");
    pub(super) const A: Self = Self::of("a");
    pub(super) const OPTION: Self = Self::of("option");
    pub(super) const MAIN: Self = Self::of("main");

    pub(super) const fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        let (mut value, mut at) = (0, 0);
        while at < bytes.len() && at < 16 {
            value = value << 8 | bytes[at] as u128;
            at += 1;
        }
        Self(value)
    }
}

/// What an element does to the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    Inline,
    /// Its text stands apart from what is around it.
    Block,
    /// As a block, and a paragraph cannot hold it. Most blocks are such.
    Section,
    Heading(usize),
    Emphasis(&'static str),
    Code,
    Link,
    Preformatted,
    Quote,
    List {
        numbered: bool,
    },
    Item,
    Table,
    /// `<thead>`, `<tbody>` or `<tfoot>`.
    RowGroup,
    Row,
    Cell {
        header: bool,
    },
    Caption,
    LineBreak,
    Rule,
    /// An element without an end that says nothing.
    Void,
    /// `<svg>` or `<math>`: within it an element may end itself.
    Foreign,
    /// `<html>`, `<head>` or `<body>`: whether and where they are written says nothing.
    Frame,
}

impl Kind {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "html" | "head" | "body" => Self::Frame,
            "h1" => Self::Heading(1),
            "h2" => Self::Heading(2),
            "h3" => Self::Heading(3),
            "h4" => Self::Heading(4),
            "h5" => Self::Heading(5),
            "h6" => Self::Heading(6),
            "strong" | "b" => Self::Emphasis("**"),
            "em" | "i" => Self::Emphasis("*"),
            "code" => Self::Code,
            "a" => Self::Link,
            "pre" => Self::Preformatted,
            "blockquote" => Self::Quote,
            "ol" => Self::List { numbered: true },
            "ul" => Self::List { numbered: false },
            "li" => Self::Item,
            "table" => Self::Table,
            "thead" | "tbody" | "tfoot" => Self::RowGroup,
            "tr" => Self::Row,
            "td" => Self::Cell { header: false },
            "th" => Self::Cell { header: true },
            "caption" => Self::Caption,
            "br" => Self::LineBreak,
            "hr" => Self::Rule,
            "area" | "base" | "basefont" | "bgsound" | "col" | "embed" | "frame" | "img" | "input" | "link"
            | "meta" | "param" | "source" | "track" | "wbr" => Self::Void,
            "svg" | "math" => Self::Foreign,
            "address" | "article" | "aside" | "center" | "details" | "dialog" | "dir" | "div" | "dl" | "dt" | "dd"
            | "fieldset" | "figcaption" | "figure" | "footer" | "form" | "header" | "hgroup" | "main" | "menu"
            | "nav" | "p" | "search" | "section" | "summary" => Self::Section,
            "colgroup" | "frameset" | "iframe" | "legend" | "menuitem" | "noframes" | "optgroup" | "option"
            | "script" | "style" | "textarea" | "title" => Self::Block,
            _ => Self::Inline,
        }
    }

    /// Whether it ends a paragraph that is open.
    pub(super) fn ends_paragraph(self) -> bool {
        matches!(
            self,
            Self::Section
                | Self::Heading(_)
                | Self::Preformatted
                | Self::Quote
                | Self::List { .. }
                | Self::Item
                | Self::Table
                | Self::Rule
        )
    }

    /// Whether it may stand in the middle of a line.
    pub(super) fn is_inline(self) -> bool {
        matches!(self, Self::Inline | Self::Emphasis(_) | Self::Code | Self::Link)
    }
}

/// Whether the end of an element outside of `name` does not reach into it: a `</div>` in a cell ends no `<div>` around
/// the table.
pub(super) fn is_barrier(name: &str) -> bool {
    matches!(
        name,
        "td" | "th" | "caption" | "table" | "template" | "object" | "marquee" | "applet" | "button" | "foreignobject"
    )
}

/// Whether the element ends a drawing or formula that it stands in: nobody closed that.
pub(super) fn ends_foreign(name: &str) -> bool {
    matches!(
        name,
        "b" | "big"
            | "blockquote"
            | "body"
            | "br"
            | "center"
            | "code"
            | "dd"
            | "div"
            | "dl"
            | "dt"
            | "em"
            | "embed"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "head"
            | "hr"
            | "i"
            | "img"
            | "li"
            | "menu"
            | "meta"
            | "nobr"
            | "ol"
            | "p"
            | "pre"
            | "ruby"
            | "s"
            | "small"
            | "span"
            | "strong"
            | "strike"
            | "sub"
            | "sup"
            | "table"
            | "tt"
            | "u"
            | "ul"
            | "var"
    )
}
