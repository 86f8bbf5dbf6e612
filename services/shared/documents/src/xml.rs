//! Markup, one element after the other, within bounds.

use std::borrow::Cow;

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use crate::{
    bounds::{Bounds, MAX_DEPTH},
    error::DocumentError,
    format::Format,
};

/// How many elements are read between two looks at the clock.
const CHECK_EVERY: usize = 4096;

/// A step through markup.
#[derive(Debug)]
pub(crate) enum Node<'n> {
    /// An element begins.
    Open(&'n Element<'n>),
    /// The element of this name, with its prefix, ends.
    Close(&'n str),
    /// Text between two tags, without entities.
    Text(Cow<'n, str>),
}

/// An element's name and attributes.
#[derive(Debug)]
pub(crate) struct Element<'n>(&'n BytesStart<'n>);

impl Element<'_> {
    /// Its name with its prefix.
    pub(crate) fn name(&self) -> &str {
        self.0.name().0
    }

    /// The value of an attribute by its name with its prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let attribute = self.0.try_get_attribute(name).ok()??;
        Some(attribute.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
    }
}

/// Visits `xml` in order. Entities that a document declares itself are not expanded.
///
/// # Errors
/// It is not well formed, nests more than [`MAX_DEPTH`] elements, declares entities, or takes too long; and what `visit`
/// fails with.
pub(crate) fn walk(
    format: Format,
    xml: &str,
    bounds: Bounds<'_>,
    mut visit: impl FnMut(Node<'_>) -> Result<(), DocumentError>,
) -> Result<(), DocumentError> {
    let broken = |reason: String| DocumentError::Broken { format, reason };
    let mut reader = Reader::from_str(xml);
    let (mut depth, mut steps) = (0_usize, 0_usize);
    loop {
        steps += 1;
        if steps.is_multiple_of(CHECK_EVERY) {
            bounds.check("")?;
        }
        match reader.read_event().map_err(|error| broken(error.to_string()))? {
            Event::Start(start) => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(DocumentError::TooDeep { limit: MAX_DEPTH });
                }
                visit(Node::Open(&Element(&start)))?;
            }
            Event::Empty(start) => {
                visit(Node::Open(&Element(&start)))?;
                visit(Node::Close(start.name().0))?;
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                visit(Node::Close(end.name().0))?;
            }
            Event::Text(text) => visit(Node::Text(Cow::Borrowed(&text)))?,
            Event::CData(text) => visit(Node::Text(Cow::Borrowed(&text)))?,
            Event::GeneralRef(reference) => {
                let text = match reference.resolve_char_ref() {
                    Ok(Some(c)) => Cow::Owned(c.to_string()),
                    _ => Cow::Borrowed(quick_xml::escape::resolve_xml_entity(&reference).unwrap_or_default()),
                };
                visit(Node::Text(text))?;
            }
            Event::DocType(declaration) if declaration.to_ascii_uppercase().contains("<!ENTITY") => {
                return Err(broken("its markup declares entities".to_owned()));
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}
