//! What the beginnings and ends of elements do to the text.

use super::{Main, Reader, tag::StartTag, tag::language};
use crate::html::{
    HtmlError,
    element::Kind,
    open::{End, Open},
};

/// How deep items and quotations are indented, those within others together, and how deep emphasis and links are marked.
/// Each of them writes its text again.
const MAX_MARKS: usize = 8;
/// Most cells of a table.
const MAX_CELLS: usize = 1_000_000;

impl Reader<'_> {
    /// Begins an element that is read.
    pub(super) fn begin(&mut self, kind: Kind, tag: &StartTag) -> Result<End, HtmlError> {
        let writer = &mut self.writer;
        let can_mark = self.marks < MAX_MARKS;
        Ok(match kind {
            Kind::Emphasis(mark) if can_mark => {
                self.marks += 1;
                let (start, continued) = writer.begin_emphasis(mark);
                End::Emphasis { mark, start, continued }
            }
            Kind::Link if can_mark => match &tag.href {
                Some(target) => {
                    self.marks += 1;
                    End::Link {
                        start: writer.start(),
                        target: target.clone(),
                        title: tag.title.clone(),
                    }
                }
                None => End::Nothing,
            },
            Kind::Code => match self.stack.top_mut().map(|top| &mut top.end) {
                Some(End::Preformatted {
                    language: outer,
                    is_fenced,
                    ..
                }) => {
                    *is_fenced = true;
                    let own = language(tag.class.as_deref());
                    let language = if own.is_empty() { outer.clone() } else { own };
                    End::Fence {
                        start: writer.start(),
                        language,
                    }
                }
                _ => {
                    writer.enter_code();
                    End::Code { start: writer.start() }
                }
            },
            Kind::Block | Kind::Section => {
                writer.end_block();
                End::Block
            }
            Kind::Heading(level) => {
                writer.end_block();
                End::Heading {
                    level,
                    start: writer.start(),
                }
            }
            Kind::Preformatted => {
                writer.end_block();
                writer.enter_lines();
                self.after_pre = true;
                End::Preformatted {
                    start: writer.start(),
                    language: language(tag.class.as_deref()),
                    is_fenced: false,
                }
            }
            Kind::Quote if can_mark => {
                self.marks += 1;
                writer.end_block();
                End::Quote(writer.begin_part(""))
            }
            Kind::List { numbered } => {
                let is_nested = self.stack.top().is_some_and(|top| top.kind == Kind::Item);
                writer.end_lines(if is_nested { 1 } else { 2 });
                let next = if numbered { tag.first.unwrap_or(1).max(1) } else { 0 };
                End::List { next, is_nested }
            }
            Kind::Item => {
                let mut marker = "*   ".to_owned();
                if let Some(End::List { next, .. }) = self.stack.list().map(|list| &mut list.end)
                    && *next > 0
                {
                    marker = format!("{next}.  ");
                    *next = next.saturating_add(1);
                }
                writer.end_lines(1);
                if can_mark {
                    self.marks += 1;
                    End::Item(writer.begin_part(&marker))
                } else {
                    End::Block
                }
            }
            Kind::Table => {
                self.tables += 1;
                writer.end_block();
                End::Table
            }
            Kind::RowGroup | Kind::Row if self.tables == 1 => {
                match kind {
                    Kind::RowGroup if tag.name == "thead" => self.table.set_header(),
                    _ => {}
                }
                self.table.begin_row();
                End::Nothing
            }
            Kind::Cell { header } if self.tables == 1 => {
                self.cells += 1;
                if self.cells > MAX_CELLS {
                    return Err(HtmlError::TooMany {
                        what: "cells in a table",
                        limit: MAX_CELLS,
                    });
                }
                if header {
                    self.table.set_header();
                }
                self.aside += writer.len();
                End::Cell(Some(writer.set_aside()))
            }
            Kind::Caption if self.tables == 1 => {
                self.aside += writer.len();
                End::Caption(Some(writer.set_aside()))
            }
            Kind::Cell { .. } | Kind::Caption | Kind::Quote => {
                writer.end_block();
                End::Block
            }
            Kind::RowGroup | Kind::Row | Kind::Foreign | Kind::Inline | Kind::Emphasis(_) | Kind::Link => End::Nothing,
            Kind::LineBreak | Kind::Rule | Kind::Void | Kind::Frame => End::Nothing,
        })
    }

    /// Does what the end of an element does.
    pub(super) fn ended(&mut self, open: Open) {
        let is_marked = matches!(
            open.end,
            End::Emphasis { .. } | End::Link { .. } | End::Quote(_) | End::Item(_)
        );
        self.marks -= usize::from(is_marked);
        let writer = &mut self.writer;
        match open.end {
            End::Nothing => {}
            End::Block => writer.end_block(),
            End::Heading { level, start } => writer.end_heading(level, start),
            End::Emphasis { mark, start, continued } => writer.end_emphasis(mark, start, continued),
            End::Code { start } => {
                writer.leave_code();
                writer.end_code(start);
            }
            End::Link { start, target, title } => writer.end_link(start, &target, title.as_deref()),
            End::Fence { start, language } => writer.end_fence(start, &language),
            End::Preformatted {
                start,
                language,
                is_fenced,
            } => {
                writer.leave_lines();
                if self.rules.shown && !is_fenced {
                    writer.end_fence(start, &language);
                }
                writer.end_block();
            }
            End::Quote(part) => {
                writer.end_part(&part, "> ", false);
                writer.end_block();
            }
            End::Item(part) => {
                writer.end_part(&part, "    ", true);
                writer.end_lines(1);
            }
            End::List { is_nested, .. } => writer.end_lines(if is_nested { 1 } else { 2 }),
            End::Table => {
                self.tables -= 1;
                if self.tables == 0 {
                    (self.cells, self.aside) = (0, 0);
                    for block in std::mem::take(&mut self.table).into_blocks() {
                        writer.block(&block);
                    }
                    writer.end_block();
                }
            }
            End::Cell(Some(before)) => {
                let text = writer.resume(before);
                self.aside = (self.aside + text.len()).saturating_sub(writer.len());
                self.table.add_cell(text);
            }
            End::Caption(Some(before)) => {
                let text = writer.resume(before);
                self.aside = (self.aside + text.len()).saturating_sub(writer.len());
                self.table.add_caption(text);
            }
            End::Cell(None) | End::Caption(None) => {}
        }
        self.head.end(self.stack.len());
        if let Main::Open(depth, start) = self.main
            && self.stack.len() < depth
        {
            self.main = Main::Read(self.writer.since(start).trim().to_owned());
        }
    }
}
