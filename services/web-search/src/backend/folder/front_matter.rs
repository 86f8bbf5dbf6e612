//! Reads Markdown and plain text pages, with or without front matter.

use serde::Deserialize;

use crate::backend::page::Found;

/// The supported keys; others are ignored.
#[derive(Default, Deserialize)]
struct FrontMatter {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    title: Option<String>,
}

/// Reads a page whose text may start with YAML between two lines of `---`. The title is that of the front matter, or of
/// the first heading in Markdown.
pub(super) fn read(content: &str, markdown: bool) -> Found {
    let content = content.trim_start_matches('\u{feff}');
    let (front, text) = split(content).unwrap_or((FrontMatter::default(), content));
    let heading = || {
        let line = text.lines().find(|line| !line.trim().is_empty())?;
        line.trim()
            .strip_prefix("# ")
            .map(|title| title.trim_end_matches('#').trim().to_owned())
    };
    let title = front
        .title
        .map(|title| title.trim().to_owned())
        .filter(|title| !title.is_empty());
    Found {
        url: front.url,
        title: title.or_else(|| markdown.then(heading).flatten()).unwrap_or_default(),
        text: text.trim().to_owned(),
        published: None,
    }
}

/// Splits the front matter from the text. Lines between `---` that are not YAML are text, so a page that starts with a
/// rule stays complete.
fn split(content: &str) -> Option<(FrontMatter, &str)> {
    let rest = content
        .strip_prefix("---\n")
        .or_else(|| content.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let front = serde_saphyr::from_str(&rest[..at]).ok()?;
            return Some((front, &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests;
