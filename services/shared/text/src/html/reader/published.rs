//! When a page says that it was published.

use serde_json::Value;

use super::tag::StartTag;

/// Most bytes of a page's data about itself that is looked at: those of articles have a few thousand.
const MAX_DATA_BYTES: usize = 64 << 10;
/// Longest date, in bytes: `2024-05-01T09:30:00.123456789+02:00[America/Argentina/ComodRivadavia]`.
const MAX_DATE_BYTES: usize = 80;

/// What a page says, by where it says it; the first of each kind counts.
#[derive(Debug, Default)]
pub(super) struct Published {
    open_graph: Option<String>,
    linked_data: Option<String>,
    time: Option<String>,
    /// Linked data that is being read; none where it is too long.
    data: Option<String>,
}

impl Published {
    /// Looks at a tag that says a date itself.
    pub(super) fn look_at(&mut self, tag: &StartTag, is_hidden: bool) {
        let (place, said) = match tag.name.as_str() {
            "meta" if tag.property.as_deref() == Some("article:published_time") => (&mut self.open_graph, &tag.content),
            "time" if !is_hidden => (&mut self.time, &tag.datetime),
            _ => return,
        };
        if place.is_none() {
            *place = said.as_deref().and_then(date);
        }
    }

    /// Whether the text of this element is linked data, which is to be given to [`text`](Self::text).
    pub(super) fn begin(&mut self, tag: &StartTag) -> bool {
        let kind = tag.kind.as_deref().unwrap_or_default().trim();
        let is_data = tag.name == "script" && kind.eq_ignore_ascii_case("application/ld+json");
        if is_data && self.linked_data.is_none() {
            self.data = Some(String::new());
        }
        is_data
    }

    pub(super) fn text(&mut self, text: &str) {
        if let Some(data) = &mut self.data {
            if data.len() + text.len() > MAX_DATA_BYTES {
                self.data = None;
            } else {
                data.push_str(text);
            }
        }
    }

    /// The end of what [`begin`](Self::begin) began.
    pub(super) fn end(&mut self) {
        let data = self.data.take().and_then(|data| serde_json::from_str(&data).ok());
        if let Some(data) = data {
            self.linked_data = published(&data);
        }
    }

    /// The date as the page writes it.
    pub(super) fn date(self) -> Option<String> {
        self.open_graph.or(self.linked_data).or(self.time)
    }
}

/// The first date of publication in JSON-LD: of an object, of a list of them, or of a graph.
fn published(data: &Value) -> Option<String> {
    match data {
        Value::Array(items) => items.iter().find_map(published),
        Value::Object(fields) => {
            let own = fields.get("datePublished").and_then(Value::as_str).and_then(date);
            own.or_else(|| fields.get("@graph").and_then(published))
        }
        _ => None,
    }
}

/// The date or time in `text`, as it is written; none where it is neither.
fn date(text: &str) -> Option<String> {
    let text = text.trim();
    let is_date = text.len() <= MAX_DATE_BYTES
        && (text.parse::<jiff::civil::DateTime>().is_ok() || text.parse::<jiff::Timestamp>().is_ok());
    is_date.then(|| text.to_owned())
}
