//! Goes through the tags of a page and writes its text as Markdown.

mod effect;
mod head;
mod published;
mod tag;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, State, Tokenizer, naive_next_state};

use super::{
    HtmlError, Limits, MAX_ELEMENTS, MIN_MAIN_CHARS, Page, Rules,
    element::{Kind, Name, ends_foreign, is_barrier},
    open::{End, Open, Stack},
    table::Table,
    writer::Writer,
};
use head::Head;
use tag::StartTag;

/// How many tokens are read between two looks at whether to stop.
const CHECK_EVERY: usize = 1024;

/// What the tokenizer is told to do.
enum Signal {
    Enter(State),
    Fail(HtmlError),
}

/// Reads a page.
pub(super) fn read(html: &str, rules: Rules, limits: Limits<'_>) -> Result<Page, HtmlError> {
    let mut reader = Reader::new(rules, limits);
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| reader.event(event));
    let mut tokenizer = Tokenizer::new_with_emitter(html, emitter);
    while let Some(Ok(signal)) = tokenizer.next() {
        match signal {
            Signal::Enter(state) => tokenizer.set_state(state),
            Signal::Fail(error) => return Err(error),
        }
    }
    drop(tokenizer);
    reader.finish()
}

struct Reader<'l> {
    rules: Rules,
    limits: Limits<'l>,
    tokens: usize,
    elements: usize,
    /// The tag that is being read.
    tag: StartTag,
    stack: Stack,
    writer: Writer,
    head: Head,
    /// Tables that are open, and the outermost of them with its cells.
    tables: usize,
    table: Table,
    cells: usize,
    /// Bytes of text that are in the table and around it.
    aside: usize,
    marks: usize,
    /// A line break right after `<pre>` is none of its text.
    after_pre: bool,
    main: Main,
}

/// The part of the page that says that it is the content.
enum Main {
    Unseen,
    /// How many elements are open with it, and where its text begins.
    Open(usize, usize),
    Read(String),
}

impl<'l> Reader<'l> {
    fn new(rules: Rules, limits: Limits<'l>) -> Self {
        Self {
            rules,
            limits,
            tokens: 0,
            elements: 0,
            tag: StartTag::default(),
            stack: Stack::default(),
            writer: Writer::default(),
            head: Head::default(),
            tables: 0,
            table: Table::default(),
            cells: 0,
            aside: 0,
            marks: 0,
            after_pre: false,
            main: Main::Unseen,
        }
    }

    fn event(&mut self, event: CallbackEvent<'_>) -> Option<Signal> {
        let done = self.check().and_then(|()| match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = StartTag::new(name);
                Ok(None)
            }
            CallbackEvent::AttributeName { name } => self.tag.attribute(name).map(|()| None),
            CallbackEvent::AttributeValue { value } => {
                self.tag.value(value);
                Ok(None)
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                let tag = std::mem::take(&mut self.tag);
                self.start(&tag, self_closing)
            }
            CallbackEvent::EndTag { name } => {
                self.end(&String::from_utf8_lossy(name));
                Ok(None)
            }
            CallbackEvent::String { value } => {
                self.text(&String::from_utf8_lossy(value));
                Ok(None)
            }
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => Ok(None),
        });
        match done {
            Ok(state) => state.map(Signal::Enter),
            Err(error) => Some(Signal::Fail(error)),
        }
    }

    fn check(&mut self) -> Result<(), HtmlError> {
        self.tokens += 1;
        if self.tokens.is_multiple_of(CHECK_EVERY) && (self.limits.stop)() {
            return Err(HtmlError::Stopped);
        }
        let limit = self.limits.bytes;
        if self.writer.len() + self.aside > limit {
            return Err(HtmlError::TooMany {
                what: "bytes of text",
                limit,
            });
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        let is_hidden = self.stack.is_hidden();
        self.head.text(text, is_hidden);
        let text = match std::mem::take(&mut self.after_pre) {
            true => text.strip_prefix('\n').unwrap_or(text),
            false => text,
        };
        if !is_hidden {
            self.writer.text(text);
        }
    }

    fn start(&mut self, tag: &StartTag, self_closing: bool) -> Result<Option<State>, HtmlError> {
        self.after_pre = false;
        self.elements += 1;
        if self.elements > MAX_ELEMENTS {
            return Err(HtmlError::TooMany {
                what: "elements",
                limit: MAX_ELEMENTS,
            });
        }
        self.head.look_at(tag, self.stack.is_hidden());
        let mut kind = self.kind(&tag.name);
        if self.stack.is_foreign() {
            if ends_foreign(&tag.name) {
                self.end_foreign();
            } else if self_closing {
                return Ok(None);
            } else if kind != Kind::Foreign {
                kind = Kind::Inline;
            }
        }
        let state = match self.stack.is_foreign() {
            true => None,
            false => naive_next_state(tag.name.as_bytes()),
        };
        let name = Name::of(&tag.name);
        kind = self.end_implied(name, kind);
        let is_skipped =
            matches!(tag.name.as_str(), "title" | "template") || self.rules.skipped.contains(&tag.name.as_str());
        let is_hidden = self.stack.is_hidden() || is_skipped || (self.rules.shown && tag.hidden);
        match kind {
            Kind::Frame | Kind::Void => return Ok(None),
            Kind::LineBreak | Kind::Rule if is_hidden => return Ok(None),
            Kind::LineBreak => {
                self.writer.line_break();
                return Ok(None);
            }
            Kind::Rule => {
                self.writer.block("* * *");
                return Ok(None);
            }
            _ => {}
        }
        let is_main = self.rules.shown
            && !is_hidden
            && matches!(self.main, Main::Unseen)
            && (name == Name::MAIN || tag.role.as_deref() == Some("main"));
        let is_nothing = kind == Kind::Inline && !is_hidden && !is_barrier(&tag.name);
        if is_nothing || (!is_main && self.stack.joins(name, kind, is_hidden)?) {
            return Ok(state);
        }
        let end = match is_hidden {
            true => End::Nothing,
            false => self.begin(kind, tag)?,
        };
        let is_plain_link = kind == Kind::Link && matches!(end, End::Nothing);
        if is_hidden || !is_plain_link {
            self.stack.push(name, kind, is_barrier(&tag.name), is_hidden, end)?;
        }
        self.head.begin(tag, is_hidden, self.stack.len());
        if is_main {
            self.main = Main::Open(self.stack.len(), self.writer.start());
        }
        Ok(state)
    }

    fn kind(&self, name: &str) -> Kind {
        match Kind::of(name) {
            Kind::Link if self.rules.shown => Kind::Inline,
            kind => kind,
        }
    }

    /// Ends what the element ends by beginning, and says what it is where it stands.
    fn end_implied(&mut self, name: Name, kind: Kind) -> Kind {
        if kind.ends_paragraph() && self.stack.has_paragraph() {
            self.end_at(self.stack.find(|open| open.name == Name::P, |open| open.is_barrier));
        }
        let top = self.stack.top().map(|top| (top.name, top.kind));
        match kind {
            Kind::Heading(_) if matches!(top, Some((_, Kind::Heading(_)))) => self.end_top(),
            Kind::Item => self.end_at(self.stack.find(|open| open.name == Name::LI, holds_items)),
            Kind::Section if matches!(name, Name::DD | Name::DT) => {
                let is_entry = |open: &Open| matches!(open.name, Name::DD | Name::DT);
                self.end_at(self.stack.find(is_entry, holds_items));
            }
            Kind::Link => {
                let ends = |open: &Open| open.is_barrier || !open.kind.is_inline();
                self.end_at(self.stack.find(|open| open.name == Name::A, ends));
            }
            Kind::Block if name == Name::OPTION && matches!(top, Some((Name::OPTION, _))) => self.end_top(),
            Kind::Table => {
                // A table directly in a table ends that.
                self.end_at(self.stack.find(|open| open.kind == Kind::Table, |open| open.is_barrier));
            }
            Kind::RowGroup | Kind::Row | Kind::Cell { .. } | Kind::Caption => {
                let is_around = |open: &Open| match kind {
                    Kind::Cell { .. } => matches!(open.kind, Kind::Row | Kind::RowGroup | Kind::Table),
                    Kind::Row => matches!(open.kind, Kind::RowGroup | Kind::Table),
                    _ => open.kind == Kind::Table,
                };
                match self.stack.find(is_around, ends_table_part) {
                    Some(at) => self.end_above(at),
                    None => return Kind::Block,
                }
            }
            _ => {}
        }
        kind
    }

    fn end(&mut self, name: &str) {
        self.after_pre = false;
        let (kind, place) = (self.kind(name), Name::of(name));
        let is = |open: &Open| open.name == place;
        let at = match kind {
            Kind::Inline if !self.stack.is_hidden() && !is_barrier(name) => None,
            Kind::LineBreak if !self.stack.is_hidden() => {
                self.writer.line_break();
                None
            }
            Kind::Frame | Kind::Void | Kind::LineBreak | Kind::Rule => None,
            Kind::Heading(_) => {
                let is = |open: &Open| matches!(open.kind, Kind::Heading(_));
                self.stack.find(is, |open| open.is_barrier)
            }
            Kind::Table => self.stack.find(is, ends_table_part),
            Kind::RowGroup | Kind::Row | Kind::Cell { .. } | Kind::Caption => self
                .stack
                .find(is, |open| open.kind == Kind::Table || ends_table_part(open)),
            Kind::Item => self
                .stack
                .find(is, |open| open.is_barrier || matches!(open.kind, Kind::List { .. })),
            kind if kind.is_inline() => self.stack.find(is, |open| open.is_barrier || !open.kind.is_inline()),
            _ if place == Name::P && !self.stack.has_paragraph() => {
                if !self.stack.is_hidden() {
                    self.writer.end_block();
                }
                None
            }
            _ => self.stack.find(is, |open| open.is_barrier),
        };
        self.end_at(at);
    }

    /// Ends the drawing or formula that is open.
    fn end_foreign(&mut self) {
        while self.stack.is_foreign() {
            self.end_whole();
        }
    }

    /// Ends an element and all that is open in it.
    fn end_at(&mut self, place: Option<usize>) {
        if let Some(at) = place {
            self.end_above(at);
            self.end_top();
        }
    }

    fn end_above(&mut self, place: usize) {
        while self.stack.len() > place + 1 {
            self.end_whole();
        }
    }

    fn end_top(&mut self) {
        if let Some(open) = self.stack.pop() {
            self.ended(open);
        }
    }

    fn end_whole(&mut self) {
        if let Some(open) = self.stack.pop_all() {
            self.ended(open);
        }
    }

    fn finish(mut self) -> Result<Page, HtmlError> {
        while self.stack.len() > 0 {
            self.end_whole();
        }
        self.check()?;
        let main = match self.main {
            Main::Read(text) if text.chars().count() >= MIN_MAIN_CHARS => Some(text),
            _ => None,
        };
        let (title, heading) = (self.head.title(), self.head.heading());
        let (url, published) = self.head.url_and_date();
        Ok(Page {
            title,
            heading,
            url,
            published,
            markdown: main.unwrap_or_else(|| self.writer.finish()),
        })
    }
}

/// Whether an element cannot be inside of an item that the next item would end.
fn holds_items(open: &Open) -> bool {
    let is_transparent = matches!(open.name, Name::DIV | Name::P) || open.kind.is_inline();
    open.is_barrier || !is_transparent
}

/// Whether a part of a table further out is beyond reach.
fn ends_table_part(open: &Open) -> bool {
    open.is_barrier && !matches!(open.kind, Kind::Cell { .. } | Kind::Caption | Kind::Table)
}
