//! A tag with those of its attributes that are read.

use crate::html::{HtmlError, MAX_ATTRIBUTES, MAX_LINE_BYTES};

/// The beginning of an element.
#[derive(Debug, Default)]
pub(super) struct StartTag {
    /// In lower case.
    pub(super) name: String,
    pub(super) href: Option<String>,
    pub(super) title: Option<String>,
    pub(super) class: Option<String>,
    pub(super) rel: Option<String>,
    pub(super) property: Option<String>,
    pub(super) content: Option<String>,
    pub(super) role: Option<String>,
    pub(super) datetime: Option<String>,
    /// The attribute `type`.
    pub(super) kind: Option<String>,
    /// The number of the first item of a list.
    pub(super) first: Option<usize>,
    /// Whether it says that it is not shown.
    pub(super) hidden: bool,
    attributes: usize,
    /// The attribute whose value comes next.
    current: Attribute,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attribute {
    #[default]
    Other,
    Href,
    Title,
    Class,
    Rel,
    Property,
    Content,
    Role,
    Datetime,
    Kind,
    Start,
}

impl StartTag {
    pub(super) fn new(name: &[u8]) -> Self {
        Self {
            name: String::from_utf8_lossy(name).into_owned(),
            ..Self::default()
        }
    }

    /// Begins an attribute.
    ///
    /// # Errors
    /// The tag has more than [`MAX_ATTRIBUTES`].
    pub(super) fn attribute(&mut self, name: &[u8]) -> Result<(), HtmlError> {
        self.attributes += 1;
        if self.attributes > MAX_ATTRIBUTES {
            let (what, limit) = ("attributes in a tag", MAX_ATTRIBUTES);
            return Err(HtmlError::TooMany { what, limit });
        }
        self.current = match name {
            b"href" => Attribute::Href,
            b"title" => Attribute::Title,
            b"class" => Attribute::Class,
            b"rel" => Attribute::Rel,
            b"property" => Attribute::Property,
            b"content" => Attribute::Content,
            b"role" => Attribute::Role,
            b"datetime" => Attribute::Datetime,
            b"type" => Attribute::Kind,
            b"start" => Attribute::Start,
            _ => Attribute::Other,
        };
        self.hidden |= name == b"hidden";
        // An address may be empty: that of the page itself.
        if self.current == Attribute::Href {
            self.href.get_or_insert_default();
        }
        Ok(())
    }

    /// The value of the attribute that began last. The first one of a name counts, and none that is longer than
    /// [`MAX_LINE_BYTES`].
    pub(super) fn value(&mut self, value: &[u8]) {
        let place = match std::mem::take(&mut self.current) {
            Attribute::Other => return,
            Attribute::Start => {
                let number = str::from_utf8(value).ok().and_then(|value| value.trim().parse().ok());
                self.first = self.first.or(number);
                return;
            }
            Attribute::Href => {
                if value.len() > MAX_LINE_BYTES {
                    self.href = None;
                } else if self.href.as_deref() == Some("") {
                    self.href = Some(String::from_utf8_lossy(value).into_owned());
                }
                return;
            }
            Attribute::Title => &mut self.title,
            Attribute::Class => &mut self.class,
            Attribute::Rel => &mut self.rel,
            Attribute::Property => &mut self.property,
            Attribute::Content => &mut self.content,
            Attribute::Role => &mut self.role,
            Attribute::Datetime => &mut self.datetime,
            Attribute::Kind => &mut self.kind,
        };
        if place.is_none() && value.len() <= MAX_LINE_BYTES {
            *place = Some(String::from_utf8_lossy(value).into_owned());
        }
    }
}

/// The language of code by the classes of its element: `language-rust`.
pub(super) fn language(class: Option<&str>) -> String {
    let mut classes = class.unwrap_or_default().split_ascii_whitespace();
    let language = classes.find_map(|class| class.strip_prefix("language-"));
    language.unwrap_or_default().to_owned()
}
