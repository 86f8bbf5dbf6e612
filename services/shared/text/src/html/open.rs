//! The elements that are open.

use super::{
    HtmlError, MAX_DEPTH, MAX_OPEN,
    element::{Kind, Name},
    writer::{Aside, Part},
};

/// An element that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) name: Name,
    pub(super) kind: Kind,
    /// Whether nothing in it is read.
    pub(super) is_hidden: bool,
    /// Whether an element in it may end itself.
    pub(super) is_foreign: bool,
    /// Whether ends from within do not reach beyond it.
    pub(super) is_barrier: bool,
    /// What its end does.
    pub(super) end: End,
    /// Whether a paragraph is open that this element is in, up to the next barrier.
    has_paragraph: bool,
    /// How many elements of the same name directly around each other it stands for.
    count: usize,
}

/// What the end of an element does.
#[derive(Debug)]
pub(super) enum End {
    Nothing,
    Block,
    Heading {
        level: usize,
        start: usize,
    },
    Emphasis {
        mark: &'static str,
        start: usize,
        continued: bool,
    },
    Code {
        start: usize,
    },
    Link {
        start: usize,
        target: String,
        title: Option<String>,
    },
    Preformatted {
        start: usize,
        language: String,
        is_fenced: bool,
    },
    Fence {
        start: usize,
        language: String,
    },
    Quote(Part),
    Item(Part),
    List {
        next: usize,
        is_nested: bool,
    },
    Table,
    Cell(Option<Aside>),
    Caption(Option<Aside>),
}

/// The elements that are open, outermost first.
#[derive(Debug, Default)]
pub(super) struct Stack {
    open: Vec<Open>,
    /// With those that stand for several.
    count: usize,
}

impl Stack {
    pub(super) fn top(&self) -> Option<&Open> {
        self.open.last()
    }

    pub(super) fn top_mut(&mut self) -> Option<&mut Open> {
        self.open.last_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn is_hidden(&self) -> bool {
        self.top().is_some_and(|top| top.is_hidden)
    }

    pub(super) fn is_foreign(&self) -> bool {
        self.top().is_some_and(|top| top.is_foreign)
    }

    /// Whether a paragraph is open that a block would end.
    pub(super) fn has_paragraph(&self) -> bool {
        self.top().is_some_and(|top| top.has_paragraph)
    }

    /// Counts another element of the same name as the innermost one to it, where neither says anything.
    pub(super) fn joins(&mut self, name: Name, kind: Kind, is_hidden: bool) -> Result<bool, HtmlError> {
        if self.count >= MAX_OPEN {
            return Err(HtmlError::TooDeep);
        }
        let is_plain = name == Name::DIV || kind.is_inline();
        let Some(top) = self.open.last_mut() else {
            return Ok(false);
        };
        if !is_plain || top.name != name || top.is_hidden != is_hidden || matches!(top.end, End::Link { .. }) {
            return Ok(false);
        }
        top.count += 1;
        self.count += 1;
        Ok(true)
    }

    /// Opens an element.
    ///
    /// # Errors
    /// [`HtmlError::TooDeep`].
    pub(super) fn push(
        &mut self,
        name: Name,
        kind: Kind,
        is_barrier: bool,
        is_hidden: bool,
        end: End,
    ) -> Result<(), HtmlError> {
        if self.open.len() >= MAX_DEPTH || self.count >= MAX_OPEN {
            return Err(HtmlError::TooDeep);
        }
        let has_paragraph = !is_barrier && (name == Name::P || self.has_paragraph());
        let is_foreign = !is_barrier && (kind == Kind::Foreign || self.is_foreign());
        self.count += 1;
        self.open.push(Open {
            name,
            kind,
            is_hidden,
            is_foreign,
            is_barrier,
            end,
            has_paragraph,
            count: 1,
        });
        Ok(())
    }

    /// Ends the innermost element, or one of those that it stands for.
    pub(super) fn pop(&mut self) -> Option<Open> {
        self.count = self.count.saturating_sub(1);
        match self.open.last_mut() {
            Some(top) if top.count > 1 => {
                top.count -= 1;
                None
            }
            _ => self.open.pop(),
        }
    }

    /// Ends the innermost element with all that it stands for.
    pub(super) fn pop_all(&mut self) -> Option<Open> {
        let open = self.open.pop()?;
        self.count = self.count.saturating_sub(open.count);
        Some(open)
    }

    /// Place of the innermost element that `is` what is looked for, unless one that `ends` the search is further in.
    pub(super) fn find(&self, is: impl Fn(&Open) -> bool, ends: impl Fn(&Open) -> bool) -> Option<usize> {
        for (at, open) in self.open.iter().enumerate().rev() {
            if is(open) {
                return Some(at);
            }
            if ends(open) {
                return None;
            }
        }
        None
    }

    /// The innermost list.
    pub(super) fn list(&mut self) -> Option<&mut Open> {
        self.open
            .iter_mut()
            .rev()
            .find(|open| matches!(open.end, End::List { .. }))
    }
}
